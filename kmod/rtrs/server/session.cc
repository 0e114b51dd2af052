// SPDX-License-Identifier: GPL-2.0
// Life of a session and of the paths in it.
#include <rtrs/server/session.hh>

#include <cxxrt/log.hh>
#include <rtrs/server/module.hh>

using namespace cxxrt;

namespace rtrs::server {

Session::Session(Server &server, const Uuid &id, u32 instance, const Source &source, int node)
    : server_(server), id_(id), instance_(instance), source_(source), node_(node),
      last_serial_(get_random_u32())
{
}

Session::~Session() = default;

Result<Ref<Session>> Session::create(Server &server, const Uuid &id, u32 instance,
				     const KeyName *key, const Source &source, int node)
{
	Session *object = new (GFP_KERNEL) Session(server, id, instance, source, node);
	if (!object)
		return err::enomem;
	Ref<Session> session = Ref<Session>::adopt(object);
	if (key)
		session->key_ = TRY(make_box<KeyName>(GFP_KERNEL, *key));
	return session;
}

// Not at a connection request, which anybody sends: INFO_REQ has come, and with a key the proof. So
// the server's lock is not held, which other clients need meanwhile (protocol G.1-11).
Status Session::provide(bool stranger)
{
	LockGuard serialised(provide_lock_);
	if (provided_)
		return {};
	TRY(server_.may_pin(*this));
	held_.source = source_;
	held_.stranger = stranger;
	held_.bytes = memory(server_);
	TRY(server_.admission().enter_memory(held_));
	TRY(allocate());
	provided_ = true;
	return {};
}

u64 Session::memory(const Server &server)
{
	const u32 slot = sizeof(RequestSlot) + ALIGN(server.ops().op_size, L1_CACHE_BYTES);
	return session_bytes(settings().queue_depth(), settings().chunk_size(), slot);
}

Status Session::allocate()
{
	const u32 depth = settings().queue_depth();
	const usize area = ALIGN(server_.ops().op_size, L1_CACHE_BYTES);
	// Slots know where theirs is.
	chunks_ = TRY(ChunkPool::create(depth, settings().chunk_size(), node_));
	Array<RequestSlot> slots = TRY(Array<RequestSlot>::create(depth));
	Array<u8> areas = TRY(Array<u8>::create(depth * area));
	for (u32 i = 0; i < depth; i++)
		slots[i].init(*this, {i}, areas.data() + i * area);
	slots_ = cxxrt::move(slots);
	areas_ = cxxrt::move(areas);
	return {};
}

// The last reference is gone. A session that lost the race of find_or_create(), or did not get its
// memory, was never listed.
void Session::destroy()
{
	Server &server = server_;
	const bool listed = server_node.linked();
	if (listed)
		server.unlist(*this);
	chunks_.reset();
	server.admission().leave(held_);
	delete this;
	if (listed)
		server.session_gone();
}

void Session::close_paths()
{
	LockGuard held(lock_);
	for (Path &path : paths_)
		path.close();
}

// Under the lock a path does not get as far as to stop its heartbeat; see
// await_connection_requests().
void Session::ask_for_life()
{
	LockGuard held(lock_);
	for (Path &path : paths_)
		if (path.state() == ServerPathState::Connected)
			path.heartbeat().probe();
}

bool Session::silent()
{
	LockGuard held(lock_);
	for (Path &path : paths_)
		if (path.state() == ServerPathState::Connected && !path.heartbeat().silent())
			return false;
	return true;
}

void Session::quarantine(const Path &path)
{
	LockGuard held(lock_);
	quarantines_.begin(path.id(), static_cast<u64>(ktime_get_seconds()));
}

// Under lock_.
Status Session::leave_quarantine(const ConnectRequestFields &fields)
{
	bool another = false;
	for (const Path &path : paths_)
		another = another || (path.state() == ServerPathState::Connected &&
				      !(path.id() == fields.path));
	if (another &&
	    quarantines_.refuses(fields.path, static_cast<u64>(ktime_get_seconds()), fields.fences))
		return kStarvedPath;
	return {};
}

bool Session::comes_from(const sockaddr_storage &host)
{
	LockGuard held(lock_);
	for (Path &path : paths_)
		if (same_host(path.ends().client, host))
			return true;
	return has_left(host);
}

bool Session::has_left(const sockaddr_storage &host) const
{
	for (const sockaddr_storage &left : left_)
		if (same_host(left, host))
			return true;
	return false;
}

// The user's calls take long, and what looks for a session or a path does not wait for them.
Status Session::bring_up(Path &path, TextView name)
{
	const rtrs_srv_ops &ops = server_.ops();
	LockGuard serialised(user_lock_);
	// Down is down, although the object may live on for what is left of it.
	if (!user_up_ && ended())
		return err::econnaborted;
	{
		LockGuard held(lock_);
		// Of several paths each has claimed the same name.
		if (name_.view().empty())
			name_.assign(name);
		TRY(show(path));
		// From here on hide() leaves the name with the session.
		user_has_ = true;
	}
	const bool first = !user_up_;
	if (first) {
		if (const int code = ops.session_up(this, &user_)) {
			user_gone();
			path.refuse(Refusal::UserRefused, "refused by the user of the transport");
			return Error::from_code(code);
		}
	}
	if (ops.path_up) {
		if (const int code = ops.path_up(user_, &path.ends().client)) {
			path.refuse(Refusal::UserRefused, "refused by the user of the transport");
			if (first) {
				ops.session_down(user_);
				user_gone();
			}
			return Error::from_code(code);
		}
	}
	user_up_ = true;
	up_paths_++;
	path.up = true;
	return {};
}

// The files first, then the announcement: who reacts to the uevent finds all of them (protocol
// G.1-3).
Status Session::show(Path &path)
{
	const bool first = !device_;
	if (first) {
		device_ = TRY(ClassDevice::create_empty(module_->device_class, name_.c_str()));
		paths_dir_ = TRY(SysfsDir::create_empty<Session>(device_.kobj(), "paths", this));
		debug_dir_ = DebugDir::create(name_.c_str(), &module_->debug_dir);
	}
	// From here on hide() takes away what there is.
	path.shown = true;
	shown_paths_++;
	TRY(path.show(paths_dir_.kobj(), debug_dir_));
	if (first)
		device_.announce();
	return {};
}

void Session::take_down(Path &path)
{
	const rtrs_srv_ops &ops = server_.ops();
	LockGuard serialised(user_lock_);
	if (exchange(path.up, false)) {
		{
			LockGuard held(lock_);
			if (!has_left(path.ends().client))
				left_[next_left_++ % kLeftHosts] = path.ends().client;
		}
		if (ops.path_closing)
			ops.path_closing(user_);
		if (ops.path_down)
			ops.path_down(user_, &path.ends().client);
		up_paths_--;
	}
	// A path that is still connecting carries the session on, or comes here when it closes.
	if (user_up_ && !up_paths_ && ended()) {
		user_up_ = false;
		ops.session_down(user_);
		user_gone();
	}
}

// A path that comes here is hidden afterwards.
void Session::user_gone()
{
	LockGuard held(lock_);
	user_has_ = false;
}

// The name is given back when nothing is seen of the session, and the user has it no more. A path
// that never was up can be the last one, and still be on its way to take the session down.
void Session::hide(Path &path)
{
	LockGuard held(lock_);
	if (exchange(path.shown, false)) {
		path.hide();
		shown_paths_--;
	}
	if (shown_paths_)
		return;
	// show() may have failed between the session's directory and the path's.
	debug_dir_.reset();
	paths_dir_.reset();
	device_.reset();
	if (ended() && !user_has_)
		server_.release_name(*this);
}

void Session::progressed(Path &path)
{
	LockGuard held(lock_);
	for (Path &other : paths_)
		if (&other != &path)
			other.look_again();
}

void Session::release_tag(Path &path)
{
	LockGuard held(lock_);
	__clear_bit(path.tag().value, tags_);
}

void Session::remove(Path &path)
{
	{
		LockGuard held(lock_);
		paths_.remove(path);
	}
	Ref<Path>::adopt(&path).reset();
}

bool Session::end_by_serial(u32 serial, const Path &self)
{
	LockGuard held(lock_);
	for (Path &path : paths_) {
		if (path.serial() != serial || &path == &self)
			continue;
		path.close();
		return path.quiet();
	}
	return true;
}

// A client that knows fences has had its dead path fenced, or has begun a new session, before it
// relies on their end: what it needs is that nothing of them is on its way any more. Another one
// only knows that its path is connected: so the requests of dead paths have ended by then.
bool Session::must_wait(const Path &self)
{
	LockGuard held(lock_);
	for (Path &path : paths_)
		if (&path != &self && path.closing() &&
		    !(self.fences() ? path.quiet() : path.ended()))
			return true;
	return false;
}

Path *Session::find_path(const Uuid &id)
{
	for (Path &path : paths_)
		if (!path.closing() && path.id() == id)
			return &path;
	return nullptr;
}

} // namespace rtrs::server
