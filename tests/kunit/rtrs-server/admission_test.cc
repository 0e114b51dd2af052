// SPDX-License-Identifier: GPL-2.0
// What paths and sessions are charged, by admission.cc as it is in the module.
#include "admission_fixture.hh"
#include "cases.h"

namespace rtrs::server {
CXXRT_FOR_C bool rtrs_keys_able()
{
	return admission_testing::keys_able;
}
} // namespace rtrs::server

using namespace admission_testing;

CASE(admission_charges_what_is_made)
{
	AdmissionCase f;
	Owner a(1);
	REQUIRE(f.admission.enter(a.place, 1000).ok());
	// What is announced costs its table only.
	EXPECT_EQ(a.place.bytes, path_bytes(1000));
	EXPECT_EQ(a.place.connections, 0);
	REQUIRE(f.admission.add_connection(a.place, kUnit).ok());
	EXPECT_EQ(a.place.connections, 1);
	EXPECT_EQ(a.place.bytes, path_bytes(1000) + kUnit);
	f.admission.handshake_over(a.place);
	Owner session(1);
	session.place.bytes = 80 * kUnit;
	REQUIRE(f.admission.enter_memory(session.place).ok());
	// Twice is once.
	REQUIRE(f.admission.enter_memory(session.place).ok());
	EXPECT_EQ(session.place.bytes, 80 * kUnit);
	REQUIRE(f.admission.add_memory(a.place, 18 * kUnit).ok());
	EXPECT(is(f.admission.add_memory(a.place, kUnit), err::enomem));
	f.admission.leave(session.place);
	EXPECT(f.admission.add_memory(a.place, kUnit).ok());
}

CASE(admission_refusal_takes_nothing)
{
	AdmissionCase f;
	f.module.limits.of_paths.paths = 1;
	Owner a(1), b(2);
	REQUIRE(f.enter(a, kUnit).ok());
	f.admission.handshake_over(a.place);
	EXPECT(is(f.enter(b, 0), err::eusers));
	EXPECT(!b.place.in);
	EXPECT_EQ(b.place.bytes, 0);
	const u64 before = a.place.bytes;
	EXPECT(is(f.admission.add_memory(a.place, 100 * kUnit), err::enomem));
	EXPECT_EQ(a.place.bytes, before);
	EXPECT(is(f.admission.fits(b.place.source, true, 100 * kUnit), err::enomem));
	EXPECT(f.admission.fits(b.place.source, true, 98 * kUnit).ok());
	Owner session(2);
	session.place.bytes = 100 * kUnit;
	EXPECT(is(f.admission.enter_memory(session.place), err::enomem));
	EXPECT(!session.place.in);
	session.place.bytes = 90 * kUnit;
	EXPECT(f.admission.enter_memory(session.place).ok());
	EXPECT_EQ(session.place.bytes, 90 * kUnit);
}

CASE(admission_is_left_once)
{
	AdmissionCase f;
	f.module.limits.of_paths.paths = 2;
	{
		Owner a(1), b(1);
		REQUIRE(f.enter(a, kUnit).ok());
		REQUIRE(f.enter(b, kUnit).ok());
		f.admission.leave(a.place);
		f.admission.leave(a.place);
		EXPECT(!a.place.in);
		Owner c(1), d(1);
		EXPECT(f.enter(c, 0).ok());
		EXPECT(!f.enter(d, 0).ok());
		// An owner that dies leaves, whether or not it was in.
	}
	Owner e(1), g(1);
	EXPECT(f.enter(e, 0).ok());
	EXPECT(f.enter(g, 0).ok());
}

CASE(admission_oldest_silent_path_gives_way)
{
	AdmissionCase f;
	Owner young(1), old(2), older(3), connected(4);
	REQUIRE(f.enter(young, 2 * kUnit).ok());
	REQUIRE(f.enter(old, 2 * kUnit).ok());
	REQUIRE(f.enter(older, 2 * kUnit).ok());
	REQUIRE(f.enter(connected, 2 * kUnit).ok());
	old.fall_silent(1000);
	older.fall_silent(2000);
	connected.fall_silent(3000);
	f.admission.handshake_over(connected.place);
	f.admission.end_waits();
	Owner next(5);
	EXPECT(is(f.enter(next, 4 * kUnit), err::ebusy));
	EXPECT(older.given_way);
	EXPECT(!old.given_way);
	EXPECT(!young.given_way);
	EXPECT(!connected.given_way);
	// Whoever has begun to finish does not give way any more.
	f.admission.leave(older.place);
	f.admission.handshake_over(old.place);
	EXPECT(f.admission.add_connection(next.place, 6 * kUnit).ok());
	EXPECT(!old.given_way);
}

