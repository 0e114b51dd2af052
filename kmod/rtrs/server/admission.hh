// SPDX-License-Identifier: GPL-2.0
// What clients hold of the server, counted path by path and session by session, and measured by
// rtrs/pure/quota.hh and rtrs/pure/memory_budget.hh.
//
// An entry counts from before its owner has anything until the owner has nothing left, also while
// it gives way to another one or ends by itself: so the limits hold for what is there. Where room
// is lacking that entries on their way out will leave, a connection request waits for it, in its
// work item and without any lock; the work of INFO comes again.
#pragma once

#include <cxxrt/guarded.hh>
#include <cxxrt/kernel.hh>
#include <cxxrt/list.hh>
#include <cxxrt/wait.hh>
#include <rtrs/pure/memory_budget.hh>
#include <rtrs/pure/quota.hh>
#include <rtrs/server/addresses.hh>
#include <rtrs/wire/units.hh>

namespace rtrs::server {

class Admission;

// What one path, or the memory of one session, counts for. In that, and under the admission's lock
// once it is in. Leaves by itself at the end of its life, at the latest.
struct Admitted {
	Admitted() = default;
	Admitted(const Admitted &) = delete;
	Admitted &operator=(const Admitted &) = delete;
	~Admitted();

	cxxrt::ListNode node;
	Source source = {};
	bool is_path = false;
	bool stranger = true; // no host there has proven anything of late
	bool half_open = false;
	bool leaving = false; // has given way, or ends: what it counts for will soon be free
	bool waits = false;   // for others to leave: until then it gives way to none
	u32 connections = 0;  // that are made, or about to be
	u64 bytes = 0;
	// ms; when the latest connection request was served, or INFO_REQ was seen to.
	u64 heard_at = 0;
	// Ends a half-open path, soon and without waiting; null while it can not.
	void (*give_way)(void *owner) = nullptr;
	void *owner = nullptr;
	Admission *in = nullptr;
};

class Admission {
public:
	// Enters a path, whose source and standing are set, that announces so many connections; of
	// which none is made yet. EUSERS or ENOMEM over a limit of the administrator, EBUSY over
	// another one; the log has its name. May sleep, and wait for room up to kRoomTimeoutMs.
	Status enter(Admitted &path, u32 announced);
	// Before a connection of the path is made, of so many bytes. Errors as above; ECONNRESET if
	// the path itself has to give way. Waits likewise.
	Status add_connection(Admitted &path, u64 bytes);
	// Before something else is made for it; a path that is half-open no more. EAGAIN: there
	// will be room soon. Other errors as above. May sleep.
	Status add_memory(Admitted &path, u64 bytes);
	// Enters the memory of a session, whose source, standing and bytes are set. Errors as those
	// of add_memory(). No-op if it is in. May sleep.
	Status enter_memory(Admitted &session);
	// An INFO_REQ has come for it, and is seen to. May sleep.
	void heard(Admitted &path);
	// A connection of so many bytes was not made after all. Likewise.
	void give_back_connection(Admitted &path, u64 bytes);
	// Whether so much would be admitted now, or when those are gone that may have to give way,
	// so that a client is told when it asks for a session and not when it gets one. Errors as
	// above.
	Status fits(const Source &source, bool stranger, u64 bytes);

	// Has a half-open path of that host end which gives way to another.
	void make_room(const Source &source);

	// From here on the path may have to give way to another one, until it is half-open no more.
	void may_give_way(Admitted &path, void (*give_way)(void *owner), void *owner);
	// A key was proven for it.
	void proven(Admitted &path);
	// An INFO_REQ that is believed has come. Behind it give_way() is not called. May sleep.
	void handshake_over(Admitted &path);
	// The path ends, and counts as what it was until it leaves. Likewise.
	void ends(Admitted &path);
	// No-op if it is not in. May sleep.
	void leave(Admitted &entry);
	// The server ends: a request waits for no room any more.
	void end_waits();

private:
	using List = cxxrt::List<Admitted, &Admitted::node>;

	struct Claim {
		Admitted &entry;
		u32 paths = 0;	     // 1: the entry is to be one
		u32 connections = 0; // more that must fit; of a new path they are announced
		u64 bytes = 0;
	};
	// What is left out of the count.
	enum class Without : u8 {
		None,
		Leaving,
		AllThatMayLeave, // and those that would have to give way
	};
	enum class Look : u8 {
		Taken,
		Soon, // when those that are leaving have left
		Refused,
		Gone, // the one that asks is leaving itself
	};
	static Quota check(List &entries, const Claim &claim, Without without);
	bool give_way_to(List &entries, const Claim &claim, Quota limit);
	Quota clear(List &entries, const Claim &claim);
	void keep_room(List &entries, Admitted &entry);
	Look look(List &entries, const Claim &claim, Quota &quota);
	Status take(const Claim &claim);
	Status take_or_wait(const Claim &claim);
	void changed();

	cxxrt::Guarded<List, cxxrt::Mutex> entries_{cxxrt::lock_class<"rtrs_admission">()};
	cxxrt::WaitQueue room_{cxxrt::lock_class<"rtrs_room">()};
	u32 changes_ = 0; // written under the lock: an entry has left, or is leaving
	bool over_ = false;
};

inline Admitted::~Admitted()
{
	if (in)
		in->leave(*this);
}

// The error for a limit that is reached, which is logged. No error for Quota::Fits.
Status refuse_over(Quota quota);

} // namespace rtrs::server
