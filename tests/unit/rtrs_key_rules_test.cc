// SPDX-License-Identifier: GPL-2.0
// Descriptions of keys, secrets, which names a key opens, and how many proofs may fail (J.3).
#include <rtrs/pure/failure_limit.hh>
#include <rtrs/pure/key_description.hh>
#include <rtrs/pure/key_rules.hh>
#include <rtrs/pure/key_search.hh>

#include <map>

using namespace rtrs;

namespace {

int description_code(std::string_view t)
{
	return code(parse_key_description(text(t)));
}

std::string written(const KeyId &id)
{
	char memory[kKeyDescriptionSize];
	cxxrt::TextWriter out(memory, sizeof(memory));
	write_key_description(out, id.name, id.generation);
	EXPECT_FALSE(out.truncated());
	return str(out.text());
}

Bytes random_secret()
{
	return hex("dfc0e97ca3f0b2e6fcdb4e0e76f8fb17aa9af8305cbe43121f4d276453fda8b0");
}

// What is there, with what reading it says. The generation that is found, or an error's code.
long latest(const std::map<unsigned, int> &keys, unsigned known = 0)
{
	const auto found = find_latest_generation({known}, [&](KeyGeneration g) {
		EXPECT_NE(g.value, 0u) << "generations begin at 1";
		const auto key = keys.find(g.value);
		return key == keys.end() ? Status(err::enokey) : Status::from_code(key->second);
	});
	return found.ok() ? static_cast<long>(found.value().value) : found.code();
}

using Rules = std::vector<std::pair<std::string, std::string>>;

bool open_to(const Rules &rules, const std::string &key, const std::string &session)
{
	return name_open_to(text(key), text(session), [&](auto &&f) {
		for (const auto &[name, list] : rules)
			f(KeyRule{text(name), text(list)});
	});
}

bool is_bound(const Rules &rules, const std::string &key, const std::string &session)
{
	return name_is_bound(text(key), text(session), [&](auto &&f) {
		for (const auto &[name, list] : rules)
			f(KeyRule{text(name), text(list)});
	});
}

using Limit = FailureLimit<4, 3>;

constexpr u64 kStrangersTime = kStrangersAtOnce * kMsPerStranger;

Limit::Address host(unsigned char last)
{
	Limit::Address a{};
	a.bytes[15] = last;
	return a;
}

} // namespace

TEST(KeyDescription, IsReadAsWritten)
{
	for (const char *description : {"rnbd:a:1", "rnbd:store-1.site_b:4096", "rnbd:0:10"}) {
		Result<KeyId> id = parse_key_description(TextView::of(description));
		ASSERT_TRUE(id.ok()) << description;
		EXPECT_EQ(written(id.value()), description);
	}
	// A peer may name a generation that no key has.
	const std::string name(63, 'k');
	const std::string longest = "rnbd:" + name + ":4294967295";
	EXPECT_EQ(written({KeyName::from(text(name)).value(), {0xffffffff}}), longest);
	EXPECT_EQ(longest.size() + 1, kKeyDescriptionSize);
}

TEST(KeyDescription, Refusals)
{
	for (const char *bad :
	     {"", "rnbd:", "rnbd::1", "rnbd:a", "rnbd:a:", "rnbd:a:0", "rnbd:a:01", "rnbd:a:0x1",
	      "rnbd:a:+1", "rnbd:a:-1", "rnbd:a:1 ", "rnbd:a:1\n", "rnbd:a:1:2", "rnbd:a b:1",
	      "RNBD:a:1", "nvme:a:1", " rnbd:a:1", "rnbd:-a:1", "rnbd:a:1x"})
		EXPECT_EQ(description_code(bad), err::einval.code()) << bad;
	EXPECT_EQ(description_code("rnbd:a:4097"), err::erange.code());
	EXPECT_EQ(description_code("rnbd:a:4294967296"), err::erange.code());
	EXPECT_EQ(description_code("rnbd:a:99999999999999999999"), err::erange.code());
	EXPECT_EQ(description_code("rnbd:" + std::string(64, 'k') + ":1"), err::einval.code());
}

