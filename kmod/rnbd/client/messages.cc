// SPDX-License-Identifier: GPL-2.0
#include <rnbd/client/messages.hh>

#include <cxxrt/log.hh>
#include <rnbd/client/client.h>
#include <rnbd/client/session.hh>

namespace rnbd::client {

namespace {
constexpr unsigned int kCloseTimeoutMs = 30'000;
constexpr unsigned int kSendRetryMs = 5;
constexpr u32 kAskAgain = 20; // times
} // namespace

Result<Ref<Message>> Message::create(Session &session, usize room)
{
	Ref<Message> message = TRY(cxxrt::make_ref<Message>(GFP_KERNEL, session));
	if (room) {
		// raw: the device writes into it, so it must be memory in one piece
		message->answer_ = kmalloc(room, GFP_KERNEL);
		if (!message->answer_)
			return err::enomem;
		message->room_ = room;
	}
	return message;
}

Status MessageReserve::create(Session &session, usize room)
{
	message_ = TRY(Message::create(session, room));
	return {};
}

Ref<Message> MessageReserve::take()
{
	constexpr unsigned int kLookAgainMs = 1;
	constexpr u32 kLooks = 100;
	// Mostly its done() is on the way out. One that was given up has to wait for its answer, or
	// for the end of its path.
	for (u32 i = 0; i < kLooks; i++) {
		if (!message_->shared())
			return message_;
		// raw: nobody announces it
		msleep(kLookAgainMs);
	}
	return {};
}

// One that is used anew is as if it was new.
Status Message::begin(const Content &content, MessageKind kind)
{
	if (content.answer_size > room_)
		return err::emsgsize;
	answer_size_ = content.answer_size;
	if (answer_size_)
		memset(answer_, 0, answer_size_);
	status_ = 0;
	kind_ = kind;
	ended_.reset();
	return {};
}

Result<Ref<Message>> Message::exchange(Session &session, const Content &content,
				       const MessageWay &way)
{
	Ref<Message> message;
	if (way.reserve)
		message = way.reserve->take();
	if (!message)
		message = TRY(create(session, content.answer_size));
	TRY(message->begin(content, way.kind));
	for (;;) {
		Status s = message->send(content, way.epoch);
		if (s.ok())
			break;
		// The send queue is full of I/O; room comes with its completions.
		if (s.error() != err::eagain)
			return s.error();
		// raw: nobody announces that there is room
		if (msleep_interruptible(kSendRetryMs) && fatal_signal_pending(current))
			return err::eintr;
	}
	Status ended = message->ended_.wait_killable_for(way.timeout);
	if (!ended.ok() && ended.error() == err::etimedout) {
		// The end of its path ends it, and until then the server may still get it.
		session.give_up(*message);
		ended = message->ended_.wait_killable();
	}
	TRY(ended);
	TRY(Status::from_code(message->status_));
	return message;
}

Status Message::send(const Content &content, const u32 *epoch)
{
	rtrs_clt_request r{};
	r.dir = content.answer_size ? RTRS_READ : RTRS_WRITE;
	r.admin = true;
	r.msg = content.message;
	r.msg_len = content.size;
	if (content.answer_size) {
		sg_init_one(&list_, answer_, static_cast<unsigned int>(answer_size_));
		r.sg = &list_;
		r.nr_sg = 1;
		r.data_len = static_cast<u32>(answer_size_);
	}
	r.priv = this;
	r.done = done;
	get(); // for done()
	Status s = session_.send(*this, r, epoch);
	if (!s.ok())
		put();
	return s;
}

// Softirq, or process context while a path ends.
void Message::done(void *priv, int status, io_comp_batch *, u64)
{
	Message *self = static_cast<Message *>(priv);
	Session &session = self->session_;
	self->status_ = status;
	self->ended_.complete();
	session.sent(*self);
}

Result<Agreement> exchange_session_info(Session &session, MessageReserve &reserve)
{
	const u64 nonce = get_random_u64();
	const SessionInfo m = make_extended_session_info(nonce);
	Ref<Message> message = TRY(Message::exchange(session, {&m, sizeof(m), sizeof(SessionInfo)},
						     {.reserve = &reserve}));
	const u8 version = TRY(parse_session_info_response(message->answer()));
	return Agreement{.version = version,
			 .extension = parse_extension_response(message->answer(), nonce),
			 .epoch = message->epoch()};
}

// Which device it is, and how it likes to be used, as far as the server tells.
static Result<OpenedDevice> describe(Session &session, const DeviceProperties &properties,
				     OpenNumber number, u32 epoch, MessageReserve &reserve)
{
	const MessageWay way{.epoch = &epoch, .reserve = &reserve};
	OpenedDevice opened{.properties = properties,
			    .topology = unknown_topology(properties.physical_block_size,
							 session.attributes().max_io_size),
			    .epoch = epoch,
			    .extension = TRY(session.extension(epoch)),
			    .identity = {},
			    .number = number};
	if (opened.extension.has(feature::identify)) {
		const Identify m = make_identify(properties.device);
		Ref<Message> message =
		    TRY(Message::exchange(session, {&m, sizeof(m), sizeof(IdentifyResponse)}, way));
		opened.identity = TRY(parse_identify_response(message->answer()));
	}
	if (opened.extension.has(feature::device_limits)) {
		const DeviceLimitsQuestion m = make_device_limits(properties.device);
		Ref<Message> message = TRY(
		    Message::exchange(session, {&m, sizeof(m), sizeof(DeviceLimitsResponse)}, way));
		opened.topology = TRY(
		    parse_device_limits_response(message->answer(), properties.logical_block_size));
	}
	return opened;
}

// What tells nothing of how far the server has got with it.
static bool is_unknown(Error e)
{
	constexpr Error kUnknown[] = {err::econnaborted, err::econnreset, err::etimedout,
				      err::eintr,	 err::enomem,	  err::eagain};
	for (const Error &unknown : kUnknown)
		if (e == unknown)
			return true;
	return e == err::einprogress;
}

// The answer is OpenResponse.
static Result<Ref<Message>> ask_open(Session &session, const AskedOpen &asked,
				     const DeviceName &name, MessageReserve *reserve)
{
	MessageWay way{.epoch = &asked.epoch, .kind = MessageKind::Open, .reserve = reserve};
	if (asked.number) {
		const NumberedOpen m = make_numbered_open(asked.mode, name, asked.number);
		return Message::exchange(session, {&m, sizeof(m), sizeof(OpenResponse)}, way);
	}
	// Its server answers when the device is open, whatever that takes.
	way.timeout = MAX_SCHEDULE_TIMEOUT;
	const Open m = make_open(asked.mode, name);
	return Message::exchange(session, {&m, sizeof(m), sizeof(OpenResponse)}, way);
}

Result<OpenedDevice> exchange_open(Session &session, u32 epoch, AccessMode mode,
				   const DeviceName &name, AskedOpen &asked,
				   MessageReserve &reserve)
{
	static_assert(sizeof(OpenResponse) <= kReservedAnswer);
	static_assert(sizeof(IdentifyResponse) <= kReservedAnswer);
	static_assert(sizeof(DeviceLimitsResponse) <= kReservedAnswer);
	static_assert(sizeof(SessionInfo) <= kReservedAnswer);
	const Extension extension = TRY(session.extension(epoch));
	// What an earlier epoch has opened went with it.
	if (!asked.under_way || asked.epoch != epoch)
		asked = {.under_way = true,
			 .epoch = epoch,
			 .mode = mode,
			 .number = extension.has(feature::open_numbers) ? session.new_open_number()
									: OpenNumber{}};
	Result<Ref<Message>> answered = ask_open(session, asked, name, &reserve);
	if (!answered.ok()) {
		asked.under_way = is_unknown(answered.error());
		return answered.error();
	}
	// From here on it is known what is open.
	asked.under_way = false;
	Ref<Message> message = answered.take();
	const ClientLimits limits{
	    .max_block_size = PAGE_SIZE,
	    // A server that knows extensions is none of those that mean something else by it.
	    .trust_write_zeroes = rnbd_client_trust_write_zeroes || extension.features,
	};
	Result<DeviceProperties> properties = parse_open_response(message->answer(), limits);
	Result<DeviceId> id = open_response_id(message->answer());
	message.reset();
	const ClosedDevice closed{.number = asked.number,
				  .id = id.ok() ? id.value() : DeviceId{},
				  .mode = mode,
				  .name = name};
	if (properties.ok()) {
		Result<OpenedDevice> opened =
		    describe(session, *properties, asked.number, epoch, reserve);
		if (!opened.ok())
			exchange_close(session, closed, epoch, &reserve);
		return opened;
	}

	log_error(session.name(), "The server's answer for %s makes no sense: %d", name.c_str(),
		  properties.code());
	if (id.ok() || asked.number)
		exchange_close(session, closed, epoch, &reserve);
	return properties.error();
}

// The close of a device whose server knows no numbers. A CLOSE whose path went is not repeated: if
// it was executed, the id may have another device by now. An OPEN of the same name tells its id.
static Status close_by_id(Session &session, const ClosedDevice &device, u32 epoch,
			  MessageReserve *reserve, bool known)
{
	DeviceId id = device.id;
	const AskedOpen asked{.under_way = true, .epoch = epoch, .mode = device.mode, .number = {}};
	for (u32 i = 0; i < kAskAgain; i++) {
		if (!known) {
			const Session::Since since = session.now();
			Result<Ref<Message>> again = ask_open(session, asked, device.name, reserve);
			if (!again.ok()) {
				if (again.error() != err::econnaborted || session.lost(since) ||
				    !session.pause_to_resend())
					return again.error();
				continue;
			}
			id = TRY(open_response_id((*again)->answer()));
		}
		const Close m = make_close(id);
		const Status closed = Status::from_code(
		    Message::exchange(session, {&m, sizeof(m), 0},
				      {.epoch = &epoch,
				       .timeout = msecs_to_jiffies(kCloseTimeoutMs),
				       .kind = MessageKind::Slow,
				       .reserve = reserve})
			.code());
		if (closed.ok() || closed.error() != err::econnaborted)
			return closed.ok() ? Status() : Status(closed.error());
		known = false;
	}
	return err::econnaborted;
}

// Whatever another OPEN has opened stays, so it may be said again over another path.
static Status close_by_number(Session &session, OpenNumber number, u32 epoch,
			      MessageReserve *reserve)
{
	const NumberedClose m = make_numbered_close(number);
	return session.resend_while_up([&]() -> Status {
		return Status::from_code(
		    Message::exchange(session, {&m, sizeof(m), 0},
				      {.epoch = &epoch,
				       .timeout = msecs_to_jiffies(kCloseTimeoutMs),
				       .kind = MessageKind::Slow,
				       .reserve = reserve})
			.code());
	});
}

void exchange_close(Session &session, const ClosedDevice &device, u32 epoch,
		    MessageReserve *reserve)
{
	const Status closed = device.number
				  ? close_by_number(session, device.number, epoch, reserve)
				  : close_by_id(session, device, epoch, reserve, true);
	if (!closed.ok() && closed.error() != err::econnreset)
		log_warning(session.name(), "Closing %s was not confirmed: %d", device.name.c_str(),
			    closed.code());
}

void exchange_settle(Session &session, AskedOpen &asked, const DeviceName &name,
		     MessageReserve *reserve)
{
	if (!asked.under_way)
		return;
	asked.under_way = false;
	if (asked.number)
		exchange_close(session,
			       {.number = asked.number, .id = {}, .mode = asked.mode, .name = name},
			       asked.epoch, reserve);
	else
		static_cast<void>(
		    close_by_id(session, {.number = {}, .id = {}, .mode = asked.mode, .name = name},
				asked.epoch, reserve, false));
}

} // namespace rnbd::client
