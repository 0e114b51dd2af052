// SPDX-License-Identifier: GPL-2.0
// A client's session: what it has agreed on and what it has open (protocol D.2, E.2).
//
// Messages run on the session's own queue, side by side: a device that hangs while it is opened or
// closed delays no other. What they do with the table of ids is kept apart by its lock. I/O runs at
// once. Messages and mappings can outlast the session of the transport, each with a reference.
#pragma once

#include <cxxrt/guarded.hh>
#include <cxxrt/id.hh>
#include <cxxrt/list.hh>
#include <cxxrt/print.hh>
#include <cxxrt/rcu.hh>
#include <cxxrt/ref.hh>
#include <cxxrt/work.hh>
#include <rnbd/pure/export_rules.hh>
#include <rnbd/server/configured.hh>
#include <rnbd/server/device_search.hh>
#include <rnbd/server/io.hh>
#include <rnbd/server/mapping.hh>
#include <rnbd/server/opening.hh>
#include <rnbd/server/request.hh>
#include <rnbd/wire/discover.hh>
#include <rnbd/wire/messages.hh>
#include <rtrs/rtrs.h>

namespace rnbd::server {

class Module;

// Storage of a session's name, terminator included.
constexpr usize kSessionNameSize = 256;
// The same of a key's.
constexpr usize kKeyNameSize = 64;

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
	// The transport's session is gone. Begins to close all devices. May sleep, but waits for no
	// device.
	void down();
	// By the last reference. Any process context, also that of a message.
	void destroy();

	// A path of the transport's session is up. EACCES if an export in use does not allow the
	// host that it comes from. May sleep.
	Status path_up(const sockaddr_storage &client);
	// No request of such a path comes any more, and nobody waits for the answers. May sleep,
	// but waits for no device.
	void path_closing();
	// It has gone. May sleep.
	void path_down(const sockaddr_storage &client);

	// A request of the client: answers it, now or later. In the transport's context.
	void handle(const rtrs_srv_request &request)
	{
		if (is_io(message_of(request))) [[likely]]
			start_io(*this, request);
		else
			handle_other(request);
	}
	// What handle() needs in each slot.
	static usize area_size();

	const char *name() const { return name_.c_str(); }
	// Which its client has proven; "" if it has none.
	const char *key() const { return key_.c_str(); }
	u32 max_io_bytes() const { return max_io_bytes_; }
	u32 queue_depth() const { return queue_depth_; }
	u8 version() const { return READ_ONCE(version_); }
	// The client is of this project: it repeats an OPEN that did not work.
	bool asks_again() const { return READ_ONCE(features_) != 0; }

	Module &module() const { return module_; }

	// The mapping of that id, null if there is none. Inside RCU. Any context.
	Mapping *find(DeviceId id) { return ids_.find(id.value); }
	// The same, entered; null also if that can't be. Any context.
	Mapping *enter(DeviceId id)
	{
		// The memory of a mapping stays for a grace period after it has left the table.
		cxxrt::RcuReader reader;
		Mapping *m = find(id);
		return m && m->queue().enter() ? m : nullptr;
	}
	// Whether the client can reach it by its id.
	bool knows(const Mapping &mapping) { return ids_.find(mapping.id().value) == &mapping; }
	// A mapping that an OPEN of the same session finds is that one's from now on. EAGAIN unless
	// knows(), ESTALE if it is a later one's. May sleep.
	Status take_over(Mapping &mapping, OpenNumber number);
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
	friend class Opening;

	enum : u32 { kMaxMappings = 16384 }; // as many as one client machine numbers

	Session(Module &module, const rtrs_srv_sess *transport, u32 max_io_bytes,
		cxxrt::Workqueue queue, cxxrt::Workqueue openings);
	~Session();
	friend class cxxrt::RefCounted<Session>;

	void free();
	void handle_other(const rtrs_srv_request &request);