TEST(KeyDescription, GenerationsCountUp)
{
	EXPECT_TRUE(is_newer({2}, {1}));
	EXPECT_FALSE(is_newer({2}, {2}));
	EXPECT_TRUE(is_newer({0xffffffff}, {1}));
}

TEST(KeySearch, FindsTheLatestOfAll)
{
	EXPECT_EQ(latest({}), err::enokey.code());
	EXPECT_EQ(latest({{1, 0}}), 1);
	// However many there were before: a client that comes anew has known none.
	EXPECT_EQ(latest({{65, 0}}), 65);
	EXPECT_EQ(latest({{66, 0}, {4096, 0}}), 4096);
	EXPECT_EQ(latest({{4097, 0}}), err::enokey.code());
}

TEST(KeySearch, GoesOnFromWhatWasKnown)
{
	EXPECT_EQ(latest({{7, 0}, {8, 0}}, 7), 8);
	EXPECT_EQ(latest({{71, 0}}, 7), 71);
	EXPECT_EQ(latest({{71, 0}, {135, 0}}, 7), 135);
	EXPECT_EQ(latest({{7, 0}, {72, 0}}, 7), 7);
	EXPECT_EQ(latest({{1, 0}, {65, 0}, {129, 0}}), 129);
	EXPECT_EQ(latest({{4096, 0}}, 4090), 4096);
	// It was taken back, or the name stands for new ones.
	EXPECT_EQ(latest({{2, 0}}, 7), 2);
	EXPECT_EQ(latest({{72, 0}}, 7), 72);
	EXPECT_EQ(latest({{1, 0}}, 0xffffffff), 1);
	EXPECT_EQ(latest({{1, 0}}, 4096), 1);
}

TEST(KeySearch, SaysWhatIsWrongWithTheNewest)
{
	EXPECT_EQ(latest({{1, err::ekeyexpired.code()}, {2, err::ekeyrevoked.code()}}),
		  err::ekeyrevoked.code());
	EXPECT_EQ(latest({{1, err::ekeyrevoked.code()}, {2, err::ekeyexpired.code()}}, 1),
		  err::ekeyexpired.code());
	EXPECT_EQ(latest({{1, 0}, {2, err::ekeyexpired.code()}}, 2), 1);
}

TEST(KeySearch, IsBounded)
{
	unsigned calls = 0;
	const auto none = [&](KeyGeneration) -> Status {
		calls++;
		return err::enokey;
	};
	(void)find_latest_generation({0xffffffff}, none);
	EXPECT_EQ(calls, kLastGeneration);
	calls = 0;
	(void)find_latest_generation({1}, none);
	EXPECT_EQ(calls, kLastGeneration + kGenerationsAhead + 1);
}

TEST(Secret, LengthIsExact)
{
	Bytes secret = random_secret();
	EXPECT_TRUE(check_secret(view(secret)).ok());
	for (std::size_t size : {0, 1, 31, 33, 64}) {
		Bytes other = secret;
		other.resize(size, 0x77);
		EXPECT_EQ(code(check_secret(view(other))), err::einval.code()) << size;
	}
}

TEST(Secret, LooksLikeChance)
{
	EXPECT_FALSE(check_secret(view(Bytes(32))).ok());
	const std::string typed = "correct horse battery staple 123";
	ASSERT_EQ(typed.size(), 32u);
	Bytes secret(typed.begin(), typed.end());
	EXPECT_FALSE(check_secret(view(secret)).ok());
	secret[5] = 0x80; // not typed, and of enough letters
	EXPECT_TRUE(check_secret(view(secret)).ok());
	// 16 different bytes are enough, 15 are not.
	for (unsigned different : {15u, 16u}) {
		for (unsigned i = 0; i < 32; i++)
			secret[i] = static_cast<unsigned char>(0x90 + i % different);
		EXPECT_EQ(check_secret(view(secret)).ok(), different == 16);
	}
}

