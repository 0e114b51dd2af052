// SPDX-License-Identifier: GPL-2.0
// Paths and sessions that are charged by admission.cc. A path that gives way notes that, and is
// gone when the case says so.
#pragma once

#include <rtrs/server/admission.hh>
#include <rtrs/server/module.hh>

#include "threads.hh"

namespace admission_testing {

using namespace cxxrt;
using namespace kunit_testing;
using namespace rtrs;
using namespace rtrs::server;

static constinit bool keys_able = false;

constexpr u64 kUnit = 1 << 20;

// A path of the host of that number.
struct Owner {
	explicit Owner(u8 host, bool stranger = true)
	{
		place.source.bytes[0] = host;
		place.stranger = stranger;
	}
	// It was silent for longer than it may be.
	void fall_silent(u64 ms) { place.heard_at -= kGivesWayAfterMs + ms; }
	void await_giving_way() const
	{
		for (int i = 0; i < 200 && !READ_ONCE(given_way); i++)
			schedule_timeout_uninterruptible(1);
	}
	static void give_way(void *self)
	{
		WRITE_ONCE(static_cast<Owner *>(self)->given_way, true);
	}

	bool given_way = false;
	Admitted place;
};

struct AdmissionCase {
	AdmissionCase()
	{
		module.limits.of_memory = {.all = 100 * kUnit,
					   .of_host = 100 * kUnit,
					   .strangers = 100 * kUnit,
					   .half_open = 10 * kUnit};
		module_ = &module;
	}
	~AdmissionCase()
	{
		module_ = nullptr;
		keys_able = false;
	}

	// In, and with a connection of so many bytes.
	Status enter(Owner &owner, u64 bytes)
	{
		TRY(admission.enter(owner.place, 2));
		admission.may_give_way(owner.place, Owner::give_way, &owner);
		return bytes ? admission.add_connection(owner.place, bytes) : Status();
	}

	Module module;
	Admission admission;
};

inline bool is(const Status &s, Error e)
{
	return !s.ok() && s.error() == e;
}

// Long before the limit of a wait.
inline bool soon_after(unsigned long begun)
{
	return time_before(jiffies, begun + msecs_to_jiffies(kRoomTimeoutMs) / 2);
}

} // namespace admission_testing