	// messages.cc; on the session's queue.
	void run_message(const rtrs_srv_request &request);
	// How many bytes of answer were put into the chunk; the same for the others.
	Result<u32> handle_message(const rtrs_srv_request &request);
	Result<u32> handle_session_info(const rtrs_srv_request &request);
	Result<u32> handle_open(const rtrs_srv_request &request);
	Result<u32> handle_close(const rtrs_srv_request &request);
	void end_for(Mapping &mapping, const rtrs_srv_op *op);
	// opening.cc; likewise.
	Result<u32> handle_numbered_open(const rtrs_srv_request &request);
	Result<u32> handle_numbered_close(const rtrs_srv_request &request);
	// extension.cc; likewise.
	Result<u32> handle_device_states(const rtrs_srv_request &request);
	Result<u32> handle_identify(const rtrs_srv_request &request);
	Result<u32> handle_device_limits(const rtrs_srv_request &request);
	// reserve.cc; likewise.
	Result<u32> handle_reserve(const rtrs_srv_request &request);
	// discover.cc; likewise.
	Result<u32> handle_discover(const rtrs_srv_request &request);
	DiscoveredExport describe(const ConfiguredExports::Seen &seen) const;
	// ESTALE for an OPEN that is older than that by which the session has the device.
	Result<DeviceProperties> open(const OpenRequest &want, const Opener &opener);
	Result<dev_t> find(const DeviceName &device, const Opener &opener);
	bool asks_by_wwid(const DeviceName &device) const;
	Status publish(Mapping &mapping);

	struct Table {
		// Have an id set aside, which nobody may take away from them.
		cxxrt::List<Mapping, &Mapping::making_> making;
		// OPENs by numbers that are under way, or have failed and nobody was told.
		cxxrt::List<Opening, &Opening::node_> openings;
		u32 opening_count = 0;
		u64 newest_number = 0;
		u32 states_serial = 0; // of the last answer to DEVICE_STATES
		bool down = false;
	};
	// opening.cc
	Result<cxxrt::Ref<Opening>> begin_opening(const NumberedOpenRequest &r,
						  const rtrs_srv_op *op, bool &fresh);
	void opened(Opening &opening, Result<DeviceProperties> result);
	static void forget(Table &t, Opening &opening);
	static void give_up_openings(Table &t);
	Mapping *find_numbered(OpenNumber number);
	Result<DeviceProperties> properties_of(OpenNumber number);
	// Empty if there is none (any more). May sleep.
	cxxrt::Ref<Mapping> take(u32 id);
	cxxrt::Ref<Mapping> take(Mapping &mapping);
	// f(), which gets the open mapping of that id and returns a Result, while it stays open;
	// ENOTCONN if there is none.
	template <class F> auto with_open(DeviceId id, F &&f)
	{
		using Told = decltype(f(*static_cast<Mapping *>(nullptr)));
		return table_.with([&](Table &) -> Told {
			Mapping *m = ids_.find(id.value);
			if (!m)
				return err::enotconn;
			return f(*m);
		});
	}

	Module &module_;
	cxxrt::TextBuffer<kSessionNameSize> name_;
	cxxrt::TextBuffer<kKeyNameSize> key_;
	const u32 max_io_bytes_;
	const u32 queue_depth_; // of the transport
	u8 version_ = 0;	// until SESS_INFO
	u32 features_ = 0;	// likewise
	DeviceSearches::OfSession searches_;
	// Owns one reference of each mapping. Changed under the lock of table_; looked up in RCU.
	cxxrt::IdMap<Mapping> ids_;
	cxxrt::Guarded<Table, cxxrt::Mutex> table_{cxxrt::lock_class<"rnbd-server devices">()};
	cxxrt::Work<Session, &Session::free> free_work_{this};
	// Destroyed first: their work uses the rest. An OPEN that hangs takes no place of a
	// message.
	cxxrt::Workqueue queue_;
	cxxrt::Workqueue openings_;
};

} // namespace rnbd::server
