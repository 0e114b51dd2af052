// SPDX-License-Identifier: GPL-2.0
// Multipath policies: their names and their choice (protocol B.5, F.1). Pure.
#pragma once

#include <cxxrt/text.hh>
#include <rtrs/wire/constants.hh>
#include <rtrs/wire/units.hh>

namespace rtrs {

enum class Policy : u8 {
	RoundRobin = 0,
	MinInflight = 1,
	MinLatency = 2,
};

constexpr Policy kDefaultPolicy = Policy::MinInflight;
constexpr u32 kPolicies = 3;

// As sysfs shows it, without newline.
constexpr const char *to_text(Policy p)
{
	switch (p) {
	case Policy::RoundRobin:
		return "round-robin (RR: 0)";
	case Policy::MinInflight:
		return "min-inflight (MI: 1)";
	case Policy::MinLatency:
		return "min-latency (ML: 2)";
	}
	return "?";
}

// A number, a short name, or a prefix of a long name (the first of two that fit), each in upper or
// lower case, with an optional newline. EINVAL.
constexpr Result<Policy> parse_policy(TextView input)
{
	constexpr TextView kLong[kPolicies] = {"round-robin", "min-inflight", "min-latency"};
	constexpr TextView kShort[kPolicies] = {"rr", "mi", "ml"};
	constexpr TextView kNumber[kPolicies] = {"0", "1", "2"};

	TextView t = cxxrt::trim_newline(input);
	if (t.empty())
		return err::einval;
	for (u32 i = 0; i < kPolicies; i++)
		if (t == kNumber[i] || cxxrt::equal_ignoring_case(t, kShort[i]))
			return static_cast<Policy>(i);
	for (u32 i = 0; i < kPolicies; i++)
		if (t.size() <= kLong[i].size() &&
		    cxxrt::equal_ignoring_case(t, kLong[i].first(t.size())))
			return static_cast<Policy>(i);
	return err::einval;
}

// Which paths of a session one request has tried, by their index in it.
class TriedPaths {
public:
	constexpr void add(u32 index)
	{
		if (index < kMaxPaths)
			words_[index / 64] |= u64{1} << (index % 64);
	}
	constexpr bool has(u32 index) const
	{
		return index < kMaxPaths && (words_[index / 64] >> (index % 64) & 1);
	}

private:
	u64 words_[kMaxPaths / 64] = {};
};

namespace detail {
template <class T> constexpr T *path_of(T &path)
{
	return &path;
}
template <class T> constexpr T *path_of(T *path)
{
	return path;
}
} // namespace detail

// `paths` of the choice functions is anything that a range-for can walk, of paths or of pointers
// to them; it may change meanwhile, as a list under RCU does. usable(path) says whether the path
// may be used (CONNECTED, not tried). They return a pointer to the path, or nullptr if none is
// usable.

// The first usable path behind `last`, wrapping around; the first usable one if `last` is not in
// the range. `last` is compared and never dereferenced, so it may be stale.
template <class Range, class Usable>
constexpr auto choose_round_robin(Range &&paths, const void *last, Usable &&usable)
    -> decltype(detail::path_of(*paths.begin()))
{
	decltype(detail::path_of(*paths.begin())) first = nullptr;
	bool behind = false;
	for (auto &&element : paths) {
		auto path = detail::path_of(element);
		if (usable(*path)) {
			if (behind)
				return path;
			if (!first)
				first = path;
		}
		if (path == last)
			behind = true;
	}
	return first;
}

// The usable path with the smallest load(path); of equals the first one behind `last` in a circle,
// so that those who have little on its way use all paths, too. `last` may be gone. For
// min-inflight.
template <class Range, class Usable, class Load>
constexpr auto choose_least_in_turn(Range &&paths, const void *last, Usable &&usable, Load &&load)
    -> decltype(detail::path_of(*paths.begin()))
{
	decltype(detail::path_of(*paths.begin())) best = nullptr;
	u64 best_load = 0;
	// True if none can be better: a path without a load, as none before it in the circle is.
	const auto is_best = [&](auto path) {
		if (!usable(*path))
			return false;
		const u64 value = static_cast<u64>(load(*path));
		if (!best || value < best_load) {
			best = path;
			best_load = value;
		}
		return value == 0;
	};
	auto at = paths.begin();
	const auto end = paths.end();
	while (at != end && detail::path_of(*at) != last)
		++at;
	if (at != end)
		for (++at; at != end; ++at)
			if (is_best(detail::path_of(*at)))
				return best;
	for (auto &&element : paths) {
		auto path = detail::path_of(element);
		if (is_best(path) || path == last)
			break;
	}
	return best;
}

// The usable path with the smallest load(path), the first of equals.
template <class Range, class Usable, class Load>
constexpr auto choose_least(Range &&paths, Usable &&usable, Load &&load)
    -> decltype(detail::path_of(*paths.begin()))
{
	decltype(detail::path_of(*paths.begin())) best = nullptr;
	u64 best_load = 0;
	for (auto &&element : paths) {
		auto path = detail::path_of(element);
		if (!usable(*path))
			continue;
		u64 value = static_cast<u64>(load(*path));
		if (!best || value < best_load) {
			best = path;
			best_load = value;
		}
	}
	return best;
}

// As choose_least, but 0 means "not measured yet" and loses against every measurement, so that a
// new path does not attract all traffic (protocol G.3-16). For min-latency.
template <class Range, class Usable, class Latency>
constexpr auto choose_fastest(Range &&paths, Usable &&usable, Latency &&latency)
    -> decltype(detail::path_of(*paths.begin()))
{
	return choose_least(paths, usable, [&](const auto &path) -> u64 {
		u64 value = static_cast<u64>(latency(path));
		return value ? value : ~u64{0};
	});
}

} // namespace rtrs
