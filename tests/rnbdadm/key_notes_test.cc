// SPDX-License-Identifier: GPL-2.0
// Numbers of keys that were there once, and do not come back.
#include "fake.hh"

#include "key_files.hh"

#include <sys/stat.h>

namespace {

bool has(const std::string &text, const std::string &part)
{
	return text.find(part) != std::string::npos;
}

class RnbdadmKeyNotes : public testing::Test {
protected:
	RnbdadmKeyNotes() { fs::create_directories(host.place("/etc/rnbd")); }

	Outcome key(const std::string &line, int code = 0)
	{
		Outcome o = run_line(host, "key " + line);
		EXPECT_EQ(o.code, code) << line << "\n" << o.out << o.err;
		return o;
	}

	FakeHost host;
};

} // namespace

// Who has a secret that was removed is never taken for who has a new one.
TEST_F(RnbdadmKeyNotes, NumbersDoNotComeBack)
{
	for (const char *line : {"generate vm", "generate vm", "generate web.1", "load"})
		key(line);
	key("remove vm --all --force");
	EXPECT_TRUE(has(key("generate vm").out, "key vm:3 in "));
	key("remove vm:3 --force");
	const Outcome o = key("generate vm --generation 3", 5);
	EXPECT_TRUE(has(o.err, "key vm has had generation 3 before")) << o.err;
	EXPECT_TRUE(has(key("generate vm").out, "key vm:4 in "));
	EXPECT_TRUE(has(key("generate web.1").out, "key web.1:2 in "));
	// Of keys that were there before there was a note, the first removal makes one.
	fs::remove(host.place(rnbdadm::kKeyNotes));
	key("remove vm:4 --force");
	EXPECT_TRUE(has(key("generate vm").out, "key vm:5 in "));
}

// What others could write, or what is damaged, is not believed.
TEST_F(RnbdadmKeyNotes, OnlyWhatCanBeTrusted)
{
	key("generate vm");
	const std::string notes = host.place(rnbdadm::kKeyNotes);
	chmod(notes.c_str(), 0666);
	EXPECT_TRUE(has(key("generate vm", 11).err, "keys.last: others than its owner"));
	host.put(rnbdadm::kKeyNotes, "vm x");
	chmod(notes.c_str(), 0600);
	EXPECT_TRUE(has(key("generate vm", 11).err, "'vm x' is no name of a key"));
}
