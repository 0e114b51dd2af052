// SPDX-License-Identifier: GPL-2.0
// The server's slots as they are compiled into the module, slot.cc and request.cc, with paths and a
// user that belong to the case: who may work on a slot when, and that whoever came in leaves once.
#include "fixture.hh"

using namespace server_testing;

CASE(slot_request_is_answered_and_leaves)
{
	for (int invalidate = 0; invalidate < 2; invalidate++) {
		auto made = make_fixture(invalidate);
		REQUIRE(made.ok());
		Fixture &f = **made;
		for (u32 n = 1; n <= 3; n++) {
			REQUIRE(f.arrive(1, 0));
			REQUIRE(f.user_has(1));
			EXPECT_EQ(f.paths[0].users(), 1);
			EXPECT(f.answer(1));
			EXPECT_EQ(f.paths[0].answered(), n);
			EXPECT_EQ(f.paths[0].users(), 0);
		}
		EXPECT_EQ(f.garbled, 0);
		f.expect_all_left(test);
	}
}

// The first one is still served; nobody waits for its answer then.
CASE(slot_second_request_closes_its_path)
{
	auto made = make_fixture();
	REQUIRE(made.ok());
	Fixture &f = **made;
	REQUIRE(f.arrive(0, 0));
	REQUIRE(f.arrive(0, 0));
	EXPECT(f.paths[0].closing());
	EXPECT_EQ(f.refusals(Refusal::SlotBusy), 1);
	EXPECT_EQ(f.requests, 1);
	EXPECT_EQ(f.paths[0].users(), 1);
	EXPECT(f.answer(0));
	EXPECT_EQ(f.paths[0].answered(), 0);
	f.expect_all_left(test);
	// Another path's requests are not concerned, on this slot and on others.
	REQUIRE(f.arrive(0, 1) && f.arrive(2, 1));
	EXPECT(f.answer(0) && f.answer(2));
	EXPECT_EQ(f.paths[1].answered(), 2);
	f.expect_all_left(test);
}

// The fence of failover.
CASE(slot_other_path_waits_for_the_first)
{
	auto made = make_fixture();
	REQUIRE(made.ok());
	Fixture &f = **made;
	REQUIRE(f.arrive(0, 0));
	REQUIRE(f.arrive(0, 1));
	f.module.io.flush();
	EXPECT_EQ(f.requests, 1);
	EXPECT_EQ(f.paths[1].users(), 1);
	EXPECT(f.answer(0));
	f.module.io.flush();
	EXPECT_EQ(f.requests, 2);
	EXPECT_EQ(f.paths[0].users(), 0);
	EXPECT_EQ(f.paths[0].answered(), 1);
	// The second has the slot now: what was the rule for the first, is the rule for it.
	REQUIRE(f.arrive(0, 1));
	EXPECT_EQ(f.refusals(Refusal::SlotBusy), 1);
	EXPECT(f.paths[1].closing());
	EXPECT(f.answer(0));
	f.expect_all_left(test);
}

CASE(slot_third_path_replaces_the_second)
{
	auto made = make_fixture();
	REQUIRE(made.ok());
	Fixture &f = **made;
	REQUIRE(f.arrive(0, 0) && f.arrive(0, 1) && f.arrive(0, 2));
	// The second is dropped unanswered, at once.
	EXPECT_EQ(f.refusals(Refusal::Superseded), 1);
	EXPECT_EQ(f.paths[1].users(), 0);
	EXPECT(!f.paths[1].closing());
	EXPECT(f.answer(0));
	f.module.io.flush();
	EXPECT_EQ(f.requests, 2);
	EXPECT(f.answer(0));
	EXPECT_EQ(f.paths[1].answered(), 0);
	EXPECT_EQ(f.paths[2].answered(), 1);
	f.expect_all_left(test);
}

// An answer can reach the client, and the client's next request this server, before the poster of
// the answer has come back.
CASE(slot_next_request_overtakes_the_end)
{
	auto made = make_fixture();
	REQUIRE(made.ok());
	Fixture &f = **made;
	struct Next {
		Fixture *f;
		int left;
		bool ok = true;
	} next{&f, 3};
	f.connections[0].overtake_data = &next;
	f.connections[0].overtake = [](void *data) {
		Next &n = *static_cast<Next *>(data);
		if (n.left-- > 0)
			n.ok &= n.f->arrive(0, 0);
	};
	REQUIRE(f.arrive(0, 0));
	for (int i = 0; i < 4; i++) {
		f.module.io.flush();
		REQUIRE(f.user_has(0));
		EXPECT(f.answer(0));
	}
	EXPECT(next.ok);
	EXPECT(!f.paths[0].closing());
	EXPECT_EQ(f.paths[0].answered(), 4);
	EXPECT_EQ(f.shared, 0);
	f.expect_all_left(test);
}

