// SPDX-License-Identifier: GPL-2.0
// Two devices of a session never have one link below /dev/rnbd/by-session: who has it would change
// with each event.
#include "fake.hh"

namespace {

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

} // namespace

TEST(RnbdadmLink, TheSecondIsRefused)
{
	const std::pair<const char *, const char *> pairs[] = {{"x%z+y", "x_z+y"},
							       {"x_z", "x~z"},
							       {"/dev/a", "dev/a"},
							       {"a*b", "a?b"},
							       {"a//b", "a/b"}};
	for (const auto &[first, second] : pairs) {
		FakeHost host;
		host.client();
		EXPECT_EQ(run_words(host, {"map", first, "-s", "store"}).code, 0) << first;
		const std::size_t written = host.writes.size();
		Outcome o = run_words(host, {"map", second, "-s", "store"});
		EXPECT_EQ(o.code, 5) << second;
		EXPECT_TRUE(has(o.err, "would have the same link as /dev/rnbd2, "
				       "/dev/rnbd/by-session/store/"))
		    << o.err;
		EXPECT_TRUE(has(o.err, "another session")) << o.err;
		EXPECT_EQ(host.writes.size(), written);
		// Each session has links of its own.
		EXPECT_EQ(run_words(host, {"map", second, "-s", "t", "-p", "10.0.0.9"}).code, 0);
	}
	FakeHost host;
	host.client();
	for (const char *word :
	     {"x-1", "x_1", "x+1", "x.1", "x:1", "x=1", "x@1", "x#1", "\u00e4", "\u00f6"})
		EXPECT_EQ(run_words(host, {"map", word, "-s", "store"}).code, 0) << word;
}

TEST(RnbdadmLink, AMistakeOfTheConfiguration)
{
	FakeHost host;
	host.put("/etc/rnbd/rnbd.conf", "[session s]\npath = 10.0.0.1\n"
					"[device a]\nsession = s\ndevice = x%z+y\n"
					"[device b]\nsession = s\ndevice = x_z+y\n");
	Outcome o = run_line(host, "check");
	EXPECT_EQ(o.code, 11);
	EXPECT_TRUE(has(o.out, "rnbd.conf:6: device b would have the same link as a, "
			       "/dev/rnbd/by-session/s/x_z+y"))
	    << o.out;
}
