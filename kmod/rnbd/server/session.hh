// SPDX-License-Identifier: GPL-2.0
// A client's session: what it has agreed on and what it has open (protocol D.2, E.2).
//
// Messages run on the session's own queue, one after the other: OPEN and CLOSE of one session need
// no lock against each other, and a device that opens slowly delays nothing else. I/O runs at once.
#pragma once

#include <cxxrt/id.hh>
#include <cxxrt/print.hh>
#include <cxxrt/ref.hh>
#include <cxxrt/work.hh>
#include <rnbd/pure/export_rules.hh>
#include <rnbd/server/mapping.hh>
#include <rnbd/wire/messages.hh>
#include <rtrs/rtrs.h>

namespace rnbd {

class Module;

// Storage of a session's name, terminator included.
constexpr usize kSessionNameSize = 256;

// What log lines about one device of one session begin with.
class Subject {
public:
	Subject(const Session &session, const DeviceName &device);
	const char *c_str() const { return text_.c_str(); }

private:
	cxxrt::TextBuffer<kDeviceNameSize + kSessionNameSize> text_;
};

class Session : public cxxrt::RefCounted<Session> {
public:
	// For a session of the transport that comes up; the caller owns a reference and gives it
	// back by down(). ENOTCONN if the module is not ready, ENOMEM. May sleep.
	static Result<Session *> create(Module &module, rtrs_srv_sess *transport);
	// The transport's session is gone and all its requests were answered. Closes all devices.
	// Sleeps.
	void down();

	// A path of the transport's session is up. EACCES if an export in use does not allow the
	// host that it comes from. May sleep.
	Status path_up(const sockaddr_storage &client);
	// Such a path has gone, with all its requests. May sleep.
	void path_down(const sockaddr_storage &client);

	// A request of the client: answers it, now or later. In the transport's context.
	void handle(const rtrs_srv_request &request);
	// What handle() needs in each slot.
	static usize area_size();

	const char *name() const { return name_.c_str(); }
	u32 max_io_bytes() const { return max_io_bytes_; }
	u32 queue_depth() const { return queue_depth_; }
	u8 version() const { return READ_ONCE(version_); }

	// A disk could not be flushed when it was closed.
	void flush_failed();

	// The mapping of that id, entered; null if there is none. Any context.
	Mapping *enter(DeviceId id);
	// Whether the client can reach it by its id.
	bool knows(const Mapping &mapping) { return ids_.find(mapping.id().value) == &mapping; }
	// Takes a mapping out of the table, but keeps its id in use: the caller has to end it.
	// Empty if somebody else took it. May sleep.
	cxxrt::Ref<Mapping> retire(Mapping &mapping);

	// The hosts that its paths come from, and how many each; under the lock of
	// ConfiguredExports. A place without paths is free.
	struct Host {
		HostAddress address;
		u32 paths = 0;
	};
	Host hosts[RTRS_SRV_MAX_PATHS];

private:
	friend class MessageJob;

	enum : u32 { kMaxMappings = 16384 }; // as many as one client machine numbers

	Session(Module &module, const char *name, u32 max_io_bytes, u32 queue_depth,
		cxxrt::Workqueue queue);

	// messages.cc; on the session's queue.
	void run_message(const rtrs_srv_request &request);
	// How many bytes of answer were put into the chunk; the same for the others.
	Result<u32> handle_message(const rtrs_srv_request &request);
	Result<u32> handle_session_info(const rtrs_srv_request &request);
	Result<u32> handle_open(const rtrs_srv_request &request);
	Result<u32> handle_close(const rtrs_srv_request &request);
	// extension.cc; likewise.
	Result<u32> handle_device_states(const rtrs_srv_request &request);
	Result<u32> handle_identify(const rtrs_srv_request &request);
	Result<u32> handle_device_limits(const rtrs_srv_request &request);
	Result<DeviceProperties> open(const OpenRequest &request);
	Status publish(Mapping &mapping);

	// Empty if there is none (any more). May sleep.
	cxxrt::Ref<Mapping> take(u32 id);

	Module &module_;
	cxxrt::TextBuffer<kSessionNameSize> name_;
	const u32 max_io_bytes_;
	const u32 queue_depth_; // of the transport
	u8 version_ = 0;	// until SESS_INFO
	u32 features_ = 0;	// likewise
	// Owns one reference of each mapping.
	cxxrt::IdMap<Mapping> ids_;
	// Destroyed first: its work uses the rest.
	cxxrt::Workqueue queue_;
};

} // namespace rnbd