// Else a flood has as much as it likes, as long as its paths are on their way down.
CASE(admission_counts_what_gives_way)
{
	AdmissionCase f;
	Owner a(1), b(2);
	REQUIRE(f.enter(a, 6 * kUnit).ok());
	a.fall_silent(0);
	f.admission.end_waits();
	EXPECT(is(f.enter(b, 6 * kUnit), err::ebusy));
	EXPECT(a.given_way);
	EXPECT(is(f.admission.add_connection(b.place, 6 * kUnit), err::ebusy));
	// Nor when its end begins.
	f.admission.ends(a.place);
	EXPECT(is(f.admission.add_connection(b.place, 6 * kUnit), err::ebusy));
	// An INFO_REQ that comes too late makes no room either.
	f.admission.handshake_over(a.place);
	EXPECT(is(f.admission.add_connection(b.place, 6 * kUnit), err::ebusy));
	f.admission.leave(a.place);
	EXPECT(f.admission.add_connection(b.place, 6 * kUnit).ok());
}

// Ahead of the next one, as far as some have been silent.
CASE(admission_keeps_room_for_the_next)
{
	AdmissionCase f;
	Owner a(1), b(2), c(3), d(4);
	REQUIRE(f.enter(a, 4 * kUnit).ok());
	REQUIRE(f.enter(b, 3 * kUnit).ok());
	a.fall_silent(0);
	EXPECT(!a.given_way);
	REQUIRE(f.enter(c, kUnit).ok());
	EXPECT(a.given_way);
	EXPECT(!b.given_way);
	// There is some left, at once.
	const unsigned long begun = jiffies;
	EXPECT(f.enter(d, kUnit).ok());
	EXPECT(soon_after(begun));
}

CASE(admission_waits_for_what_gives_way)
{
	AdmissionCase f;
	Owner a(1), b(2), c(3);
	REQUIRE(f.enter(a, 6 * kUnit).ok());
	a.fall_silent(0);
	Status s = err::einval;
	{
		Thread waiter([&] { s = f.enter(b, 6 * kUnit); });
		REQUIRE(waiter.start(0));
		a.await_giving_way();
		EXPECT(a.given_way);
		schedule_timeout_uninterruptible(HZ / 10);
		EXPECT(!waiter.done());
		// Others, for whom there is room, do not wait with it.
		EXPECT(f.enter(c, kUnit).ok());
		const unsigned long left = jiffies;
		f.admission.leave(a.place);
		EXPECT(waiter.wait_done().ok());
		EXPECT(soon_after(left));
	}
	EXPECT(s.ok());
	EXPECT_EQ(b.place.connections, 1);
}

// Its own end waits for the request that waits here.
CASE(admission_who_gives_way_waits_no_more)
{
	AdmissionCase f;
	Owner a(1), b(2);
	REQUIRE(f.enter(a, 6 * kUnit).ok());
	REQUIRE(f.enter(b, kUnit).ok());
	a.fall_silent(0);
	Status s;
	const unsigned long begun = jiffies;
	{
		Thread waiter([&] { s = f.admission.add_connection(b.place, 6 * kUnit); });
		REQUIRE(waiter.start(0));
		a.await_giving_way();
		f.admission.ends(b.place);
		EXPECT(waiter.wait_done().ok());
	}
	EXPECT(is(s, err::econnreset));
	EXPECT(soon_after(begun));
	EXPECT_EQ(b.place.connections, 1);
}

CASE(admission_waits_end)
{
	AdmissionCase f;
	Owner a(1), b(2);
	REQUIRE(f.enter(a, 6 * kUnit).ok());
	a.fall_silent(0);
	const unsigned long begun = jiffies;
	EXPECT(is(f.enter(b, 6 * kUnit), err::ebusy));
	EXPECT(a.given_way);
	EXPECT(time_after_eq(jiffies, begun + msecs_to_jiffies(kRoomTimeoutMs)));
	// What was entered stays, as the path does.
	EXPECT_EQ(b.place.bytes, path_bytes(2));
	// Without anybody to wait for it is refused at once.
	const unsigned long again = jiffies;
	a.place.leaving = false;
	a.place.heard_at += 60000;
	EXPECT(is(f.admission.add_connection(b.place, 6 * kUnit), err::ebusy));
	EXPECT(soon_after(again));
}