// The path closes and is forgotten while its answer is posted: the slot is no longer its own, so
// another path has it at once, and the path is there until who answers has left it.
CASE(slot_path_dies_while_it_is_answered)
{
	auto made = make_fixture();
	REQUIRE(made.ok());
	Fixture &f = **made;
	struct Death {
		Fixture *f;
		int users = 0;
		bool other_begins = false;
	} death{&f};
	f.connections[0].overtake_data = &death;
	f.connections[0].overtake = [](void *data) {
		Death &d = *static_cast<Death *>(data);
		d.f->paths[0].close();
		d.f->slots[0].forget(d.f->paths[0]);
		d.users = d.f->paths[0].users();
		d.other_begins = d.f->arrive(0, 1) && d.f->user_has(0);
	};
	REQUIRE(f.arrive(0, 0));
	EXPECT(f.answer(0));
	EXPECT_EQ(death.users, 1);
	EXPECT(death.other_begins);
	EXPECT_EQ(f.paths[0].users(), 0);
	EXPECT_EQ(f.shared, 0);
	EXPECT(f.answer(0));
	f.expect_all_left(test);
}

// The same with a second copy that waits: it begins although nobody knows the first one's path.
CASE(slot_path_is_forgotten_before_its_answer)
{
	auto made = make_fixture();
	REQUIRE(made.ok());
	Fixture &f = **made;
	REQUIRE(f.arrive(0, 0) && f.arrive(0, 1));
	f.paths[0].close();
	f.slots[0].forget(f.paths[0]);
	// A new path of the same number has nothing to do with what is at the disk.
	f.paths[0].reopen();
	REQUIRE(f.arrive(0, 0));
	EXPECT_EQ(f.refusals(Refusal::Superseded), 1);
	EXPECT_EQ(f.requests, 1);
	EXPECT(f.answer(0));
	f.module.io.flush();
	EXPECT_EQ(f.requests, 2);
	EXPECT_EQ(f.shared, 0);
	EXPECT(f.answer(0));
	EXPECT_EQ(f.paths[1].users(), 0);
	f.expect_all_left(test);
}

CASE(slot_forget_drops_what_is_parked)
{
	auto made = make_fixture();
	REQUIRE(made.ok());
	Fixture &f = **made;
	REQUIRE(f.arrive(0, 0) && f.arrive(0, 1));
	// Not the owner's, and not that of one who has nothing here.
	f.slots[0].forget(f.paths[0]);
	f.slots[0].forget(f.paths[2]);
	EXPECT_EQ(f.paths[0].users(), 1);
	EXPECT_EQ(f.paths[1].users(), 1);
	f.slots[0].forget(f.paths[1]);
	EXPECT_EQ(f.paths[1].users(), 0);
	f.slots[0].forget(f.paths[1]);
	EXPECT(f.answer(0));
	f.module.io.flush();
	EXPECT_EQ(f.requests, 1);
	f.expect_all_left(test);
}

namespace {

// Somebody stands at a door until it is opened.
struct Door {
	void open() { opened.complete(); }
	static void stand(void *door)
	{
		auto *self = static_cast<Door *>(door);
		self->reached.complete();
		self->opened.wait();
	}
	Completion reached;
	Completion opened;
	DelayedWork<Door, &Door::open> work{this};
};

} // namespace

// A request that was parked has been begun by a work item, and is between the look at its path's
// state and the user when the path closes: whoever waits for the path to be quiet relies on it that
// the user has it when the slot has forgotten the path, or never gets it (protocol J.1).
CASE(slot_forget_waits_for_who_is_on_his_way)
{
	auto made = make_fixture();
	REQUIRE(made.ok());
	Fixture &f = **made;
	auto door = make_box<Door>(GFP_KERNEL);
	REQUIRE(door.ok());
	REQUIRE(f.arrive(0, 0) && f.arrive(0, 1));
	f.paths[1].regions().looked_data = door->get();
	f.paths[1].regions().looked = Door::stand;
	EXPECT(f.answer(0));
	(*door)->reached.wait();
	EXPECT_EQ(f.requests, 1);
	f.paths[1].close();
	(*door)->work.queue_after(f.users, HZ / 20);
	f.slots[0].forget(f.paths[1]);
	EXPECT((*door)->opened.done());
	EXPECT_EQ(f.requests, 2);
	(*door)->opened.wait();
	f.users.flush();
	f.module.io.flush();
	EXPECT_EQ(f.requests, 2);
	// The disk has it, and the slot: the next path of that number waits.
	REQUIRE(f.user_has(0));
	f.paths[1].regions().looked = nullptr;
	f.paths[1].reopen();
	REQUIRE(f.arrive(0, 1));
	EXPECT_EQ(f.refusals(Refusal::SlotBusy), 0);
	EXPECT_EQ(f.requests, 2);
	EXPECT(f.answer(0));
	f.module.io.flush();
	EXPECT_EQ(f.requests, 3);
	EXPECT(f.answer(0));
	f.expect_all_left(test);
}

