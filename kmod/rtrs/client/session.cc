// SPDX-License-Identifier: GPL-2.0
// Life of a session, and of paths in it.
#include <cxxrt/log.hh>
#include <rtrs/client/module.hh>
#include <rtrs/client/session.hh>
#include <rtrs/pure/geometry.hh>

using namespace cxxrt;

namespace rtrs::client {
namespace {

// Protocol J.3. Whoever names a key wants it used.
Result<SessionAuth> check_auth(const rtrs_clt_params &params)
{
	SessionAuth auth;
	const AuthPolicy policy =
	    params.auth ? TRY(parse_auth_policy(TextView::of(params.auth))) : default_auth_policy();
	auth.has_key = params.key;
	auth.policy = TRY(session_policy(policy, params.auth, auth.has_key));
	if (auth.has_key)
		auth.key = TRY(KeyName::from(TextView::of(params.key)));
	return auth;
}

static_assert(static_cast<int>(SessionSetting::Policy) == RTRS_CLT_MP_POLICY);
static_assert(static_cast<int>(SessionSetting::ReconnectAttempts) ==
	      RTRS_CLT_MAX_RECONNECT_ATTEMPTS);
static_assert(static_cast<int>(SessionSetting::RequestTimeout) == RTRS_CLT_REQUEST_TIMEOUT);
static_assert(static_cast<int>(SessionSetting::HeartbeatInterval) ==
	      RTRS_CLT_HEARTBEAT_INTERVAL_MS);
static_assert(static_cast<int>(SessionSetting::HeartbeatMissed) == RTRS_CLT_HEARTBEAT_MISSED_MAX);
static_assert(static_cast<int>(SessionSetting::Connections) == RTRS_CLT_NR_CONNECTIONS);
static_assert(kSessionSettings == RTRS_CLT_SETTINGS);

} // namespace

Result<SessionSettings> read_settings(const rtrs_clt_settings &settings)
{
	SessionSettings read;
	for (u32 i = 0; i < kSessionSettings; i++)
		if (settings.text[i])
			TRY(read.say(static_cast<SessionSetting>(i),
				     TextView::of(settings.text[i])));
	return read;
}

// Taken where a sysfs file starts to work on paths: that work may outlive the file.
class Session::Operation {
public:
	static Result<Operation> start(Session &session)
	{
		const bool open = session.operations_.with([](Operations &o) {
			o.running += !o.closing;
			return !o.closing;
		});
		if (!open)
			return err::enodev;
		return Operation(session);
	}
	Operation(Operation &&o) : session_(exchange(o.session_, static_cast<Session *>(nullptr)))
	{
	}
	~Operation()
	{
		if (!session_)
			return;
		session_->operations_.with([this](Operations &o) {
			o.running--;
			// Under the lock: who sees the zero may free the session.
			session_->operations_done_.wake_all();
		});
	}

private:
	explicit Operation(Session &session) : session_(&session) {}

