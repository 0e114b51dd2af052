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

// Paths that give way to one request: each makes room at once where that is what is lacking.
constexpr u32 kMostGiveWay = 16;

u64 admission_ms()
{
	return jiffies64_to_msecs(get_jiffies_64());
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

Quota Admission::check(List &entries, const Claim &claim)
{
	const Admitted &asks = claim.entry;
	PathLoad paths;
	MemoryLoad memory;
	for (const Admitted &e : entries) {
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
	if (claim.is_new || claim.connections) {
		const Quota quota = check_path_quota(paths, claim.connections,
						     module_->limits.paths(), claim.is_new);
		if (quota != Quota::Fits)
			return quota;
	}
	return check_memory(memory, {claim.bytes, asks.bytes, asks.stranger, asks.half_open},
			    module_->limits.memory(rtrs_keys_able()));
}

// Has the half-open path that was silent for the longest time end, of those that are counted where
// the limit is. False if there is none.
bool Admission::make_room(List &entries, const Claim &claim, Quota limit)
{
	const u64 now = admission_ms();
	Admitted *oldest = nullptr;
	for (Admitted &e : entries) {
		if (!e.half_open || !e.give_way || &e == &claim.entry ||
		    now < e.heard_at + kGivesWayAfterMs)
			continue;
		if (is_of_host(limit) ? !(e.source == claim.entry.source)
				      : e.stranger != claim.entry.stranger)
			continue;
		if (!oldest || e.heard_at < oldest->heard_at)
			oldest = &e;
	}
	if (!oldest)
		return false;
	oldest->half_open = false;
	oldest->give_way(oldest->owner);
	return true;
}

Status Admission::admit(List &entries, const Claim &claim)
{
	Quota quota = check(entries, claim);
	for (u32 i = 0; quota != Quota::Fits && i < kMostGiveWay; i++) {
		if (!make_room(entries, claim, quota))
			break;
		// What all may have is free only when that path is gone; whoever asks comes again.
		if (!is_half_open(quota))
			break;
		quota = check(entries, claim);
	}
	return refuse_over(quota);
}

Status Admission::enter(Admitted &path, u32 announced)
{
	return entries_.with([&](List &entries) -> Status {
		path.is_path = true;
		path.half_open = true;
		path.heard_at = admission_ms();
		const u64 bytes = path_bytes(announced);
		TRY(admit(entries, {path, announced, bytes, true}));
		path.bytes = bytes;
		entries.push_back(path);
		return {};
	});
}

Status Admission::add_connection(Admitted &path, u64 bytes)
{
	return entries_.with([&](List &entries) -> Status {
		path.heard_at = admission_ms();
		TRY(admit(entries, {path, 1, bytes, false}));
		path.connections++;
		path.bytes += bytes;
		return {};
	});
}

Status Admission::add_memory(Admitted &path, u64 bytes)
{
	return entries_.with([&](List &entries) -> Status {
		TRY(admit(entries, {path, 0, bytes, false}));
		path.bytes += bytes;
		return {};
	});
}

Status Admission::enter_memory(Admitted &session)
{
	return entries_.with([&](List &entries) -> Status {
		if (session.node.linked())
			return {};
		TRY(admit(entries, {session, 0, session.bytes, false}));
		entries.push_back(session);
		return {};
	});
}

Status Admission::fits(const Source &source, bool stranger, u64 bytes)
{
	Admitted asks;
	asks.source = source;
	asks.stranger = stranger;
	return entries_.with(
	    [&](List &entries) { return admit(entries, {asks, 0, bytes, false}); });
}

void Admission::make_room(const Source &source)
{
	Admitted asks;
	asks.source = source;
	entries_.with([&](List &entries) {
		(void)make_room(entries, {asks, 0, 0, false}, Quota::HalfOpenOfHost);
	});
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
		path.half_open = false;
		path.give_way = nullptr;
	});
}

void Admission::leave(Admitted &entry)
{
	entries_.with([&](List &entries) {
		if (entry.node.linked())
			entries.remove(entry);
	});
}

} // namespace rtrs::server
