// SPDX-License-Identifier: GPL-2.0
// Busy slots of the server (protocol G.2 "slot", G.3-5).
#include <rtrs/pure/slot_state.hh>

#include <atomic>
#include <mutex>
#include <thread>

using namespace rtrs;

namespace {
constexpr PathTag kA{0}, kB{1}, kC{127};

void expect(const SlotStep &s, SlotEvent event, PathTag path)
{
	EXPECT_EQ(s.event, event);
	EXPECT_EQ(s.path.value, path.value);
}
} // namespace

TEST(Slot, StartsAndFrees)
{
	ServerSlot slot;
	EXPECT_TRUE(slot.word().idle());
	expect(slot.request(kA), SlotEvent::Start, kA);
	EXPECT_FALSE(slot.word().idle());
	expect(slot.finish(kA), SlotEvent::Free, kA);
	EXPECT_TRUE(slot.word().idle());
	expect(slot.request(kC), SlotEvent::Start, kC);
	expect(slot.finish(kC), SlotEvent::Free, kC);
}

TEST(Slot, SecondRequestOnTheSamePathIsAViolation)
{
	ServerSlot slot;
	slot.request(kA);
	expect(slot.request(kA), SlotEvent::Violation, kA);
	// The first one is still served.
	expect(slot.finish(kA), SlotEvent::Free, kA);
}

// The common ways are the same steps, without a decision.
TEST(Slot, BeginsAndEndsInOneStep)
{
	ServerSlot slot;
	EXPECT_TRUE(slot.begin(kA));
	EXPECT_EQ(slot.word(), (SlotWord{.owner = kA.value + 1}));
	EXPECT_FALSE(slot.begin(kA));
	EXPECT_FALSE(slot.begin(kB));
	EXPECT_FALSE(slot.end(kB));
	EXPECT_EQ(slot.word(), (SlotWord{.owner = kA.value + 1}));
	EXPECT_TRUE(slot.end(kA));
	EXPECT_TRUE(slot.word().idle());
	EXPECT_FALSE(slot.end(kA));
	EXPECT_TRUE(slot.begin(kC));
	EXPECT_TRUE(slot.end(kC));
}

// For who has looked up the word of his path before.
TEST(Slot, BeginsAndEndsByItsWord)
{
	for (u32 tag = 0; tag < kMaxPathTags; tag++) {
		const PathTag path{static_cast<u16>(tag)};
		const OwnedSlot owned = slot_owned_by(path);
		EXPECT_EQ(slot_owner(owned), path);
		ServerSlot slot;
		EXPECT_TRUE(slot.begin(owned));
		EXPECT_TRUE(slot_owned(slot.word(), path));
		EXPECT_FALSE(slot.end(slot_owned_by(PathTag{static_cast<u16>(tag ? 0 : 1)})));
		EXPECT_TRUE(slot.end(owned));
	}
	ServerSlot slot;
	slot.begin(slot_owned_by(kA));
	slot.request(kB);
	EXPECT_FALSE(slot.end(slot_owned_by(kA)));
	expect(slot.finish(kA), SlotEvent::Start, kB);
	EXPECT_TRUE(slot.end(slot_owned_by(kB)));
	EXPECT_TRUE(slot.word().idle());
}

// Neither passes by one who waits, nor ends what is nobody's: both are for finish().
TEST(Slot, TheCommonEndLeavesRareOnesAlone)
{
	ServerSlot slot;
	slot.begin(kA);
	slot.request(kB);
	EXPECT_FALSE(slot.end(kA));
	expect(slot.finish(kA), SlotEvent::Start, kB);
	EXPECT_FALSE(slot.end(kA));
	slot.forget(kB);
	EXPECT_FALSE(slot.end(kB));
	expect(slot.finish(kB), SlotEvent::Free, kB);
	EXPECT_TRUE(slot.begin(kB));
}

// The client's next request can come as soon as the slot was let go, which is before the answer is
// posted; one before that is a lie.
TEST(Slot, TheNextRequestComesAfterTheEnd)
{
	ServerSlot slot;
	slot.begin(kA);
	expect(slot.request(kA), SlotEvent::Violation, kA);
	EXPECT_TRUE(slot.end(kA));
	EXPECT_TRUE(slot.begin(kA));
}

TEST(Slot, WhoConcernsASlot)
{
	ServerSlot slot;
	slot.begin(kA);
	slot.request(kB);
	EXPECT_TRUE(slot_owned(slot.word(), kA) && !slot_awaited(slot.word(), kA));
	EXPECT_TRUE(slot_awaited(slot.word(), kB) && !slot_owned(slot.word(), kB));
	EXPECT_FALSE(slot_awaited(slot.word(), kC) || slot_owned(slot.word(), kC));
}