	Session *session_;
};

Session::Session(const SessionName &name, const SessionAuth &auth, const SessionSettings &settings,
		 const rtrs_clt_params &params)
    : name_(name), auth_(auth), user_(params.priv), link_event_(params.link_event),
      port_(params.port), queues_(params.nr_queues ?: nr_cpu_ids),
      told_connections_(static_cast<u32>(settings.get(SessionSetting::Connections, 0))),
      told_depth_(static_cast<u32>(settings.get(SessionSetting::QueueDepth, 0))),
      asked_connections_{rtrs::irq_connections(told_connections_ ?: queues_, params.nr_poll_queues),
			 params.nr_poll_queues},
      max_reconnects_(settings.get(SessionSetting::ReconnectAttempts, params.max_reconnects)),
      request_timeout_(
	  static_cast<u32>(settings.get(SessionSetting::RequestTimeout, kDefaultRequestTimeout))),
      reconnect_delay_(static_cast<u32>(
	  settings.get(SessionSetting::ReconnectDelay, static_cast<int>(params.reconnect_delay)))),
      tos_(settings.get(SessionSetting::TypeOfService, kDefaultTypeOfService)),
      policy_(static_cast<Policy>(
	  settings.get(SessionSetting::Policy, static_cast<int>(kDefaultPolicy))))
{
	// 0 is what nobody has set.
	heartbeat_choice_.set_interval(
	    static_cast<u32>(settings.get(SessionSetting::HeartbeatInterval, 0)));
	heartbeat_choice_.set_missed(
	    static_cast<u32>(settings.get(SessionSetting::HeartbeatMissed, 0)));
	heartbeat_limits_ = heartbeat_choice_.limits();
	generate_random_uuid(uuid_.bytes);
}

Session::~Session()
{
	WARN_ON_ONCE(!paths_.empty());
}

Result<Session *> Session::open(const rtrs_clt_params &params, rtrs_clt **handle)
{
	if (!params.name || !params.link_event || params.nr_paths < 1 ||
	    params.nr_paths > kMaxPaths || params.nr_poll_queues > kMaxPollQueues)
		return err::einval;
	const SessionName name = TRY(SessionName::from(TextView::of(params.name)));
	const SessionAuth auth = TRY(check_auth(params));
	const SessionSettings settings = TRY(read_settings(params.settings));

	Box<Session> session = TRY(make_box<Session>(GFP_KERNEL, name, auth, settings, params));
	const bool taken = module_->sessions.with([&](ClientModule::Sessions &list) {
		for (Session &other : list)
			if (other.name_ == name)
				return true;
		list.push_back(*session);
		return false;
	});
	if (taken)
		return err::eexist;

	Session *s = session.release();
	// rtrs_clt_abandon_all() finds this session in the list, or came before and wanted() says
	// so.
	if (params.wanted && !params.wanted(params.priv))
		s->abandon();
	Status status = s->bring_up(params);
	if (status.ok())
		status = s->enable_events(handle);
	if (status.ok()) {
		s->device_.announce();
		s->announce_downgrades();
		const SessionLimits &limits = s->limits();
		log_info(s->name(), "open: %u paths, queue depth %u, max I/O %u bytes",
			 params.nr_paths, limits.layout.queue_depth().value, limits.max_io_size);
		if (limits.connections.irq < s->queues_)
			log_info(s->name(), "%u queues share %u connections of each path",
				 s->queues_, limits.connections.irq);
		return s;
	}
	close(s);
	return status.error();
}

Status Session::bring_up(const rtrs_clt_params &params)
{
	last_path_ = TRY(PerCpu<LastPath>::create());
	TRY(create_files());
	// One after the other: the first one creates the session on the server (protocol A.8).
	for (u32 i = 0; i < params.nr_paths; i++)
		TRY(add_path(params.paths[i]));
	return {};
}

// From here on the user hears of the links. A session whose paths have gone meanwhile did not open.
Status Session::enable_events(rtrs_clt **handle)
{
	LockGuard<Mutex> held(links_lock_);
	if (!paths_up_ || closing())
		return err::econnaborted;
	*handle = reinterpret_cast<rtrs_clt *>(this);
	events_enabled_ = true;
	return {};
}

// What happened before anybody could hear of it.
void Session::announce_downgrades()
{
	LockGuard<Mutex> held(paths_lock_);
	for (Path &path : paths_)
		path.announce_downgrade();
}

void Session::close(Session *session)
{
	session->shut_down();
	module_->sessions.with(
	    [&](ClientModule::Sessions &) { ClientModule::Sessions::remove(*session); });
	delete session;
}

// Closing first: who enables the events later sees it.
void Session::abandon()
{
	operations_.with([](Operations &o) { o.closing = true; });
	{
		LockGuard<Mutex> held(links_lock_);
		events_enabled_ = false;
	}
	// So that operations which wait for a path end soon.
	LockGuard<Mutex> held(paths_lock_);
	for (Path &path : paths_)
		path.request_end();
}

// The order: no more operations; the user hears nothing more; paths ended, and with them the
// requests; no more events, which are the device's; files; permits, which the ends of requests gave
// back.
void Session::shut_down()
{
	abandon();
	operations_done_.wait(
	    [this] { return operations_.with([](Operations &o) { return o.running == 0; }); });
	// No lock: nobody else changes the list any more.
	while (!paths_.empty())
		retire(*paths_.begin());
	events_.stop();
	remove_files();
	permits_.wait_all_back();
}

Result<Path *> Session::create_path(const rtrs_addr_pair &pair)
{
	const u32 index = TRY(indices_.allocate(kMaxPaths - 1));
	Result<Box<Path>> path = make_box<Path>(GFP_KERNEL, *this, index, pair);
	Status s = path.ok() ? path.value()->prepare() : Status(path.error());
	if (s.ok())
		s = insert(*path.value());
	if (s.ok())
		return path.take().release();
	indices_.free(index);
	return s.error();
}

Status Session::insert(Path &path)
{
	LockGuard<Mutex> held(paths_lock_);
	// Else the close, which waits for this operation, has not asked the path to end.
	if (closing())
		return err::enodev;
	bool connected = false;
	for (Path &other : paths_) {
		if (other.same_addresses(path.addresses()))
			return err::eexist;
		connected |= other.connected();
	}
	// With no path up, the server may have started anew and not know the session any more.
	if (!connected)
		path.may_create_session();
	paths_.push_back(path);
	return {};
}

Status Session::add_path(const rtrs_addr_pair &pair)
{
	// Connections are made in the first network namespace (protocol A.2), whose addresses mean
	// something else to a caller who lives in another one.
	if (!net_eq(current->nsproxy->net_ns, &init_net)) {
		log_error(name(), "refused: network namespaces other than init's are not "
				  "supported");
		return err::eopnotsupp;
	}
	const Operation operation = TRY(Operation::start(*this));
	Path *path = TRY(create_path(pair));
	const Status s = path->connect_first();
	if (s.ok())
		path->settle();
	else
		retire(*path);
	return s;
}

Status Session::remove_path(Path &path, SysfsCall &call)
{
	// First: without it, the close of the session waits for this very file, and with it, for
	// the operation. The file alone would protect nobody once it is taken away.
	const Operation operation = TRY(Operation::start(*this));
	// Its files are there before its first attempt is over, which add_path() waits for.
	if (!path.settled())
		return err::ebusy;
	if (call.remove_file())
		retire(path);
	return {};
}

// Ends a path and frees it. One caller per path: the operation that made it, if it did not connect;
// the one that took away the remove_path file of a path that is settled; or the close of the
// session, after all of these.
void Session::retire(Path &path)
{
	path.request_end();
	path.wait_end();
	{
		LockGuard<Mutex> held(paths_lock_);
		paths_.remove(path);
	}
	// Submitters and the choice of paths may stand on it.
	synchronize_rcu();
	path.remove_files();
	indices_.free(path.index());
	delete &path;
}

bool Session::pair_in_use(const Path &self, const rtrs_addr_pair &pair)
{
	LockGuard<Mutex> held(paths_lock_);
	for (Path &other : paths_)
		if (&other != &self && other.same_addresses(pair))
			return true;
	return false;
}

bool Session::another_connected(const Path &self)
{
	const RcuReader reader;
	for (Path &other : paths_)
		if (&other != &self && other.connected())
			return true;
	return false;
}

ConnectionSplit Session::connections()
{
	LockGuard<Mutex> held(paths_lock_);
	return limits_ ? limits_->connections : asked_connections_;
}

Result<const SessionLimits *> Session::agree(const Path &path, const ConnectReplyFields &reply,
					     const DeviceLimits &device)
{
	const QueueDepth told = told_depth_ ? QueueDepth{told_depth_} : reply.queue_depth;
	Result<SessionLimits> mine = SessionLimits::from(reply, device, path.connections(), told);
	if (!mine.ok()) {
		log_error(path.log_name(), "no request fits the limits of server and device");
		return err::einval;
	}
	LockGuard<Mutex> held(paths_lock_);
	if (!limits_) {
		const u32 permits = mine->permits();
		if (!permits) {
			log_error(path.log_name(),
				  "the server's queue depth of %u leaves no slot for data",
				  reply.queue_depth.value);
			return err::einval;
		}
		limits_ = TRY(make_box<SessionLimits>(GFP_KERNEL, mine.value()));
		permits_.provide(permits);
		return limits_.get();
	}
	if (!limits_->same_server_geometry(reply)) {
		log_error(
		    path.log_name(),
		    "refused: the server now has queue depth %u, I/O size %u, header size %u; "
		    "the session was opened with %u, %u, %u. Map its devices anew",
		    reply.queue_depth.value, reply.max_io_size.value, reply.max_header_size.value,
		    limits_->reply.queue_depth.value, limits_->reply.max_io_size.value,
		    limits_->reply.max_header_size.value);
		return err::einval;
	}
	if (!limits_->within(mine.value())) {
		log_error(path.log_name(),
			  "refused: the device allows %u bytes in %u segments, the session needs "
			  "%u in %u",
			  mine->max_io_size, mine->max_segments, limits_->max_io_size,
			  limits_->max_segments);
		return err::einval;
	}
	return limits_.get();
}

// Of all paths, those that are connected as well: from who has proven himself, if he has to.
void Session::agree_on_heartbeats(const ConnectReplyFields &reply)
{
	LockGuard<Mutex> held(paths_lock_);
	heartbeat_choice_.agree(reply.short_heartbeats);
	apply_heartbeat_limits();
}

// Under the lock, so that give_up() either sees the path CONNECTED or this sees the new epoch.
Status Session::path_up(Path &path)
{
	LockGuard<Mutex> held(links_lock_);
	if (path.epoch() != epoch_)
		return err::eagain;
	TRY(check_standing(path));
	if (server_lost_us(path))
		return err::ebusy;
	if (!path.become_connected())
		return err::econnaborted;
	path.counted = true;
	// There is another way now.
	leave_dead_ports();
	if (paths_up_++ || !events_enabled_)
		return {};
	events_.add({.kind = SessionEvent::Kind::Back});
	link_event_(user_, RTRS_CLT_RECONNECTED);
	return {};
}

// Under links_lock_. Proven and plain paths lead to different sessions of a server, or the plain
// ones to somebody else: so the first proof is the end of plain paths, and none comes up any more.
// One that was on its way meanwhile is refused here.
Status Session::check_standing(const Path &path)
{
	if (path.is_proven())
		WRITE_ONCE(proven_, true);
	return proven_ && !path.is_proven() ? Status(err::eprotonosupport) : Status();
}

void Session::path_down(Path &path)
{
	LockGuard<Mutex> held(links_lock_);
	path.counted = false;
	if (--paths_up_ || !events_enabled_)
		return;
	log_warning(name(), "disconnected: no path is left");
	events_.add({.kind = SessionEvent::Kind::Lost});
	link_event_(user_, RTRS_CLT_DISCONNECTED);
	// A submitter under RCU that has not seen the event is done before a path connects: nothing
	// that was made for the life that ended goes out in the next one.
	synchronize_rcu();
}

} // namespace rtrs::client