CASE(slot_of_a_closing_path_is_not_served)
{
	for (int invalidate = 0; invalidate < 2; invalidate++) {
		auto made = make_fixture(invalidate);
		REQUIRE(made.ok());
		Fixture &f = **made;
		REQUIRE(f.arrive(0, 0) && f.arrive(0, 1));
		f.paths[0].close();
		f.paths[1].close();
		EXPECT(f.answer(0));
		f.module.io.flush();
		// It was parked when its path closed, and nobody forgot it: it begins and ends.
		EXPECT_EQ(f.requests, 1);
		EXPECT_EQ(f.paths[0].answered() + f.paths[1].answered(), 0);
		f.expect_all_left(test);
	}
}

CASE(slot_bad_headers_end_in_one_leave)
{
	auto made = make_fixture();
	REQUIRE(made.ok());
	Fixture &f = **made;
	f.write_request(0, 0x7777);
	REQUIRE(f.arrive(0, 0));
	EXPECT_EQ(f.refusals(Refusal::HeaderMalformed), 1);
	EXPECT(f.paths[0].closing());
	// A message longer than what stands before the header: refused, but with an answer.
	f.write_request(1, static_cast<u16>(MessageType::Write));
	REQUIRE(f.arrive(1, 1, kMessage - 4));
	EXPECT(f.paths[1].answered() == 1 || f.paths[1].closing());
	EXPECT_EQ(f.requests, 0);
	f.expect_all_left(test);
}

// Wherever in its chunk a message lies, and however long it is, the user gets all of it.
CASE(slot_messages_of_all_lengths)
{
	constexpr u16 kWrite = static_cast<u16>(MessageType::Write);
	constexpr u16 kSizes[] = {4, 8, 31, 32, 33, 100, RTRS_MAX_USER_MSG};
	auto made = make_fixture();
	REQUIRE(made.ok());
	Fixture &f = **made;
	for (const u16 size : kSizes) {
		const u32 end = kChunk - size - static_cast<u32>(sizeof(WriteHeader));
		const u32 datas[] = {0, 1, 24, 32, 4096, end - 20, end - 19, end};
		for (const u32 data : datas) {
			// What is in front of it is something else.
			memset(f.session.chunks().data(0), 0xee, kChunk);
			const u32 offset = f.write_request(0, kWrite, data, size);
			REQUIRE(f.arrive(0, 0, offset));
			EXPECT_EQ(f.garbled, 0);
			REQUIRE(f.user_has(0));
			EXPECT(f.answer(0));
		}
	}
	// One byte more than there is room for is refused, with an answer.
	const u32 offset = f.write_request(0, kWrite, 0, RTRS_MAX_USER_MSG + 1);
	const u32 before = f.requests;
	REQUIRE(f.arrive(0, 0, offset));
	EXPECT_EQ(f.requests, before);
	EXPECT_EQ(f.refusals(Refusal::RequestRefused), 1);
	f.expect_all_left(test);
}

// The handler of a receive that can not be posted again has closed the path, and drops the request.
CASE(slot_claimed_by_who_can_not_go_on)
{
	auto made = make_fixture();
	REQUIRE(made.ok());
	Fixture &f = **made;
	REQUIRE(f.paths[0].enter());
	REQUIRE(f.claim(0, 0));
	// It has the slot: another path's request waits for its end.
	REQUIRE(f.arrive(0, 1));
	f.module.io.flush();
	EXPECT_EQ(f.requests, 0);
	f.paths[0].close();
	f.slots[0].dropped();
	f.module.io.flush();
	EXPECT_EQ(f.requests, 1);
	EXPECT_EQ(f.paths[0].users(), 0);
	EXPECT(f.answer(0));
	EXPECT_EQ(f.paths[1].answered(), 1);
	f.expect_all_left(test);
}