CASE(admission_of_info_comes_again)
{
	AdmissionCase f;
	// No strangers, whose own limit is as high.
	Owner a(1, false), b(2, false);
	REQUIRE(f.enter(a, kUnit).ok());
	f.admission.handshake_over(a.place);
	REQUIRE(f.admission.add_memory(a.place, 90 * kUnit).ok());
	REQUIRE(f.enter(b, kUnit).ok());
	f.admission.handshake_over(b.place);
	EXPECT(is(f.admission.add_memory(b.place, 20 * kUnit), err::enomem));
	f.admission.ends(a.place);
	EXPECT(is(f.admission.add_memory(b.place, 20 * kUnit), err::eagain));
	Owner session(2);
	session.place.bytes = 20 * kUnit;
	EXPECT(is(f.admission.enter_memory(session.place), err::eagain));
	f.admission.leave(a.place);
	EXPECT(f.admission.add_memory(b.place, 20 * kUnit).ok());
	EXPECT(f.admission.enter_memory(session.place).ok());
	// Whose path ends gets nothing more.
	f.admission.ends(b.place);
	EXPECT(is(f.admission.add_memory(b.place, kUnit), err::econnreset));
}

CASE(admission_strangers_give_way_to_the_known)
{
	AdmissionCase f;
	f.module.limits.of_paths.paths = 2;
	f.admission.end_waits();
	Owner known(1, false), stranger(2), other(3, false), third(4);
	REQUIRE(f.enter(known, 0).ok());
	REQUIRE(f.enter(stranger, 0).ok());
	known.fall_silent(1000);
	stranger.fall_silent(0);
	// No stranger takes the place of who has proven something.
	Owner asks(5);
	f.admission.handshake_over(stranger.place);
	EXPECT(!f.enter(asks, 0).ok());
	EXPECT(!known.given_way);
	f.admission.leave(stranger.place);
	REQUIRE(f.enter(third, 0).ok());
	third.fall_silent(0);
	EXPECT(!f.enter(other, 0).ok());
	EXPECT(third.given_way);
	EXPECT(!known.given_way);
	// Their shares of what is half-open are apart.
	f.module.limits.of_paths.paths = 0;
	f.admission.leave(third.place);
	Owner all(6);
	REQUIRE(f.enter(all, 9 * kUnit).ok());
	EXPECT(f.admission.add_connection(known.place, 9 * kUnit).ok());
}

// Paths come as long as some give way, and each is gone a while after it has: all that is there
// never is more than the share.
CASE(admission_flood_stays_in_its_share)
{
	AdmissionCase f;
	auto made = Array<Box<Owner>>::create(200);
	REQUIRE(made.ok());
	Array<Box<Owner>> paths = made.take();
	u32 refused = 0, gone = 0;
	f.admission.end_waits();
	for (u32 i = 0; i < paths.size(); i++) {
		auto owner = make_box<Owner>(GFP_KERNEL, static_cast<u8>(i));
		REQUIRE(owner.ok());
		paths[i] = owner.take();
		if (!f.enter(*paths[i], kUnit / 2).ok()) {
			refused++;
			paths[i].reset();
		} else {
			paths[i]->fall_silent(paths.size() - i);
		}
		u64 there = 0;
		for (auto &path : paths)
			if (path)
				there += path->place.bytes;
		EXPECT(there <= f.module.limits.of_memory.half_open);
		// One is gone for two that come.
		if (i % 2)
			continue;
		for (auto &path : paths) {
			if (!path || !path->given_way)
				continue;
			path.reset();
			gone++;
			break;
		}
	}
	EXPECT(refused > 10);
	EXPECT(gone > 10);
}

// An eighth of them, where there are keys; who has proven one is no stranger any more.
CASE(admission_strangers_leave_places)
{
	AdmissionCase f;
	keys_able = true;
	f.module.limits.of_paths.paths = 8;
	Owner a(1), b(2), c(3), d(4), e(5), g(6), h(7), last(8), known(9, false);
	Owner *const strangers[] = {&a, &b, &c, &d, &e, &g, &h};
	for (Owner *owner : strangers)
		REQUIRE(f.enter(*owner, 0).ok());
	EXPECT(is(f.enter(last, 0), err::eusers));
	f.admission.proven(a.place);
	EXPECT(f.enter(last, 0).ok());
	f.admission.leave(last.place);
	EXPECT(f.enter(known, 0).ok());
}

