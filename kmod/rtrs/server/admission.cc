// SPDX-License-Identifier: GPL-2.0
// Counting what clients hold, by host and in all.
#include <cxxrt/log.hh>
#include <rtrs/core/core.h>
#include <rtrs/server/addresses.hh>
#include <rtrs/server/admission.hh>
#include <rtrs/server/module.hh>

using namespace cxxrt;

namespace rtrs::server {
namespace {

// Paths that give way to one request at a time.
constexpr u32 kMostGiveWay = 16;

// The part of a host's places for half-open paths that is kept free of silent ones, as kKeptOfShare
// is of memory: more than are asked for while one path ends.
constexpr u32 kKeptOfPlaces = 16;

u64 admission_ms()
{
	return jiffies64_to_msecs(get_jiffies_64());
}

bool can_make_room(const Admitted &e, const Admitted &asks, u64 now)
{
	return e.half_open && !e.leaving && !e.waits && e.give_way && &e != &asks &&
	       now >= e.heard_at + kGivesWayAfterMs && (e.stranger || !asks.stranger);
}

} // namespace

Status refuse_over(Quota quota)
{
	if (quota == Quota::Fits)
		return {};
	log_warning_limited("admission", "a limit is reached: %s", to_text(quota));
	// What ends by itself within seconds, or what an administrator has to change.
	switch (quota) {
	case Quota::HalfOpen:
	case Quota::HalfOpenOfHost:
		return err::ebusy;
	case Quota::PinnedMemory:
	case Quota::Memory:
	case Quota::MemoryPerHost:
		return err::enomem;
	default:
		return err::eusers;
	}
}

Quota Admission::check(List &entries, const Claim &claim, Without without)
{
	const Admitted &asks = claim.entry;
	const u64 now = admission_ms();
	PathLoad paths;
	MemoryLoad memory;
	for (const Admitted &e : entries) {
		if ((e.leaving && without != Without::None) ||
		    (without == Without::AllThatMayLeave && can_make_room(e, asks, now)))
			continue;
		const bool same = e.source == asks.source;
		memory.all += e.bytes;
		if (same)
			memory.of_host += e.bytes;
		if (e.stranger)
			memory.strangers += e.bytes;
		if (!e.is_path)
			continue;
		paths.all.add(e.connections);
		if (same)
			paths.of_host.add(e.connections);
		if (e.stranger)
			paths.strangers.add(e.connections);
		if (!e.half_open)
			continue;
		if (e.stranger == asks.stranger) {
			paths.half_open.add(e.connections);
			memory.half_open += e.bytes;
		}
		if (same) {
			paths.half_open_of_host.add(e.connections);
			memory.half_open_of_host += e.bytes;
		}
	}
	const bool keys = rtrs_keys_able();
	if (claim.paths || claim.connections) {
		const Quota quota =
		    check_path_quota(paths, {claim.paths, claim.connections, asks.stranger && keys},
				     module_->limits.paths());
		if (quota != Quota::Fits)
			return quota;
	}
	return check_memory(memory, {claim.bytes, asks.bytes, asks.stranger, asks.half_open},
			    module_->limits.memory(keys));
}

// Has the half-open path that was silent for the longest time end, of those that are counted where
// the limit is; what all have together is left by strangers, too, to who is none. False if there is
// no such path.
bool Admission::give_way_to(List &entries, const Claim &claim, Quota limit)
{
	const u64 now = admission_ms();
	const Admitted &asks = claim.entry;
	const auto counts = [&](const Admitted &e) {
		if (is_of_host(limit))
			return e.source == asks.source;
		return !is_half_open(limit) || e.stranger == asks.stranger;
	};
	Admitted *oldest = nullptr;
	for (Admitted &e : entries) {
		if (!can_make_room(e, asks, now) || !counts(e))
			continue;
		// Of strangers first.
		if (!oldest ||
		    (e.stranger == oldest->stranger ? e.heard_at < oldest->heard_at : e.stranger))
			oldest = &e;
	}
	if (!oldest)
		return false;
	oldest->leaving = true;
	oldest->give_way(oldest->owner);
	// It may be waiting for room itself.
	changed();
	return true;
}

// The limit that is in the way even when all have left that are about to, and those that give way
// now, some at a time. None does if that would not help.
Quota Admission::clear(List &entries, const Claim &claim)
{
	const Quota never = check(entries, claim, Without::AllThatMayLeave);
	if (never != Quota::Fits)
		return never;
	for (u32 i = 0; i < kMostGiveWay; i++) {
		const Quota quota = check(entries, claim, Without::Leaving);
		if (quota == Quota::Fits || !give_way_to(entries, claim, quota))
			return quota;
	}
	return Quota::Fits;
}

// Ahead of the next one, so that a flood of one host, whose requests are served one after the
// other, is not served at the pace at which paths end.
void Admission::keep_room(List &entries, Admitted &entry)
{
	const u64 share = module_->limits.memory(rtrs_keys_able()).half_open;
	const PathLimits places = half_open_limits(module_->limits.paths());
	const Claim next{entry, places.paths_per_host / kKeptOfPlaces,
			 places.connections_per_host / kKeptOfPlaces, share / kKeptOfShare};
	for (u32 i = 0; i < kMostGiveWay; i++) {
		const Quota quota = check(entries, next, Without::Leaving);
		if (!is_half_open(quota) || !give_way_to(entries, next, quota))
			return;
	}
}

Admission::Look Admission::look(List &entries, const Claim &claim, Quota &quota)
{
	Admitted &entry = claim.entry;
	if (entry.leaving)
		return Look::Gone;
	quota = check(entries, claim, Without::None);
	if (quota != Quota::Fits) {
		const Quota left = clear(entries, claim);
		if (left == Quota::Fits)
			return Look::Soon;
		quota = left;
		return Look::Refused;
	}
	entry.bytes += claim.bytes;
	// Those of a new path are announced only.
	if (!claim.paths)
		entry.connections += claim.connections;
	entry.heard_at = admission_ms();
	if (!entry.in) {
		entry.in = this;
		entries.push_back(entry);
	}
	if (entry.half_open)
		keep_room(entries, entry);
	return Look::Taken;
}

Status Admission::take(const Claim &claim)
{
	Quota quota = Quota::Fits;
	switch (entries_.with([&](List &entries) { return look(entries, claim, quota); })) {
	case Look::Taken:
		return {};
	case Look::Soon:
		return err::eagain;
	case Look::Refused:
		return refuse_over(quota);
	case Look::Gone:
		break;
	}
	return err::econnreset;
}

Status Admission::take_or_wait(const Claim &claim)
{
	const u64 end = admission_ms() + kRoomTimeoutMs;
	for (;;) {
		Quota quota = Quota::Fits;
		u32 seen = 0;
		u64 now = 0;
		const Look found = entries_.with([&](List &entries) {
			const Look here = look(entries, claim, quota);
			seen = changes_;
			now = admission_ms();
			claim.entry.waits = here == Look::Soon && now < end && !READ_ONCE(over_);
			return here;
		});
		if (found == Look::Taken)
			return {};
		if (found == Look::Gone)
			return err::econnreset;
		if (!claim.entry.waits)
			return refuse_over(quota);
		(void)room_.wait_for(msecs_to_jiffies(static_cast<u32>(end - now)) + 1, [&] {
			return READ_ONCE(changes_) != seen || READ_ONCE(over_);
		});
	}
}

// Under the lock.
void Admission::changed()
{
	WRITE_ONCE(changes_, changes_ + 1);
	room_.wake_all();
}

Status Admission::enter(Admitted &path, u32 announced)
{
	path.is_path = true;
	path.half_open = true;
	return take_or_wait({path, 1, announced, path_bytes(announced)});
}

Status Admission::add_connection(Admitted &path, u64 bytes)
{
	return take_or_wait({path, 0, 1, bytes});
}

void Admission::give_back_connection(Admitted &path, u64 bytes)
{
	entries_.with([&](List &) {
		path.connections--;
		path.bytes -= bytes;
		changed();
	});
}

void Admission::heard(Admitted &path)
{
	entries_.with([&](List &) { path.heard_at = admission_ms(); });
}

Status Admission::add_memory(Admitted &path, u64 bytes)
{
	return take({path, 0, 0, bytes});
}

Status Admission::enter_memory(Admitted &session)
{
	if (session.in)
		return {};
	// What is to be taken is what the entry has when it is in.
	const u64 bytes = exchange(session.bytes, u64{0});
	const Status s = take({session, 0, 0, bytes});
	if (!s.ok())
		session.bytes = bytes;
	return s;
}

Status Admission::fits(const Source &source, bool stranger, u64 bytes)
{
	Admitted asks;
	asks.source = source;
	asks.stranger = stranger;
	return refuse_over(entries_.with([&](List &entries) {
		return check(entries, {asks, 0, 0, bytes}, Without::AllThatMayLeave);
	}));
}

void Admission::make_room(const Source &source)
{
	Admitted asks;
	asks.source = source;
	entries_.with(
	    [&](List &entries) { (void)give_way_to(entries, {asks}, Quota::HalfOpenOfHost); });
}

void Admission::may_give_way(Admitted &path, void (*give_way)(void *owner), void *owner)
{
	entries_.with([&](List &) {
		path.give_way = give_way;
		path.owner = owner;
	});
}

void Admission::proven(Admitted &path)
{
	entries_.with([&](List &) { path.stranger = false; });
}

void Admission::handshake_over(Admitted &path)
{
	entries_.with([&](List &) {
		if (path.leaving)
			return;
		path.half_open = false;
		path.give_way = nullptr;
	});
}

void Admission::ends(Admitted &path)
{
	entries_.with([&](List &) {
		path.leaving = true;
		path.give_way = nullptr;
		changed();
	});
}

void Admission::leave(Admitted &entry)
{
	entries_.with([&](List &entries) {
		if (!entry.in)
			return;
		entries.remove(entry);
		entry.in = nullptr;
		changed();
	});
}

void Admission::end_waits()
{
	WRITE_ONCE(over_, true);
	room_.wake_all();
}

} // namespace rtrs::server
