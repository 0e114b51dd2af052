// SPDX-License-Identifier: GPL-2.0
// What clients hold of the server, counted path by path and session by session, and measured by
// rtrs/pure/quota.hh and rtrs/pure/memory_budget.hh.
#pragma once

#include <cxxrt/guarded.hh>
#include <cxxrt/kernel.hh>
#include <cxxrt/list.hh>
#include <rtrs/pure/memory_budget.hh>
#include <rtrs/pure/quota.hh>
#include <rtrs/server/addresses.hh>
#include <rtrs/wire/units.hh>

namespace rtrs::server {

// What one path, or the memory of one session, counts for. Lives in that, and is in from before it
// has anything until it has nothing left. Under the admission's lock once it is in.
struct Admitted {
	cxxrt::ListNode node;
	Source source = {};
	bool is_path = false;
	bool stranger = true; // nobody there has proven anything of late
	bool half_open = false;
	u32 connections = 0; // that are made, or about to be
	u64 bytes = 0;
	u64 heard_at = 0; // ms; of the latest connection request
	// Ends a half-open path, soon and without waiting; null while it can not.
	void (*give_way)(void *owner) = nullptr;
	void *owner = nullptr;
};

class Admission {
public:
	// Enters a path, whose source and standing are set, that announces so many connections; of
	// which none is made yet. EUSERS or ENOMEM over a limit of the administrator, EBUSY over
	// another one; the log has its name. May sleep.
	Status enter(Admitted &path, u32 announced);
	// Before a connection of the path is made, of so many bytes. Errors as above.
	Status add_connection(Admitted &path, u64 bytes);
	// Before something else is made for it; a path that is half-open no more. Errors as above.
	Status add_memory(Admitted &path, u64 bytes);
	// Enters the memory of a session, whose source, standing and bytes are set. Errors as
	// above.
	Status enter_memory(Admitted &session);
	// Whether so much would be admitted now, so that a client is told when it asks for a
	// session and not when it gets one. Errors as above.
	Status fits(const Source &source, bool stranger, u64 bytes);

	// Has a half-open path of that host end which gives way to another.
	void make_room(const Source &source);

	// From here on the path may have to give way to another one, until it is half-open no more.
	void may_give_way(Admitted &path, void (*give_way)(void *owner), void *owner);
	// A key was proven for it.
	void proven(Admitted &path);
	// An INFO_REQ that is believed has come, or the path ends. Behind it give_way() is not
	// called. May sleep.
	void handshake_over(Admitted &path);
	// No-op if it is not in. May sleep.
	void leave(Admitted &entry);

private:
	using List = cxxrt::List<Admitted, &Admitted::node>;

	struct Claim {
		Admitted &entry;
		u32 connections = 0; // more that must fit
		u64 bytes = 0;
		bool is_new = false;
	};
	static Quota check(List &entries, const Claim &claim);
	static bool make_room(List &entries, const Claim &claim, Quota limit);
	static Status admit(List &entries, const Claim &claim);

	cxxrt::Guarded<List, cxxrt::Mutex> entries_{cxxrt::lock_class<"rtrs_admission">()};
};

// The error for a limit that is reached, which is logged. No error for Quota::Fits.
Status refuse_over(Quota quota);

} // namespace rtrs::server
