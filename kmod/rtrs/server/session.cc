// SPDX-License-Identifier: GPL-2.0
// Life of a session and of the paths in it.
#include <rtrs/server/session.hh>

#include <cxxrt/log.hh>
#include <rtrs/server/module.hh>

using namespace cxxrt;

namespace rtrs::server {

Session::Session(Server &server, const Uuid &id, const sockaddr_storage &founder)
    : server_(server), id_(id), instance_(get_random_u32()), founder_(founder),
      last_serial_(get_random_u32())
{
}

Session::~Session() = default;

Result<Ref<Session>> Session::create(Server &server, const Uuid &id,
				     const sockaddr_storage &founder, int node)
{
	Session *object = new (GFP_KERNEL) Session(server, id, founder);
	if (!object)
		return err::enomem;
	Ref<Session> session = Ref<Session>::adopt(object);
	const u32 depth = settings().queue_depth();
	session->chunks_ = TRY(ChunkPool::create(depth, settings().chunk_size(), node));
	session->slots_ = TRY(Array<RequestSlot>::create(depth));
	const usize area = ALIGN(server.ops().op_size, L1_CACHE_BYTES);
	session->areas_ = TRY(Array<u8>::create(depth * area));
	for (u32 i = 0; i < depth; i++)
		session->slots_[i].init(*session, {i}, session->areas_.data() + i * area);
	return session;
}

// The last reference is gone. A session that lost the race of find_or_create(), or did not get its
// memory, was never listed.
void Session::destroy()
{
	Server &server = server_;
	const bool listed = server_node.linked();
	if (listed)
		server.unlist(*this);
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

// Under the lock a path does not get as far as to stop its heartbeat; see settle().
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

Status Session::bring_up(Path &path, TextView name)
{
	LockGuard held(lock_);
	// Of several paths each has claimed the same name.
	if (name_.view().empty())
		name_.assign(name);
	TRY(show(path));
	if (!up_paths_) {
		if (const int code = server_.ops().session_up(this, &user_)) {
			path.refuse(Refusal::UserRefused, "refused by the user of the transport");
			return Error::from_code(code);
		}
	}
	if (auto *path_up = server_.ops().path_up) {
		if (const int code = path_up(user_, &path.ends().client)) {
			path.refuse(Refusal::UserRefused, "refused by the user of the transport");
			if (!up_paths_)
				server_.ops().session_down(user_);
			return Error::from_code(code);
		}
	}
	up_paths_++;
	path.up = true;
	server_.opened(*this);
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

void Session::hide(Path &path)
{
	LockGuard held(lock_);
	if (!exchange(path.shown, false)) {
		// show() may have failed between the session's directory and the path's.
		if (shown_paths_)
			return;
	} else {
		path.hide();
		if (--shown_paths_)
			return;
	}
	debug_dir_.reset();
	paths_dir_.reset();
	device_.reset();
}

void Session::closing_at_user(Path &path)
{
	LockGuard held(lock_);
	if (auto *path_closing = server_.ops().path_closing; path_closing && path.up)
		path_closing(user_);
}

void Session::take_down(Path &path)
{
	LockGuard held(lock_);
	if (!exchange(path.up, false))
		return;
	if (!has_left(path.ends().client))
		left_[next_left_++ % kLeftHosts] = path.ends().client;
	if (auto *path_down = server_.ops().path_down)
		path_down(user_, &path.ends().client);
	if (--up_paths_ == 0)
		server_.ops().session_down(user_);
}

void Session::remove(Path &path)
{
	{
		LockGuard held(lock_);
		paths_.remove(path);
		__clear_bit(path.tag().value, tags_);
	}
	Ref<Path>::adopt(&path).reset();
}

Ref<Path> Session::close_by_serial(u32 serial, const Path &self)
{
	LockGuard held(lock_);
	for (Path &path : paths_) {
		if (path.serial() != serial || &path == &self)
			continue;
		path.close();
		return Ref<Path>::share(&path);
	}
	return {};
}

Ref<Path> Session::find_unended(const Path &self)
{
	LockGuard held(lock_);
	for (Path &path : paths_)
		if (&path != &self && path.closing() && !path.ended())
			return Ref<Path>::share(&path);
	return {};
}

Path *Session::find_path(const Uuid &id)
{
	for (Path &path : paths_)
		if (!path.closing() && path.id() == id)
			return &path;
	return nullptr;
}

} // namespace rtrs::server