TEST(KeyRules, WithoutAnyEverythingIsOpen)
{
	EXPECT_TRUE(open_to({}, "", "web"));
	EXPECT_TRUE(open_to({}, "k", "web"));
	EXPECT_TRUE(open_to({{"k", ""}}, "", "web"));
}

TEST(KeyRules, NamesOfAKeyAreItsOwn)
{
	const Rules rules = {{"a", "web-* db"}, {"b", "mail"}, {"c", ""}, {"d", "db"}};
	const struct {
		const char *key, *session;
		bool open;
	} cases[] = {
	    {"a", "web-1", true}, {"a", "db", true},	 {"a", "mail", false},
	    {"a", "x", false},	  {"b", "web-1", false}, {"b", "mail", true},
	    {"b", "x", false},	  {"c", "web-1", false}, {"c", "x", true},
	    {"c", "mail", false}, {"d", "db", true},	 {"d", "web-1", false},
	    {"", "web-1", false}, {"", "mail", false},	 {"", "x", true},
	    {"new", "x", true},	  {"new", "db", false},	 {"", "web", true},
	};
	for (const auto &c : cases)
		EXPECT_EQ(open_to(rules, c.key, c.session), c.open)
		    << c.key << " opens " << c.session;
}

TEST(KeyRules, AsteriskAloneIsEverything)
{
	EXPECT_FALSE(open_to({{"a", "*"}}, "", "x"));
	EXPECT_FALSE(open_to({{"a", "*"}}, "b", "x"));
	EXPECT_TRUE(open_to({{"a", "*"}}, "a", "x"));
}

TEST(KeyRules, NamesThatAreMoreThanAWord)
{
	const Rules rules = {{"a", "web-* db"}, {"b", ""}};
	const struct {
		const char *key, *session;
		bool bound;
	} cases[] = {
	    {"a", "web-1", true}, {"a", "db", true}, {"a", "x", false},	    {"b", "b", true},
	    {"b", "x", false},	  {"c", "c", true},  {"c", "web-1", false}, {"", "x", false},
	    {"", "db", false},	  {"", "", false},
	};
	for (const auto &c : cases)
		EXPECT_EQ(is_bound(rules, c.key, c.session), c.bound)
		    << c.key << " and " << c.session;
}

TEST(KeyRules, Lists)
{
	for (const char *good : {"", "a", "a b\nc*", "*", " a* "})
		EXPECT_TRUE(check_session_list(TextView::of(good)).ok()) << good;
	for (const char *bad : {"a/b", "a.b", "ctl", "a **/", "a b.*"})
		EXPECT_EQ(code(check_session_list(TextView::of(bad))), err::einval.code()) << bad;
	EXPECT_FALSE(check_session_list(text(std::string(255, 'n'))).ok());
	EXPECT_TRUE(check_session_list(text(std::string(254, 'n'))).ok());
}

TEST(FailureLimit, TakesSoManyAtOnce)
{
	Limit limit;
	for (u32 i = 0; i < kFailuresAtOnce; i++) {
		EXPECT_TRUE(limit.allows(host(1), 1000, {}));
		EXPECT_TRUE(limit.failed(host(1), 1000));
	}
	EXPECT_FALSE(limit.allows(host(1), 1000, {}));
	EXPECT_FALSE(limit.failed(host(1), 1000));
	EXPECT_TRUE(limit.allows(host(2), 1000, {}));
}