TEST(Slot, AnotherPathWaitsForTheFirst)
{
	ServerSlot slot;
	slot.request(kA);
	expect(slot.request(kB), SlotEvent::Park, kB);
	expect(slot.request(kA), SlotEvent::Violation, kA);
	expect(slot.request(kB), SlotEvent::Violation, kB);
	expect(slot.finish(kA), SlotEvent::Start, kB);
	// Now B owns it.
	expect(slot.request(kB), SlotEvent::Violation, kB);
	expect(slot.request(kA), SlotEvent::Park, kA);
	expect(slot.finish(kB), SlotEvent::Start, kA);
	expect(slot.finish(kA), SlotEvent::Free, kA);
}

TEST(Slot, AThirdPathSupersedesTheWaitingOne)
{
	ServerSlot slot;
	slot.request(kA);
	slot.request(kB);
	SlotStep s = slot.request(kC);
	expect(s, SlotEvent::Supersede, kC);
	EXPECT_EQ(s.other.value, kB.value);
	// B waits no more.
	expect(slot.forget(kB), SlotEvent::Ignored, kB);
	expect(slot.finish(kA), SlotEvent::Start, kC);
	expect(slot.finish(kC), SlotEvent::Free, kC);
}

TEST(Slot, AClosedPathIsForgotten)
{
	ServerSlot slot;
	slot.request(kA);
	slot.request(kB);
	// What it owns is nobody's, and keeps the slot until it ends.
	expect(slot.forget(kA), SlotEvent::Ignored, kA);
	EXPECT_TRUE(slot_owned(slot.word(), kNobody));
	expect(slot.forget(kB), SlotEvent::Free, kB);
	// By the name under which it began.
	expect(slot.finish(kA), SlotEvent::Free, kA);
	EXPECT_TRUE(slot.word().idle());
	expect(slot.forget(kA), SlotEvent::Ignored, kA);
}

// A disk hangs, and the next path of that number has nothing to do with its request.
TEST(Slot, AForgottenNumberIsFree)
{
	ServerSlot slot;
	slot.request(kA);
	slot.forget(kA);
	expect(slot.request(kA), SlotEvent::Park, kA);
	expect(slot.request(kA), SlotEvent::Violation, kA);
	EXPECT_FALSE(slot.end(kA));
	expect(slot.finish(kA), SlotEvent::Start, kA);
	expect(slot.finish(kA), SlotEvent::Free, kA);
}

TEST(Slot, OnlyTheOwnerFinishes)
{
	ServerSlot slot;
	expect(slot.finish(kA), SlotEvent::Ignored, kA);
	slot.request(kA);
	slot.request(kB);
	expect(slot.finish(kB), SlotEvent::Ignored, kB);
	expect(slot.finish(kC), SlotEvent::Ignored, kC);
	EXPECT_EQ(slot.word(), (SlotWord{.owner = kA.value + 1, .waiter = kB.value + 1}));
}

// All sequences of eight events of three paths: the invariants that the module relies on.
TEST(Slot, EverySequence)
{
	constexpr int kNobodys = 3; // finish() only
	const PathTag paths[] = {kA, kB, kC, kNobody};
	constexpr int kEvents = 10, kLength = 6;
	int total = 1;
	for (int i = 0; i < kLength; i++)
		total *= kEvents;
	for (int sequence = 0; sequence < total; sequence++) {
		SlotWord w;
		int owner = -1, waiter = -1;
		for (int i = 0, rest = sequence; i < kLength; i++, rest /= kEvents) {
			int p = rest % kEvents % 3;
			int event = rest % kEvents / 3;
			if (event == 3) {
				p = kNobodys;
				event = 1;
			}
			SlotStep s = event == 0	  ? slot_request(w, paths[p])
				     : event == 1 ? slot_finish(w, paths[p])
						  : slot_forget(w, paths[p]);
			w = s.next;
			if (event == 0) {
				if (owner < 0) {
					ASSERT_EQ(s.event, SlotEvent::Start);
					owner = p;
				} else if (owner == p || waiter == p) {
					ASSERT_EQ(s.event, SlotEvent::Violation);
				} else {
					ASSERT_EQ(s.event, waiter < 0 ? SlotEvent::Park
								      : SlotEvent::Supersede);
					waiter = p;
				}
			} else if (event == 1) {
				// What is nobody's ends under the name of its old path.
				if (owner != p && owner != kNobodys) {
					ASSERT_EQ(s.event, SlotEvent::Ignored);
				} else {
					ASSERT_EQ(s.event,
						  waiter < 0 ? SlotEvent::Free : SlotEvent::Start);
					owner = waiter;
					waiter = -1;
				}
			} else {
				ASSERT_EQ(s.event,
					  waiter == p ? SlotEvent::Free : SlotEvent::Ignored);
				if (waiter == p)
					waiter = -1;
				if (owner == p)
					owner = kNobodys;
			}
			ASSERT_EQ(w.owner, owner < 0 ? 0 : paths[owner].value + 1);
			ASSERT_EQ(w.waiter, waiter < 0 ? 0 : paths[waiter].value + 1);
			ASSERT_FALSE(w.owner == 0 && w.waiter != 0);
		}
	}
}

