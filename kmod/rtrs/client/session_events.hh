// SPDX-License-Identifier: GPL-2.0
// What user space hears of a session and its paths: uevents of the session's device, from a work
// item of their own.
//
// The kernel sends all uevents of the system under one mutex, whose holder may allocate memory that
// waits for writes to the very disks of this session. So nothing that ends or makes a path waits
// for an event, and their queue, rtrs_client_events, has no rescuer.
#pragma once

#include <cxxrt/event_queue.hh>
#include <cxxrt/guarded.hh>
#include <cxxrt/print.hh>
#include <cxxrt/work.hh>
#include <rtrs/pure/path_reason.hh>
#include <rtrs/rtrs.h>

namespace rtrs::client {

class Session;

struct SessionEvent {
	enum class Kind : u8 {
		Lost, // the last path
		Back, // a path is there again
		PathLost,
		PathBack,
		PathGaveUp,   // no attempt follows by itself
		PathUnproven, // it went on without the proof that it had offered
	};

	Kind kind = Kind::Lost;
	u32 path = 0; // its index
	int error = 0;
	PathReason reason = PathReason::None;
	cxxrt::TextBuffer<RTRS_PAIR_TEXT> name; // of the path

	// Of the same path: the later one has what holds now.
	bool operator==(const SessionEvent &o) const { return kind == o.kind && path == o.path; }
};

// The words of a reason, with the name of the errno where they leave it open.
constexpr u32 kReasonSize = 48;
class ReasonText {
public:
	ReasonText(PathReason reason, int error);
	const char *c_str() const { return text_.c_str(); }

private:
	cxxrt::TextBuffer<kReasonSize> text_;
};

class SessionEvents {
public:
	explicit SessionEvents(Session &session) : session_(session) {}

	// Any context. Before the device is announced nobody hears of it.
	void add(const SessionEvent &event);
	// None goes out any more. The device is still there, and nobody adds any. Sleeps.
	void stop() { work_.cancel_sync(); }

private:
	// More than there are different ones in a session of ten paths.
	using Pending = cxxrt::EventQueue<SessionEvent, 43>;

	void run();
	void send(const SessionEvent &event);

	Session &session_;
	cxxrt::Guarded<Pending, cxxrt::SpinLock> pending_{cxxrt::lock_class<"rtrs_events">()};
	cxxrt::Work<SessionEvents, &SessionEvents::run> work_{this};
};

} // namespace rtrs::client
