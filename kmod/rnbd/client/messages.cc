// SPDX-License-Identifier: GPL-2.0
#include <rnbd/client/messages.hh>

#include <cxxrt/log.hh>
#include <rnbd/client/client.h>
#include <rnbd/client/session.hh>

namespace rnbd::client {

namespace {
constexpr unsigned int kCloseTimeoutMs = 30'000;
constexpr unsigned int kSendRetryMs = 5;
} // namespace

Result<Ref<Message>> Message::exchange(Session &session, const Content &content, const u32 *epoch,
				       unsigned long timeout)
{
	Ref<Message> message = TRY(cxxrt::make_ref<Message>(GFP_KERNEL, session));
	if (content.answer_size) {
		// raw: the device writes into it, so it must be memory in one piece
		message->answer_ = kzalloc(content.answer_size, GFP_KERNEL);
		if (!message->answer_)
			return err::enomem;
		message->answer_size_ = content.answer_size;
	}
	for (;;) {
		Status s = message->send(content, epoch);
		if (s.ok())
			break;
		// The send queue is full of I/O; room comes with its completions.
		if (s.error() != err::eagain)
			return s.error();
		// raw: nobody announces that there is room
		if (msleep_interruptible(kSendRetryMs) && fatal_signal_pending(current))
			return err::eintr;
	}
	TRY(message->ended_.wait_killable_for(timeout));
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
void Message::done(void *priv, int status, io_comp_batch *)
{
	Message *self = static_cast<Message *>(priv);
	Session &session = self->session_;
	self->status_ = status;
	self->ended_.complete();
	session.sent(*self);
}

Result<Agreement> exchange_session_info(Session &session)
{
	const u64 nonce = get_random_u64();
	const SessionInfo m = make_extended_session_info(nonce);
	Ref<Message> message =
	    TRY(Message::exchange(session, {&m, sizeof(m), sizeof(SessionInfo)}));
	const u8 version = TRY(parse_session_info_response(message->answer()));
	return Agreement{.version = version,
			 .extension = parse_extension_response(message->answer(), nonce),
			 .epoch = message->epoch()};
}

// Which device it is, as far as the server tells.
static Result<OpenedDevice> identify(Session &session, const DeviceProperties &properties,
				     u32 epoch)
{
	const Extension extension = TRY(session.extension(epoch));
	OpenedDevice opened{properties, epoch, {}, extension.instance};
	if (!extension.has(feature::identify))
		return opened;
	const Identify m = make_identify(properties.device);
	Ref<Message> message =
	    TRY(Message::exchange(session, {&m, sizeof(m), sizeof(IdentifyResponse)}, &epoch));
	opened.wwid = TRY(parse_identify_response(message->answer())).wwid;
	return opened;
}

Result<OpenedDevice> exchange_open(Session &session, AccessMode mode, const DeviceName &name)
{
	const Open m = make_open(mode, name);
	Ref<Message> message =
	    TRY(Message::exchange(session, {&m, sizeof(m), sizeof(OpenResponse)}));
	Result<Extension> extension = session.extension(message->epoch());
	const ClientLimits limits{
	    .max_block_size = PAGE_SIZE,
	    // A server that knows extensions is none of those that mean something else by it.
	    .trust_write_zeroes =
		rnbd_client_trust_write_zeroes || (extension.ok() && extension->features),
	};
	Result<DeviceProperties> properties = parse_open_response(message->answer(), limits);
	if (properties.ok()) {
		Result<OpenedDevice> opened = identify(session, *properties, message->epoch());
		if (!opened.ok())
			exchange_close(session, properties->device, message->epoch());
		return opened;
	}

	log_error(session.name(), "The server's answer for %s makes no sense: %d", name.c_str(),
		  properties.code());
	Result<DeviceId> id = open_response_id(message->answer());
	if (id.ok())
		exchange_close(session, *id, message->epoch());
	return properties.error();
}

void exchange_close(Session &session, DeviceId id, u32 epoch)
{
	const Close m = make_close(id);
	Result<Ref<Message>> message = Message::exchange(session, {&m, sizeof(m), 0}, &epoch,
							 msecs_to_jiffies(kCloseTimeoutMs));
	if (!message.ok() && message.error() != err::econnreset)
		log_warning(session.name(), "Closing device %u was not confirmed: %d", id.value,
			    message.code());
}

} // namespace rnbd::client