// The same by capsule, from a buffer whose rest is something else; parked ones, too.
CASE(slot_capsules_of_all_lengths)
{
	constexpr u16 kWrite = static_cast<u16>(MessageType::Write);
	constexpr u32 kHeader = sizeof(WriteHeader);
	constexpr u16 kSizes[] = {4, 32, 51, 52, 53, RequestSlot::kCapsuleRoom - kHeader};
	auto made = make_fixture(true);
	REQUIRE(made.ok());
	Fixture &f = **made;
	for (const u16 size : kSizes) {
		u8 capsule[RequestSlot::kCapsuleRoom];
		memset(capsule, 0xee, sizeof(capsule));
		f.write_message(capsule, kWrite, size);
		for (u32 path = 0; path < 2; path++) {
			REQUIRE(
			    f.arrive_by_capsule(1, path, capsule, size, size + kHeader, Rkey{1}));
		}
		for (u32 path = 0; path < 2; path++) {
			f.module.io.flush();
			EXPECT_EQ(f.garbled, 0);
			REQUIRE(f.user_has(1));
			EXPECT(f.answer(1));
		}
	}
	EXPECT_EQ(f.paths[0].answered(), u64{ARRAY_SIZE(kSizes)});
	EXPECT_EQ(f.paths[1].answered(), u64{ARRAY_SIZE(kSizes)});
	// A capsule that took back another key, and one that says two lengths.
	u8 capsule[RequestSlot::kCapsuleRoom] = {};
	f.write_message(capsule, kWrite, 8);
	const u32 before = f.requests;
	for (u32 path = 0; path < 2; path++) {
		REQUIRE(f.arrive_by_capsule(1, path, capsule + (path ? 0 : 4), path ? 8 : 4,
					    path ? 12 : 8, Rkey{path ? 2u : 1u}));
		EXPECT(f.paths[path].closing());
	}
	EXPECT_EQ(f.requests, before);
	f.expect_all_left(test);
}

namespace {

// Three paths send requests for the same few slots without asking each other, as no honest client
// does; one of them closes now and then, as the close work does it, and comes back. The user
// answers from threads of his own.
void stress(kunit *test, bool always_invalidate)
{
	// More than enough, but for a busy host that lets hardly ever two paths run side by side.
	constexpr u32 kRounds = 400, kMostRounds = 8000;
	auto made = make_fixture(always_invalidate);
	REQUIRE(made.ok());
	Fixture &f = **made;
	f.answers_later = true;
	stressed = &f;
	auto saw_all = [&] {
		return f.refusals(Refusal::SlotBusy) > 0 && f.refusals(Refusal::Superseded) > 0;
	};
	u32 arrivals[kPaths] = {};
	int stuck = 0;
	REQUIRE(side_by_side<kPaths>([&](unsigned int path) {
		u32 seed = 12345 + path;
		auto idle = [&] {
			for (int i = 0; f.paths[path].users() && i < 2000; i++)
				breathe();
			for (int i = 0; f.paths[path].users() && i < 1000; i++)
				schedule_timeout_uninterruptible(1);
			return !f.paths[path].users();
		};
		// Closed for a violation: drained, what waits is dropped, what runs is waited for.
		// Then a new path of that name.
		auto come_back = [&] {
			for (RequestSlot &s : f.slots)
				s.forget(f.paths[path]);
			if (!idle())
				return false;
			f.paths[path].reopen();
			return true;
		};
		for (u32 round = 0; round < kRounds || (round < kMostRounds && !saw_all());
		     round++) {
			seed = seed * 1664525 + 1013904223;
			bool meets = round % kMeetingRounds == 0;
			if (meets && f.paths[path].closing() && !come_back()) {
				stuck++;
				return;
			}
			meets = meets && idle();
			if (meets)
				f.meet();
			const bool arrived = f.arrive(meets ? 0 : seed >> 20 & (kSlots - 1), path);
			if (meets)
				f.part();
			if (arrived) {
				arrivals[path]++;
				if (seed >> 24 & 3)
					breathe();
				continue;
			}
			if (!come_back()) {
				stuck++;
				return;
			}
		}
	}));
	for (int i = 0; i < 4; i++) {
		f.users.flush();
		f.module.io.flush();
	}
	stressed = nullptr;
	EXPECT_EQ(stuck, 0);
	EXPECT_EQ(f.shared, 0);
	EXPECT_EQ(f.garbled, 0);
	for (u32 i = 0; i < kPaths; i++) {
		EXPECT(arrivals[i] > 0);
		EXPECT_EQ(f.paths[i].left, arrivals[i]);
	}
	// The case is worth something if it came to all of these.
	EXPECT(saw_all());
	EXPECT(f.paths[0].answered() + f.paths[1].answered() + f.paths[2].answered() > 0);
	f.expect_all_left(test);
}

} // namespace

CASE(slot_stress_without_invalidation)
{
	stress(test, false);
}

CASE(slot_stress_with_invalidation)
{
	stress(test, true);
}