// Two paths on two CPUs: never two owners.
TEST(Slot, OneOwnerAtATime)
{
	ServerSlot slot;
	std::atomic<int> owners = 0, started = 0;
	auto run = [&](PathTag self, PathTag other) {
		for (int i = 0; i < 20000; i++) {
			SlotStep s = slot.request(self);
			if (s.event != SlotEvent::Start)
				continue;
			// Work for self, and for the other as long as it was parked meanwhile.
			do {
				started++;
				EXPECT_EQ(owners.fetch_add(1), 0);
				owners.fetch_sub(1);
				s = slot.finish(s.path);
			} while (s.event == SlotEvent::Start);
			EXPECT_EQ(s.event, SlotEvent::Free);
		}
		(void)other;
	};
	std::thread a([&] { run(kA, kB); });
	std::thread b([&] { run(kB, kA); });
	a.join();
	b.join();
	EXPECT_TRUE(slot.word().idle());
	EXPECT_GT(started, 0);
}

namespace {

// A slot as the module uses it (server/slot.cc): what is parked stands beside the word, under a
// lock that the common ways do not take.
struct Shared {
	struct Request {
		PathTag path{};
		int number = 0;
	};
	ServerSlot word;
	std::mutex lock;
	Request parked, owner;
	std::atomic<int> inside = 0, overlaps = 0, mixed = 0;
	std::atomic<int> started = 0, dropped = 0, refused = 0;

	void work(Request r)
	{
		if (inside.fetch_add(1) != 0)
			overlaps++;
		owner = r; // not atomic: the sanitizer and the count below see who is not in order
		started++;
		if (owner.number != r.number || !(owner.path == r.path))
			mixed++;
		inside.fetch_sub(1);
	}
	void arrive(Request r, bool linger)
	{
		if (!word.begin(r.path)) {
			const std::lock_guard held(lock);
			switch (word.request(r.path).event) {
			case SlotEvent::Start:
				break;
			case SlotEvent::Supersede:
				dropped++;
				[[fallthrough]];
			case SlotEvent::Park:
				parked = r;
				return;
			default:
				refused++;
				return;
			}
		}
		for (;;) {
			work(r);
			if (linger)
				std::this_thread::yield();
			if (word.end(r.path))
				return;
			const std::lock_guard held(lock);
			if (word.finish(r.path).event != SlotEvent::Start)
				return;
			r = parked;
		}
	}
	void forget(PathTag path)
	{
		const std::lock_guard held(lock);
		if (word.forget(path).event == SlotEvent::Free)
			dropped++;
	}
};

} // namespace

// Three paths, of which one is forgotten again and again while its requests begin, wait and end:
// each request is worked on alone, or dropped, or refused; none is lost, none is taken for another.
TEST(Slot, NoRequestIsLostOrServedTwice)
{
	constexpr int kRounds = 30000;
	Shared slot;
	auto run = [&](PathTag self, bool forgets) {
		for (int i = 0; i < kRounds; i++) {
			slot.arrive({self, self.value * kRounds + i}, i % 64 == 0);
			if (forgets && i % 3 == 0)
				slot.forget(self);
		}
	};
	std::thread a([&] { run(kA, false); });
	std::thread b([&] { run(kB, true); });
	std::thread c([&] { run(kC, false); });
	a.join();
	b.join();
	c.join();
	EXPECT_TRUE(slot.word.word().idle());
	EXPECT_EQ(slot.overlaps, 0);
	EXPECT_EQ(slot.mixed, 0);
	EXPECT_EQ(slot.started + slot.dropped + slot.refused, 3 * kRounds);
}
