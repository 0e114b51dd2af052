// SPDX-License-Identifier: GPL-2.0
#include <rnbd/client/messages.hh>

#include <cxxrt/log.hh>
#include <rnbd/client/client.h>
#include <rnbd/client/session.hh>

namespace rnbd::client {

namespace {
constexpr unsigned int kCloseTimeoutMs = 30'000;
constexpr unsigned int kSendRetryMs = 5;
// No disk has part in this answer. A server that loses the question keeps its path.
constexpr unsigned int kSessionInfoTimeoutMs = 60'000;
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
Status Message::begin(const Content &content)
{
	if (content.answer_size > room_)
		return err::emsgsize;
	answer_size_ = content.answer_size;
	if (answer_size_)
		memset(answer_, 0, answer_size_);
	status_ = 0;
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
	TRY(message->begin(content));
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
	TRY(message->ended_.wait_killable_for(way.timeout));
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
	Ref<Message> message = TRY(Message::exchange(
	    session, {&m, sizeof(m), sizeof(SessionInfo)},
	    {.timeout = msecs_to_jiffies(kSessionInfoTimeoutMs), .reserve = &reserve}));
	const u8 version = TRY(parse_session_info_response(message->answer()));
	return Agreement{.version = version,
			 .extension = parse_extension_response(message->answer(), nonce),
			 .epoch = message->epoch()};
}

// Which device it is, and how it likes to be used, as far as the server tells.
static Result<OpenedDevice> describe(Session &session, const DeviceProperties &properties,
				     u32 epoch, MessageReserve &reserve)
{
	const MessageWay way{.epoch = &epoch, .reserve = &reserve};
	OpenedDevice opened{.properties = properties,
			    .topology = unknown_topology(properties.physical_block_size,
							 session.attributes().max_io_size),
			    .epoch = epoch,
			    .extension = TRY(session.extension(epoch)),
			    .identity = {}};
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

Result<OpenedDevice> exchange_open(Session &session, u32 epoch, AccessMode mode,
				   const DeviceName &name, MessageReserve &reserve)
{
	static_assert(sizeof(OpenResponse) <= kReservedAnswer);
	static_assert(sizeof(IdentifyResponse) <= kReservedAnswer);
	static_assert(sizeof(DeviceLimitsResponse) <= kReservedAnswer);
	static_assert(sizeof(SessionInfo) <= kReservedAnswer);
	const Open m = make_open(mode, name);
	Ref<Message> message = TRY(Message::exchange(session, {&m, sizeof(m), sizeof(OpenResponse)},
						     {.epoch = &epoch, .reserve = &reserve}));
	Result<Extension> extension = session.extension(epoch);
	const ClientLimits limits{
	    .max_block_size = PAGE_SIZE,
	    // A server that knows extensions is none of those that mean something else by it.
	    .trust_write_zeroes =
		rnbd_client_trust_write_zeroes || (extension.ok() && extension->features),
	};
	Result<DeviceProperties> properties = parse_open_response(message->answer(), limits);
	Result<DeviceId> id = open_response_id(message->answer());
	message.reset();
	if (properties.ok()) {
		Result<OpenedDevice> opened = describe(session, *properties, epoch, reserve);
		if (!opened.ok())
			exchange_close(session, properties->device, epoch, &reserve);
		return opened;
	}

	log_error(session.name(), "The server's answer for %s makes no sense: %d", name.c_str(),
		  properties.code());
	if (id.ok())
		exchange_close(session, *id, epoch, &reserve);
	return properties.error();
}

void exchange_close(Session &session, DeviceId id, u32 epoch, MessageReserve *reserve)
{
	const Close m = make_close(id);
	Status closed = session.resend_while_up([&]() -> Status {
		return Status::from_code(
		    Message::exchange(session, {&m, sizeof(m), 0},
				      {.epoch = &epoch,
				       .timeout = msecs_to_jiffies(kCloseTimeoutMs),
				       .reserve = reserve})
			.code());
	});
	if (!closed.ok() && closed.error() != err::econnreset)
		log_warning(session.name(), "Closing device %u was not confirmed: %d", id.value,
			    closed.code());
}

} // namespace rnbd::client
