// SPDX-License-Identifier: GPL-2.0
#include <rnbd/client/session.hh>

#include <cxxrt/log.hh>
#include <rnbd/client/module.hh>

namespace rnbd::client {

using cxxrt::lock_class;

namespace {
constexpr unsigned int kReconnectDelay = 30; // seconds
constexpr int kMaxReconnects = -1;	     // for ever
constexpr unsigned int kResumeRetryMs = 5'000;
constexpr unsigned int kResendMs = 100;
} // namespace

Session::Session(Module &module, TextView name, u32 poll_queues, cxxrt::Workqueue workqueue)
    : module_(module), queues_(num_online_cpus()), poll_queues_(poll_queues),
      permits_(lock_class<"rnbd_client permits">()), rooms_(lock_class<"rnbd_client rooms">()),
      introductions_(lock_class<"rnbd_client introductions">()),
      link_(lock_class<"rnbd_client link">()), opening_(lock_class<"rnbd_client opening">()),
      resume_(this), watch_(*this), workqueue_(cxxrt::move(workqueue))
{
	name_.assign(name);
}

Result<Ref<Session>> Session::create(Module &module, TextView name, u32 poll_queues)
{
	cxxrt::TextBuffer<24> queue;
	queue.print("rnbd_client_%u", module.next_session());
	cxxrt::Workqueue workqueue =
	    TRY(cxxrt::Workqueue::create(queue.c_str(), WQ_UNBOUND | WQ_MEM_RECLAIM | WQ_SYSFS));
	auto *object =
	    module.new_object<Session>(module, name, poll_queues, cxxrt::move(workqueue));
	if (!object)
		return err::enomem;
	Ref<Session> session = Ref<Session>::adopt(object);
	session->senders_ = TRY(cxxrt::Inflight::create());
	session->messages_ = TRY(cxxrt::Inflight::create());
	TRY(session->reserve_.create(*session, kReservedAnswer));
	TRY(session->watch_.prepare());
	return session;
}

Session::~Session()
{
	WARN_ON_ONCE(transport_);
}

// Its queue can't be destroyed from its own work.
void Session::destroy()
{
	free_work_.queue(module_.background());
}

void Session::free()
{
	Module &module = module_;
	delete this;
	module.object_gone();
}

Status Session::open(const Destination &destination)
{
	Status s = connect(destination);
	if (s.ok())
		s = introduce();
	if (s.ok())
		watch_.start();
	set_open_status(s);
	open_ended_.complete();
	return s;
}

Status Session::connect(const Destination &destination)
{
	rtrs_clt_params p{};
	p.name = name_.c_str();
	p.paths = destination.paths;
	p.nr_paths = destination.path_count;
	p.port = destination.port;
	p.reconnect_delay = kReconnectDelay;
	p.max_reconnects = kMaxReconnects;
	p.nr_queues = queues_;
	p.nr_poll_queues = poll_queues_;
	p.settings = destination.settings;
	cxxrt::TextBuffer<kMaxAuthPolicy + 1> auth;
	cxxrt::TextBuffer<kMaxKeyName + 1> key;
	auth.assign(destination.auth);
	key.assign(destination.key);
	p.auth = destination.auth.empty() ? nullptr : auth.c_str();
	p.key = destination.key.empty() ? nullptr : key.c_str();
	p.priv = this;
	p.link_event = on_link_event;
	p.wanted = is_wanted;
	rtrs_clt *transport = nullptr;
	TRY(Status::from_code(rtrs_clt_open(&p, &transport)));
	transport_ = transport;
	rtrs_clt_query(transport_, &attributes_);

	// The block layer raises smaller limits by itself, to what we could not send then.
	if (attributes_.max_io_size < PAGE_SIZE || !attributes_.max_segments) {
		log_error(name(), "The server's limit of %u bytes in %u segments is too small",
			  attributes_.max_io_size, attributes_.max_segments);
		return err::einval;
	}
	const u32 queues = cxxrt::min_of(queues_, attributes_.nr_connections);
	TRY(tags_.create(attributes_, queues, poll_queues_));
	if (poll_queues_)
		log_info(name(), "[session=%s] mapped %u/%u/%u default/read/poll queues.", name(),
			 tags_.default_queues(), tags_.default_queues(), tags_.poll_queues());
	else
		log_info(name(), "[session=%s] mapped %u/%u default/read queues.", name(),
			 tags_.default_queues(), tags_.default_queues());
	return {};
}

void Session::close()
{
	WRITE_ONCE(closing_, true);
	permits_.wake_all();
	introductions_.wake_all();
	// No sender is inside the transport, and none enters it any more;
	senders_->close();
	// so it can end, which ends every message with an error;
	if (rtrs_clt *transport = transport_)
		rtrs_clt_close(transport);
	// and when the last done() has returned, nothing looks at the transport any more.
	messages_->close();
	watch_.stop();
	transport_ = nullptr;
}

Status Session::introduce()
{
	const Agreement agreed =
	    TRY(resend_while_up([&] { return exchange_session_info(*this, reserve_); }));
	__atomic_store_n(&version_, agreed.version, __ATOMIC_RELAXED);
	TRY(with_link([&](Link &link) -> Status {
		if (link.epoch != agreed.epoch)
			return err::econnreset;
		WRITE_ONCE(introduced_, true);
		link.extension = agreed.extension;
		return {};
	}));
	introductions_.wake_all();
	return {};
}

void Session::await_introduction()
{
	constexpr unsigned int kTimeoutMs = 8'000;
	static_cast<void>(introductions_.wait_killable_for(msecs_to_jiffies(kTimeoutMs), [&] {
		return READ_ONCE(introduced_) || READ_ONCE(closing_) || module_.stopping();
	}));
}

Result<Extension> Session::extension(u32 epoch)
{
	return with_link([&](Link &link) -> Result<Extension> {
		if (link.epoch != epoch)
			return err::econnreset;
		return link.extension;
	});
}

Status Session::add(Device &device)
{
	return with_link([&](Link &link) -> Status {
		for (Device &other : link.devices)
			if (other.path() == device.path())
				return err::eexist;
		device.get();
		link.devices.push_back(device);
		return {};
	});
}

void Session::remove(Device &device)
{
	with_link([&](Link &link) { link.devices.remove(device); });
	device.put();
}

void Session::begin_open(Device &device)
{
	permits_.wait_idle([&] {
		return opening_.with([&](Opening &opening) {
			for (Device &other : opening)
				if (other.path() == device.path())
					return false;
			opening.push_back(device);
			return true;
		});
	});
}

void Session::end_open(Device &device)
{
	opening_.with([&](Opening &opening) { opening.remove(device); });
	permits_.wake_all();
}

bool Session::has_device(TextView path)
{
	return with_link([&](Link &link) {
		for (Device &device : link.devices)
			if (device.path() == path)
				return true;
		return false;
	});
}

// ---- messages ----

// A third of the permits for OPEN, a half for what may take as long as a flush: so one is left for
// the rest, unless the server gives room for one message only.
bool Session::try_take_permit(u32 &slot, MessageKind kind)
{
	const u32 permits = attributes_.first_io_slot;
	const u32 most[] = {cxxrt::max_of(permits / 3, 1u), cxxrt::max_of(permits / 2, 1u),
			    permits};
	const u32 index = static_cast<u32>(kind);
	return rooms_.with([&](Rooms &rooms) {
		if (rooms.taken[index] >= most[index] ||
		    rtrs_clt_get_permit(transport_, false, &slot))
			return false;
		rooms.taken[index]++;
		return true;
	});
}

// On success the caller is inside senders_ and owns the slot. The wait is ours, not the
// transport's, so that close() can end it.
Status Session::take_permit(u32 &slot, MessageKind kind)
{
	Status taken = err::econnaborted;
	TRY(permits_.wait_killable([&] {
		if (READ_ONCE(closing_) || !senders_->enter())
			return true;
		if (try_take_permit(slot, kind)) {
			taken = Status();
			return true;
		}
		senders_->leave();
		return false;
	}));
	return taken;
}

Status Session::send(Message &message, const rtrs_clt_request &request, const u32 *epoch)
{
	rtrs_clt_request r = request;
	TRY(take_permit(r.slot, message.kind()));
	// Under the link lock a loss of the link can't be reported, so the epoch holds until the
	// transport has the message.
	Status s = with_link([&](Link &link) -> Status {
		if (epoch && *epoch != link.epoch)
			return err::econnreset;
		if (!messages_->enter())
			return err::econnaborted;
		message.prepare(r.slot, link.epoch);
		Status submitted = Status::from_code(rtrs_clt_submit(transport_, &r));
		if (!submitted.ok())
			messages_->leave();
		return submitted;
	});
	if (!s.ok())
		put_permit(r.slot, message.kind());
	senders_->leave();
	return s;
}

void Session::put_permit(u32 slot, MessageKind kind)
{
	rooms_.with([&](Rooms &rooms) {
		rtrs_clt_put_permit(transport_, slot);
		rooms.taken[static_cast<u32>(kind)]--;
	});
	permits_.wake_all();
}

void Session::give_up(Message &message)
{
	if (!senders_->enter())
		return; // it ends with the session
	rtrs_clt_give_up(transport_, message.slot(), &message);
	senders_->leave();
}

void Session::sent(Message &message)
{
	put_permit(message.slot(), message.kind());
	message.put();
	messages_->leave();
}

// ---- the link ----

bool Session::is_wanted(void *priv)
{
	return !static_cast<Session *>(priv)->module_.stopping();
}

void Session::on_link_event(void *priv, rtrs_clt_event event)
{
	Session *self = static_cast<Session *>(priv);
	switch (event) {
	case RTRS_CLT_DISCONNECTED:
		self->lose_link();
		return;
	case RTRS_CLT_RECONNECTED:
		self->with_link([](Link &link) { link.up = true; });
		// The work waits for answers, which an event must not.
		self->resume_.queue(self->workqueue_);
		return;
	}
}

// False if the session closes.
bool Session::pause_to_resend()
{
	return !permits_.wait_for(msecs_to_jiffies(kResendMs), [&] { return READ_ONCE(closing_); })
		    .ok();
}

void Session::lose_link()
{
	with_link([this](Link &link) {
		link.epoch++;
		link.up = false;
		WRITE_ONCE(introduced_, false);
		link.extension = {};
		for (Device &device : link.devices)
			device.lose_link();
	});
}

// A path is there again: the server knows nothing of us.
void Session::resume()
{
	const cxxrt::NoIoScope noio;
	// An event can overtake the end of open().
	open_ended_.wait();
	if (!open_status().ok())
		return;
	// Requests built with an id of the epoch that ended were with the transport before a path
	// came back, as it lets a grace period pass behind its event, and it has failed them: none
	// can reach a device that gets the same id below.
	while (true) {
		const Since since = now();
		Status s = introduce();
		if (s.ok())
			break;
		// When the link is lost, its end brings us here again.
		if (lost(since))
			return;
		log_error(name(), "Cannot resume the session after a reconnect: %d", s.code());
		if (permits_
			.wait_for(msecs_to_jiffies(kResumeRetryMs),
				  [&] { return READ_ONCE(closing_); })
			.ok())
			return;
	}
	with_link([](Link &link) {
		for (Device &device : link.devices)
			if (device.comes_back(link.extension.instance))
				device.start_open();
	});
}

} // namespace rnbd::client
