// SPDX-License-Identifier: GPL-2.0
// Multipath policies (protocol B.5, F.1).
#include <rtrs/pure/policy.hh>
#include <rtrs/pure/sysfs_text.hh>

#include <list>

using namespace rtrs;

namespace {
struct Path {
	bool up;
	u64 load;
};

auto usable = [](const Path &p) {
	return p.up;
};
auto load = [](const Path &p) {
	return p.load;
};

int policy_code(std::string_view input)
{
	Result<Policy> r = parse_policy(text(input));
	return r.ok() ? static_cast<int>(r.value()) : r.code();
}
} // namespace

TEST(Policy, Texts)
{
	EXPECT_STREQ(to_text(Policy::RoundRobin), "round-robin (RR: 0)");
	EXPECT_STREQ(to_text(Policy::MinInflight), "min-inflight (MI: 1)");
	EXPECT_STREQ(to_text(Policy::MinLatency), "min-latency (ML: 2)");
}

TEST(Policy, Input)
{
	const struct {
		const char *input;
		int policy;
	} cases[] = {
	    {"0", 0},
	    {"1", 1},
	    {"2", 2},
	    {"2\n", 2},
	    {"rr", 0},
	    {"mi", 1},
	    {"ml", 2},
	    {"RR\n", 0},
	    {"round-robin", 0},
	    {"min-inflight", 1},
	    {"min-latency", 2},
	    {"ROUND-Robin\n", 0},
	    {"r", 0},
	    {"round", 0},
	    {"m", 1},
	    {"min-", 1},
	    {"min-l", 2},
	    {"MIN-LAT", 2},
	    {"", -22},
	    {"\n", -22},
	    {"3", -22},
	    {"00", -22},
	    {"-1", -22},
	    {"x", -22},
	    {"round-robin2", -22},
	    {"round robin", -22},
	    {"rr ", -22},
	    {" rr", -22},
	    {"min-inflightX", -22},
	    {"l", -22},
	    {"rr\n\n", -22},
	};
	for (const auto &c : cases)
		EXPECT_EQ(policy_code(c.input), c.policy) << c.input;
}

TEST(Policy, EveryPrefixOfALongName)
{
	const std::string names[] = {"round-robin", "min-inflight", "min-latency"};
	for (int i = 0; i < 3; i++) {
		for (std::size_t n = 1; n <= names[i].size(); n++) {
			int expected = i == 2 && n <= 4 ? 1 : i; // "min-" fits both
			EXPECT_EQ(policy_code(names[i].substr(0, n)), expected) << names[i] << n;
		}
	}
}

TEST(RoundRobin, GoesAround)
{
	std::list<Path> paths = {{true, 0}, {true, 0}, {true, 0}};
	const void *last = nullptr;
	std::vector<const Path *> order;
	for (int i = 0; i < 7; i++) {
		Path *p = choose_round_robin(paths, last, usable);
		order.push_back(p);
		last = p;
	}
	auto at = [&](int i) {
		return &*std::next(paths.begin(), i);
	};
	EXPECT_EQ(order,
		  (std::vector<const Path *>{at(0), at(1), at(2), at(0), at(1), at(2), at(0)}));
}

TEST(RoundRobin, SkipsWhatIsDown)
{
	std::vector<Path> paths = {{true, 0}, {false, 0}, {true, 0}, {false, 0}};
	EXPECT_EQ(choose_round_robin(paths, nullptr, usable), &paths[0]);
	EXPECT_EQ(choose_round_robin(paths, &paths[0], usable), &paths[2]);
	EXPECT_EQ(choose_round_robin(paths, &paths[1], usable), &paths[2]);
	EXPECT_EQ(choose_round_robin(paths, &paths[2], usable), &paths[0]);
	EXPECT_EQ(choose_round_robin(paths, &paths[3], usable), &paths[0]);
	paths[0].up = false;
	EXPECT_EQ(choose_round_robin(paths, &paths[2], usable), &paths[2]);
	paths[2].up = false;
	EXPECT_EQ(choose_round_robin(paths, &paths[2], usable), nullptr);
}

TEST(RoundRobin, StaleLastStartsAgain)
{
	std::vector<Path> paths = {{true, 0}, {true, 0}};
	Path gone{true, 0};
	EXPECT_EQ(choose_round_robin(paths, &gone, usable), &paths[0]);
	std::vector<Path> none;
	EXPECT_EQ(choose_round_robin(none, &gone, usable), nullptr);
}

TEST(RoundRobin, WorksOnPointers)
{
	Path a{true, 1}, b{true, 0};
	std::vector<Path *> paths = {&a, &b};
	EXPECT_EQ(choose_round_robin(paths, &a, usable), &b);
	EXPECT_EQ(choose_least(paths, usable, load), &b);
	EXPECT_EQ(choose_fastest(paths, usable, load), &a);
}

TEST(MinInflight, SmallestAndFirstOfEquals)
{
	std::vector<Path> paths = {{true, 5}, {true, 3}, {true, 3}, {false, 0}};
	EXPECT_EQ(choose_least(paths, usable, load), &paths[1]);
	paths[1].up = false;
	EXPECT_EQ(choose_least(paths, usable, load), &paths[2]);
	paths[2].up = false;
	EXPECT_EQ(choose_least(paths, usable, load), &paths[0]);
	paths[0].up = false;
	EXPECT_EQ(choose_least(paths, usable, load), nullptr);
	// Even the largest load is chosen if there is no other.
	std::vector<Path> full = {{true, ~0ull}};
	EXPECT_EQ(choose_least(full, usable, load), &full[0]);
}