TEST(FailureLimit, TimeGivesBack)
{
	Limit limit;
	for (u32 i = 0; i < 2 * kFailuresAtOnce; i++)
		(void)limit.failed(host(1), 5000);
	EXPECT_FALSE(limit.allows(host(1), 5000 + kMsPerFailure - 1, {}));
	EXPECT_TRUE(limit.allows(host(1), 5000 + kMsPerFailure, {}));
	EXPECT_TRUE(limit.failed(host(1), 5000 + kMsPerFailure));
	EXPECT_FALSE(limit.allows(host(1), 5000 + 2 * kMsPerFailure - 1, {}));
	EXPECT_TRUE(limit.allows(host(1), 5000 + 2 * kMsPerFailure, {}));
	// After a pause all of them are there again, and no more than these.
	const u64 later = 5000 + 1000 * kMsPerFailure;
	for (u32 i = 0; i < kFailuresAtOnce; i++)
		EXPECT_TRUE(limit.failed(host(1), later));
	EXPECT_FALSE(limit.allows(host(1), later, {}));
}

// However a flood is spread over time, it gets no more than what time gives back.
TEST(FailureLimit, FloodIsBounded)
{
	for (u64 step : {1, 7, 333, 1999, 2000}) {
		Limit limit;
		u64 failed = 0;
		const u64 end = 200 * kMsPerFailure;
		for (u64 now = 0; now < end; now += step)
			if (limit.allows(host(9), now, {})) {
				(void)limit.failed(host(9), now);
				failed++;
			}
		EXPECT_LE(failed, kFailuresAtOnce + 200) << step;
		EXPECT_GE(failed, 199u) << step;
	}
}

// Who has failed gets no more by asking for all of it at once, and who has not is not held up.
TEST(FailureLimit, WhatIsAskedForMayFail)
{
	Limit limit;
	EXPECT_TRUE(limit.allows(host(1), 1000, {.same = kAskingAtOnce - 1}));
	EXPECT_FALSE(limit.allows(host(1), 1000, {.same = kAskingAtOnce}));
	(void)limit.failed(host(1), 1000);
	EXPECT_TRUE(limit.allows(host(1), 1000, {.same = kFailuresAtOnce - 2}));
	EXPECT_FALSE(limit.allows(host(1), 1000, {.same = kFailuresAtOnce - 1}));
	EXPECT_TRUE(limit.allows(host(2), 1000, {.same = kFailuresAtOnce}));
	for (u32 i = 1; i < kFailuresAtOnce; i++)
		(void)limit.failed(host(1), 1000);
	// One is given back, and one may ask; an attempt that goes on asks for nothing new.
	EXPECT_TRUE(limit.allows(host(1), 1000 + kMsPerFailure, {}));
	EXPECT_FALSE(limit.allows(host(1), 1000 + kMsPerFailure, {.same = 1}));
	EXPECT_TRUE(limit.allows_more(host(1), 1000 + kMsPerFailure));
	// When all of them are, it is like one that never failed.
	EXPECT_TRUE(limit.allows(host(1), 1000 + kFailuresAtOnce * kMsPerFailure,
				 {.same = kFailuresAtOnce}));
}

TEST(FailureLimit, TimeThatComesLateGivesNothingBack)
{
	Limit limit;
	for (u32 i = 0; i < kFailuresAtOnce; i++)
		(void)limit.failed(host(1), 9000 - i);
	EXPECT_FALSE(limit.allows(host(1), 100, {}));
	EXPECT_FALSE(limit.failed(host(1), 0));
	EXPECT_FALSE(limit.allows(host(1), 9000, {}));
}

TEST(FailureLimit, WhoNeedsItLeastMakesRoom)
{
	Limit limit;
	for (unsigned char i = 1; i <= 4; i++)
		for (u32 n = 0; n < kFailuresAtOnce; n++)
			(void)limit.failed(host(i), i == 3 ? 0 : 4 * kMsPerFailure);
	const u64 now = 4 * kMsPerFailure;
	(void)limit.failed(host(5), now);
	EXPECT_TRUE(limit.allows(host(3), now, {}));
	for (unsigned char i : {1, 2, 4})
		EXPECT_FALSE(limit.allows(host(i), now, {}));
	// A host that is forgotten has all its failures left.
	for (u32 n = 1; n < kFailuresAtOnce; n++)
		EXPECT_TRUE(limit.failed(host(5), now));
	EXPECT_FALSE(limit.allows(host(5), now, {}));
}