CASE(admission_none_gives_way_in_vain)
{
	AdmissionCase f;
	Owner small(1), large(2), asks(3);
	REQUIRE(f.enter(large, kUnit).ok());
	f.admission.handshake_over(large.place);
	REQUIRE(f.admission.add_memory(large.place, 93 * kUnit).ok());
	REQUIRE(f.enter(small, 2 * kUnit).ok());
	REQUIRE(f.enter(asks, 0).ok());
	small.fall_silent(0);
	EXPECT(is(f.admission.add_connection(asks.place, 8 * kUnit), err::enomem));
	EXPECT(!small.given_way);
	// A question takes nothing from anybody.
	EXPECT(is(f.admission.fits(asks.place.source, true, 8 * kUnit), err::enomem));
	EXPECT(f.admission.fits(asks.place.source, true, 5 * kUnit).ok());
	EXPECT(!small.given_way);
	f.admission.end_waits();
	EXPECT(!f.admission.add_connection(asks.place, 5 * kUnit).ok());
	EXPECT(small.given_way);
}

// It was served, and has said nothing since because it could not.
CASE(admission_who_waits_gives_way_to_none)
{
	AdmissionCase f;
	Owner a(1), b(2), c(3);
	REQUIRE(f.enter(a, 6 * kUnit).ok());
	REQUIRE(f.enter(b, kUnit).ok());
	REQUIRE(f.enter(c, 0).ok());
	a.fall_silent(0);
	Status s;
	{
		Thread waiter([&] { s = f.admission.add_connection(b.place, 6 * kUnit); });
		REQUIRE(waiter.start(0));
		a.await_giving_way();
		b.fall_silent(0);
		EXPECT(is(f.admission.add_connection(c.place, 9 * kUnit), err::ebusy));
		EXPECT(!b.given_way);
		f.admission.leave(a.place);
		EXPECT(waiter.wait_done().ok());
	}
	EXPECT(s.ok());
	// And later as all others do.
	b.fall_silent(0);
	f.admission.end_waits();
	EXPECT(!f.admission.add_connection(c.place, 9 * kUnit).ok());
	EXPECT(b.given_way);
}

CASE(admission_end_of_the_server_ends_waits)
{
	AdmissionCase f;
	Owner a(1), b(2);
	REQUIRE(f.enter(a, 6 * kUnit).ok());
	a.fall_silent(0);
	Status s;
	const unsigned long begun = jiffies;
	{
		Thread waiter([&] { s = f.enter(b, 6 * kUnit); });
		REQUIRE(waiter.start(0));
		a.await_giving_way();
		f.admission.end_waits();
		EXPECT(waiter.wait_done().ok());
	}
	EXPECT(is(s, err::ebusy));
	EXPECT(soon_after(begun));
}

// Places as well as memory.
CASE(admission_keeps_places_for_the_next)
{
	AdmissionCase f;
	f.module.limits.of_memory.half_open = f.module.limits.of_memory.all = 1000 * kUnit;
	f.module.limits.of_memory.of_host = f.module.limits.of_memory.strangers = 1000 * kUnit;
	const u32 most = half_open_limits({}).paths_per_host;
	auto made = Array<Box<Owner>>::create(most);
	REQUIRE(made.ok());
	Array<Box<Owner>> paths = made.take();
	u32 entered = 0, given = 0;
	while (entered < most && !given) {
		auto owner = make_box<Owner>(GFP_KERNEL, u8{1});
		REQUIRE(owner.ok());
		paths[entered] = owner.take();
		REQUIRE(f.enter(*paths[entered], 0).ok());
		paths[entered++]->fall_silent(0);
		for (u32 i = 0; i < entered; i++)
			given += paths[i]->given_way;
	}
	EXPECT(given > 0);
	EXPECT(entered > most / 2);
	EXPECT(entered < most - most / 32);
}

CASE(admission_takes_connections_back)
{
	AdmissionCase f;
	Owner a(1);
	REQUIRE(f.enter(a, 6 * kUnit).ok());
	EXPECT(is(f.admission.add_connection(a.place, 6 * kUnit), err::enomem));
	f.admission.give_back_connection(a.place, 6 * kUnit);
	EXPECT_EQ(a.place.connections, 0);
	EXPECT_EQ(a.place.bytes, path_bytes(2));
	EXPECT(f.admission.add_connection(a.place, 6 * kUnit).ok());
}
