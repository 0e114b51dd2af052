// SPDX-License-Identifier: GPL-2.0
// Which path's request a server slot works for (protocol G.2 "slot", G.3-5). Pure.
//
//	state          request from A        request from B != A       A's request ends
//	idle           A busy: start         B busy: start             -
//	A busy         protocol violation    A busy, B waits: park     idle
//	A busy, B      protocol violation    B: violation              B busy: start B's
//	  waits                              C: C waits, B's dropped
//
// A path that is drained leaves the requests that it owns to nobody in particular: the slot stays
// busy, everybody else waits, and the path's number is free again however long the disk takes.
//
// A slot is busy session-wide until its bio has ended and its answer is on its way for certain: it
// is let go right before the answer is posted, not after that, since the client's next request can
// be here before the poster gets any further. So a second request on the same path is a lie. One
// from another path is a failover: the client thinks that the first path died, but the old bio may
// still read or write the chunk, so the new request is parked until that has ended. A third path
// means that the client gave up the second one as well.
#pragma once

#include <rtrs/wire/constants.hh>
#include <rtrs/wire/units.hh>

namespace rtrs {

// Paths of a session that have a number: those that are open, kMaxPaths at most, and those that
// still close, so that one can come while another goes.
constexpr u32 kMaxPathTags = kMaxPaths + 64;
static_assert(kMaxPathTags < 254); // fits into SlotWord, beside kNobody

// Number of a path in its session, 0 to kMaxPathTags - 1, not reused before the path has forgotten
// all slots.
struct PathTag {
	u16 value;
	constexpr bool operator==(const PathTag &) const = default;
};

// Owner of what belonged to a path that has forgotten the slot.
constexpr PathTag kNobody{254};

// The whole state of a slot; zero is idle.
struct SlotWord {
	u8 owner = 0;  // PathTag + 1, 0 for none
	u8 waiter = 0; // PathTag + 1, 0 for none
	u16 unused = 0;
	constexpr bool operator==(const SlotWord &) const = default;
	constexpr bool idle() const { return owner == 0; }
};

enum class SlotEvent : u8 {
	Start,	   // `path` owns the slot now: start its request
	Park,	   // keep the request of `path` until it owns the slot
	Supersede, // as Park; the parked request of `other` will never start: drop it unanswered
	Violation, // close `path`
	Free,	   // the slot is idle now
	Ignored,   // nothing changed
};

struct SlotStep {
	SlotWord next;
	SlotEvent event;
	PathTag path;
	PathTag other; // only for Supersede
};

namespace detail {
constexpr u8 slot_party(PathTag path)
{
	return static_cast<u8>(path.value + 1);
}
} // namespace detail

// The word of a slot that a path owns, and for which nobody waits; and the way back. A number: a
// structure is copied in pieces.
enum class OwnedSlot : u32 {};
constexpr OwnedSlot slot_owned_by(PathTag path)
{
	const u32 party = detail::slot_party(path);
	return static_cast<OwnedSlot>(cxxrt::detail::kLittleHost ? party : party << 24);
}
static_assert(__builtin_bit_cast(SlotWord, slot_owned_by(PathTag{7})) == SlotWord{.owner = 8});
constexpr PathTag slot_owner(OwnedSlot owned)
{
	const SlotWord word = __builtin_bit_cast(SlotWord, owned);
	return {static_cast<u16>(word.owner - 1)};
}

// A request for the slot arrived on `path`.
constexpr SlotStep slot_request(SlotWord now, PathTag path)
{
	const u8 self = detail::slot_party(path);
	if (now.idle())
		return {{.owner = self}, SlotEvent::Start, path, {}};
	SlotWord next = now;
	next.waiter = self;
	if (now.owner == self || now.waiter == self)
		return {now, SlotEvent::Violation, path, {}};
	if (now.waiter == 0)
		return {next, SlotEvent::Park, path, {}};
	PathTag old{static_cast<u16>(now.waiter - 1)};
	return {next, SlotEvent::Supersede, path, old};
}

// The request of `path` ended: bio done, and the answer goes out now or never. Start means that the
// parked request of step.path begins. Ignored: `path` is not the owner, nor has the owner's path
// been forgotten (a bug of the caller).
constexpr SlotStep slot_finish(SlotWord now, PathTag path)
{
	if (now.owner != detail::slot_party(path) && now.owner != detail::slot_party(kNobody))
		return {now, SlotEvent::Ignored, path, {}};
	if (now.waiter == 0)
		return {{}, SlotEvent::Free, path, {}};
	return {{.owner = now.waiter}, SlotEvent::Start, {static_cast<u16>(now.waiter - 1)}, {}};
}

// Whether the request of `path`, or of nobody, has the slot.
constexpr bool slot_owned(SlotWord now, PathTag path)
{
	return now.owner == detail::slot_party(path);
}

// Whether one of `path` is parked.
constexpr bool slot_awaited(SlotWord now, PathTag path)
{
	return now.waiter == detail::slot_party(path);
}

// `path` is being closed, and no request comes from it any more: one that is parked will not start.
// Free if there was one, which the caller drops. A request that it owns is nobody's now, and ends
// by slot_finish all the same.
constexpr SlotStep slot_forget(SlotWord now, PathTag path)
{
	SlotWord next = now;
	if (slot_owned(now, path))
		next.owner = detail::slot_party(kNobody);
	if (!slot_awaited(now, path))
		return {next, SlotEvent::Ignored, path, {}};
	next.waiter = 0;
	return {next, SlotEvent::Free, path, {}};
}

// A slot that several CPUs work on. Each call is one atomic step; the order of memory is that of a
// lock: what the owner did before end() or finish() is seen by whoever has the slot next.
//
// begin() and end() are the common ways, where nobody else is concerned, and need nothing around
// them. The others decide about a request that waits: who keeps one beside the word calls them, and
// looks at what he keeps, under a lock of his own.
class ServerSlot {
public:
	// The slot is idle: `path` owns it. False: request() says what is to be done.
	bool begin(PathTag path) { return begin(slot_owned_by(path)); }
	bool begin(OwnedSlot owned)
	{
		u32 idle = 0;
		return __atomic_compare_exchange_n(&bits_, &idle, static_cast<u32>(owned), false,
						   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
	}
	// `path` owns it and nobody waits: the slot is idle. False: finish() says who has it now.
	bool end(PathTag path) { return end(slot_owned_by(path)); }
	bool end(OwnedSlot owned)
	{
		u32 seen = static_cast<u32>(owned);
		return __atomic_compare_exchange_n(&bits_, &seen, 0, false, __ATOMIC_RELEASE,
						   __ATOMIC_RELAXED);
	}

	SlotStep request(PathTag path)
	{
		return apply([=](SlotWord w) { return slot_request(w, path); });
	}
	SlotStep finish(PathTag path)
	{
		return apply([=](SlotWord w) { return slot_finish(w, path); });
	}
	SlotStep forget(PathTag path)
	{
		return apply([=](SlotWord w) { return slot_forget(w, path); });
	}
	// A snapshot, for tests and debug output.
	SlotWord word() const
	{
		return __builtin_bit_cast(SlotWord, __atomic_load_n(&bits_, __ATOMIC_ACQUIRE));
	}

private:
	static_assert(sizeof(SlotWord) == sizeof(u32));

	template <class Step> SlotStep apply(Step step)
	{
		u32 seen = __atomic_load_n(&bits_, __ATOMIC_ACQUIRE);
		for (;;) {
			SlotStep s = step(__builtin_bit_cast(SlotWord, seen));
			u32 next = __builtin_bit_cast(u32, s.next);
			if (next == seen ||
			    __atomic_compare_exchange_n(&bits_, &seen, next, false,
							__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
				return s;
		}
	}

	u32 bits_ = 0;
};

} // namespace rtrs