// Whoever has many addresses gets no more from all of them than what strangers get together.
TEST(FailureLimit, ManyStrangersAreBounded)
{
	Limit limit;
	u64 failed = 0;
	const u64 end = 100 * kStrangersTime;
	for (u64 now = 0; now < end; now += 3) {
		const auto from = host(static_cast<unsigned char>(now / 3 % 251));
		if (limit.allows(from, now, {})) {
			(void)limit.failed(from, now);
			failed++;
		}
	}
	EXPECT_LE(failed, kStrangersAtOnce + end / kMsPerStranger);
	EXPECT_GE(failed, end / kMsPerStranger);
}

TEST(FailureLimit, WhatStrangersAskForMayFail)
{
	Limit limit;
	// All clients of a server that is back.
	EXPECT_TRUE(limit.allows(host(1), 0, {.same = 1, .strangers = 10 * kStrangersAtOnce}));
	(void)limit.failed(host(2), 0);
	EXPECT_TRUE(limit.allows(host(1), 0, {.same = 1, .strangers = kStrangersAtOnce - 2}));
	EXPECT_FALSE(limit.allows(host(1), 0, {.same = 1, .strangers = kStrangersAtOnce - 1}));
	EXPECT_TRUE(limit.allows_more(host(1), 0));
}

TEST(FailureLimit, WhoHasProvenItIsKeptOutByNobody)
{
	Limit limit;
	limit.proven(host(1), 0);
	limit.proven(host(2), 1);
	EXPECT_FALSE(limit.is_stranger(host(1)));
	EXPECT_TRUE(limit.is_stranger(host(9)));
	for (u32 i = 0; i < kStrangersAtOnce; i++)
		(void)limit.failed(host(static_cast<unsigned char>(10 + i % 200)), 2);
	EXPECT_FALSE(limit.allows(host(9), 2, {}));
	EXPECT_TRUE(limit.allows(host(9), 2 + kMsPerStranger, {}));
	EXPECT_TRUE(limit.allows(host(1), 2, {.same = 1, .strangers = kStrangersAtOnce}));
	// What fails in its name neither locks it out, whoever sent it, nor counts for strangers.
	for (u32 i = 0; i < 2 * kFailuresAtOnce; i++)
		(void)limit.failed(host(1), 2);
	EXPECT_TRUE(limit.allows(host(1), 2, {.same = kAskingAtOnce}));
	EXPECT_TRUE(limit.allows_more(host(1), 2));
	EXPECT_TRUE(limit.allows(host(9), 2 + kMsPerStranger, {}));
}

// Of a network's hosts none is taken for another by what it writes.
TEST(FailureLimit, ANeighbourIsNotAnother)
{
	Limit limit;
	Limit::Address named = host(1);
	named.neighbour[5] = 7;
	for (u32 i = 0; i < kFailuresAtOnce; i++)
		(void)limit.failed(named, 0);
	EXPECT_FALSE(limit.allows(named, 0, {}));
	EXPECT_TRUE(limit.allows(host(1), 0, {}));
}

TEST(FailureLimit, WhoHasNotComeForLongestIsAStrangerAgain)
{
	Limit limit;
	for (unsigned char i = 1; i <= 3; i++)
		limit.proven(host(i), i);
	limit.proven(host(1), 4);
	limit.proven(host(4), 5);
	EXPECT_TRUE(limit.is_stranger(host(2)));
	for (unsigned char i : {1, 3, 4})
		EXPECT_FALSE(limit.is_stranger(host(i)));
}