TEST(MinInflight, EqualsTakeTurns)
{
	std::vector<Path> paths = {{true, 0}, {true, 0}, {true, 0}};
	const auto next = [&](const Path *last) {
		return choose_least_in_turn(paths, last, usable, load);
	};
	EXPECT_EQ(next(nullptr), &paths[0]);
	EXPECT_EQ(next(&paths[0]), &paths[1]);
	EXPECT_EQ(next(&paths[1]), &paths[2]);
	EXPECT_EQ(next(&paths[2]), &paths[0]);
	// Those with less come before a turn.
	paths[0].load = 1;
	EXPECT_EQ(next(&paths[2]), &paths[1]);
	paths[1].load = 1;
	EXPECT_EQ(next(&paths[2]), &paths[2]);
	paths[2].up = false;
	EXPECT_EQ(next(&paths[2]), &paths[0]);
	EXPECT_EQ(next(&paths[0]), &paths[1]);
	Path gone{true, 0};
	EXPECT_EQ(next(&gone), &paths[0]);
	paths[0].up = paths[1].up = false;
	EXPECT_EQ(next(&paths[0]), nullptr);
}

// Who has one request at a time pays for one path, however many there are.
TEST(MinInflight, AnIdlePathInTurnEndsTheSearch)
{
	std::vector<Path> paths = {{true, 0}, {true, 0}, {false, 0}, {true, 0}, {true, 3}};
	unsigned looks = 0;
	const auto next = [&](const Path *last) {
		looks = 0;
		return choose_least_in_turn(paths, last, usable, [&](const Path &path) {
			looks++;
			return path.load;
		});
	};
	EXPECT_EQ(next(&paths[0]), &paths[1]);
	EXPECT_EQ(looks, 1u);
	EXPECT_EQ(next(&paths[1]), &paths[3]);
	EXPECT_EQ(looks, 1u);
	EXPECT_EQ(next(&paths[3]), &paths[0]);
	EXPECT_EQ(looks, 2u);
	// With no idle one each is looked at once, the last one too.
	for (Path &path : paths)
		path.load += 2;
	paths[3].load = 1;
	EXPECT_EQ(next(&paths[3]), &paths[3]);
	EXPECT_EQ(looks, 4u);
}

TEST(MinLatency, UnmeasuredPathsLose)
{
	std::vector<Path> paths = {{true, 0}, {true, 900}, {true, 700}};
	EXPECT_EQ(choose_fastest(paths, usable, load), &paths[2]);
	paths[2].up = false;
	EXPECT_EQ(choose_fastest(paths, usable, load), &paths[1]);
	paths[1].up = false;
	EXPECT_EQ(choose_fastest(paths, usable, load), &paths[0]);
}

TEST(TriedPaths, EachPathOnce)
{
	TriedPaths tried;
	for (u32 i = 0; i < kMaxPaths; i++) {
		EXPECT_FALSE(tried.has(i));
		tried.add(i);
		EXPECT_TRUE(tried.has(i));
	}
	TriedPaths one;
	one.add(64);
	for (u32 i = 0; i < kMaxPaths; i++)
		EXPECT_EQ(one.has(i), i == 64);
	one.add(kMaxPaths);
	EXPECT_FALSE(one.has(kMaxPaths));
}

TEST(SysfsInput, Reset)
{
	for (const char *good : {"0", "1", "0\n", "1\n"})
		EXPECT_TRUE(parse_reset(text(good)).ok());
	for (const char *bad : {"", "\n", "2", "00", "10", " 1", "1 "})
		EXPECT_EQ(code(parse_reset(text(bad))), -22) << bad;
}

TEST(SysfsInput, ReconnectAttempts)
{
	EXPECT_EQ(parse_reconnect_attempts("-1\n").value(), -1);
	EXPECT_EQ(parse_reconnect_attempts("0").value(), 0);
	EXPECT_EQ(parse_reconnect_attempts("9999").value(), 9999);
	EXPECT_EQ(code(parse_reconnect_attempts("-2")), -22);
	EXPECT_EQ(code(parse_reconnect_attempts("10000")), -22);
	EXPECT_EQ(code(parse_reconnect_attempts("99999999999")), -34);
	EXPECT_EQ(code(parse_reconnect_attempts("x")), -22);
	EXPECT_EQ(parse_request_timeout("0\n").value(), 0);
	EXPECT_EQ(parse_request_timeout("3600").value(), 3600);
	EXPECT_EQ(code(parse_request_timeout("-1")), -22);
	EXPECT_EQ(code(parse_request_timeout("3601")), -22);
	EXPECT_EQ(code(parse_request_timeout("99999999999")), -34);
	EXPECT_EQ(code(parse_request_timeout("60s")), -22);
}

TEST(SysfsInput, Heartbeat)
{
	EXPECT_EQ(parse_heartbeat_interval("100\n").value(), 100);
	EXPECT_EQ(parse_heartbeat_interval("60000").value(), 60000);
	for (const char *bad : {"99", "0", "-5000", "60001", "5s", "", "5000 "})
		EXPECT_EQ(code(parse_heartbeat_interval(text(bad))), -22) << bad;
	EXPECT_EQ(code(parse_heartbeat_interval("99999999999")), -34);
	EXPECT_EQ(parse_heartbeat_missed("1").value(), 1);
	EXPECT_EQ(parse_heartbeat_missed("100\n").value(), 100);
	for (const char *bad : {"0", "-1", "101", "x", ""})
		EXPECT_EQ(code(parse_heartbeat_missed(text(bad))), -22) << bad;
}
