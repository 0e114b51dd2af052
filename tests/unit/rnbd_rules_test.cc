// SPDX-License-Identifier: GPL-2.0
// Device paths, access rules, device states and link names (protocol E.1, E.2, F.3).
#include <rnbd/pure/access.hh>
#include <rnbd/pure/device_path.hh>
#include <rnbd/pure/device_state.hh>
#include <rnbd/pure/names.hh>

#include <set>
#include <utility>

using namespace rnbd;

namespace {
// The path, or the errno.
std::string compose(const std::string &search, const std::string &session, const std::string &name,
		    std::size_t room = kPathSize)
{
	std::vector<char> memory(room);
	cxxrt::TextWriter out(memory.data(), memory.size());
	Status s = write_device_path(out, text(search), text(session), text(name));
	return s.ok() ? str(out.text()) : std::to_string(s.code());
}
} // namespace

TEST(DevicePath, Joins)
{
	EXPECT_EQ(compose("/", "s", "dev/sda"), "/dev/sda");
	EXPECT_EQ(compose("/", "s", "/dev/sda"), "/dev/sda");
	EXPECT_EQ(compose("/dev/disks", "s", "a"), "/dev/disks/a");
	EXPECT_EQ(compose("/dev/disks/", "s", "/a"), "/dev/disks/a");
	EXPECT_EQ(compose("//dev///x//", "s", "//a///b"), "/dev/x/a/b");
}

TEST(DevicePath, SessionName)
{
	EXPECT_EQ(compose("/dev/%SESSNAME%", "blk", "a"), "/dev/blk/a");
	// What stands behind the token is kept.
	EXPECT_EQ(compose("/dev/%SESSNAME%/disks", "blk", "a"), "/dev/blk/disks/a");
	EXPECT_EQ(compose("/dev/x-%SESSNAME%-y/", "blk", "a"), "/dev/x-blk-y/a");
	EXPECT_EQ(compose("/%SESSNAME%/%SESSNAME%", "b", "a"), "/b/b/a");
	EXPECT_EQ(compose("/dev/%SESSNAME", "blk", "a"), "/dev/%SESSNAME/a");
	// Only the search path is searched for it.
	EXPECT_EQ(compose("/dev", "blk", "%SESSNAME%"), "/dev/%SESSNAME%");
	EXPECT_EQ(compose("/%SESSNAME%", "%SESSNAME%", "a"), "/%SESSNAME%/a");
}

TEST(DevicePath, WhetherItDependsOnTheSession)
{
	for (const char *path :
	     {"%SESSNAME%", "/dev/%SESSNAME%", "/x-%SESSNAME%/y", "/%%SESSNAME%"})
		EXPECT_TRUE(names_session(TextView::of(path))) << path;
	for (const char *path : {"", "/", "/dev", "/dev/%SESSNAME", "/%sessname%", "/%SESS NAME%"})
		EXPECT_FALSE(names_session(TextView::of(path))) << path;
}

TEST(DevicePath, ParentComponents)
{
	for (const char *bad : {"..", "../a", "a/..", "a/../b", "/..", "a//..", "../..", "a/b/.."})
		EXPECT_EQ(compose("/dev", "s", bad), "-22") << bad;
	for (const char *good : {"a..b", "..a", "a..", "...", "a/...", ".", "a/.b"})
		EXPECT_EQ(compose("/dev", "s", good), "/dev/" + std::string(good));
	EXPECT_EQ(compose("/dev", "s", ""), "-22");
	EXPECT_FALSE(has_parent_component(""));
	EXPECT_FALSE(has_parent_component("/"));
}

TEST(DevicePath, Lengths)
{
	// strlen(search) + strlen(name) < 4096, and so is what comes out.
	std::string search = "/" + std::string(3840, 'd');
	EXPECT_EQ(compose(search, "s", std::string(253, 'n')).size(), 3841u + 1 + 253);
	EXPECT_EQ(compose(search, "s", std::string(254, 'n')), "-22"); // 4096 with the slash
	EXPECT_EQ(compose(search, "s", std::string(255, 'n')), "-22"); // 4096 without it
	std::string tokens;
	for (int i = 0; i < 21; i++)
		tokens += "%SESSNAME%";
	EXPECT_EQ(compose(tokens, std::string(200, 's'), "n", 8192), "-22");
	// What is squeezed out counts.
	EXPECT_EQ(compose("/dev", "s", std::string(4090, '/') + "n"), "/dev/n");
	EXPECT_EQ(compose("/dev", "s", std::string(4092, '/') + "n"), "-22");
	std::string token = "/" + std::string(3830, 'd') + "/%SESSNAME%";
	EXPECT_EQ(compose(token, std::string(254, 's'), "n"),
		  "/" + std::string(3830, 'd') + "/" + std::string(254, 's') + "/n");
	EXPECT_EQ(compose(token, std::string(254, 's'), std::string(100, 'n')), "-22");
	// Squeezing comes first.
	EXPECT_EQ(compose(std::string(3900, '/'), "s", "a"), "/a");
	EXPECT_EQ(compose("/dev", "s", "sda", 9), "/dev/sda");
	EXPECT_EQ(compose("/dev", "s", "sda", 8), "-22");
}

TEST(SearchPath, Parameter)
{
	EXPECT_EQ(str(parse_search_path("/").value()), "/");
	EXPECT_EQ(str(parse_search_path("/dev\n").value()), "/dev");
	EXPECT_EQ(str(parse_search_path("/a\nb\nc").value()), "/a\nb");
	EXPECT_EQ(parse_search_path(text(std::string(4095, 'x')))->size(), 4095u);
	EXPECT_EQ(code(parse_search_path(text(std::string(4096, 'x')))), -22);
	EXPECT_EQ(parse_search_path(text(std::string(4095, 'x') + "\n"))->size(), 4095u);
	EXPECT_EQ(code(parse_search_path("")), -22);
	EXPECT_EQ(code(parse_search_path("\n")), -22);
}

TEST(AccessMode, Texts)
{
	for (AccessMode m : kAccessModes)
		EXPECT_EQ(parse_access_mode(TextView::of(to_text(m))).value(), m);
	EXPECT_STREQ(to_text(AccessMode::ReadOnly), "ro");
	EXPECT_STREQ(to_text(AccessMode::ReadWrite), "rw");
	EXPECT_STREQ(to_text(AccessMode::Migration), "migration");
	EXPECT_STREQ(to_text(AccessMode::Shared), "shared");
	EXPECT_STREQ(to_text(static_cast<AccessMode>(4)), "?");
	EXPECT_FALSE(may_write(AccessMode::ReadOnly));
	EXPECT_TRUE(may_write(AccessMode::ReadWrite));
	EXPECT_TRUE(may_write(AccessMode::Migration));
	EXPECT_TRUE(may_write(AccessMode::Shared));
}

TEST(WriteOpens, Rules)
{
	const AccessMode ro = AccessMode::ReadOnly, rw = AccessMode::ReadWrite,
			 mig = AccessMode::Migration, shared = AccessMode::Shared;
	const struct {
		std::vector<AccessMode> modes;
		std::vector<int> codes;
	} cases[] = {
	    {{ro, ro, ro}, {0, 0, 0}},
	    {{rw, rw}, {0, -1}},
	    {{rw, ro, rw}, {0, 0, -1}},
	    {{rw, mig, mig}, {0, 0, -1}},
	    {{mig, rw}, {0, -1}},
	    {{mig, mig, mig}, {0, 0, -1}},
	    {{rw, mig, rw}, {0, 0, -1}},
	    {{static_cast<AccessMode>(4)}, {-22}},
	    {{shared, shared, shared, ro}, {0, 0, 0, 0}},
	    {{shared, rw, mig, shared}, {0, -1, -1, 0}},
	    {{rw, shared, mig, shared}, {0, -1, 0, -1}},
	    {{mig, shared}, {0, -1}},
	    {{ro, shared, ro}, {0, 0, 0}},
	};
	for (const auto &c : cases) {
		WriteOpens w;
		for (std::size_t i = 0; i < c.modes.size(); i++)
			EXPECT_EQ(code(w.open(c.modes[i])), c.codes[i]) << &c - cases << ' ' << i;
	}
}

TEST(WriteOpens, Close)
{
	WriteOpens w;
	EXPECT_TRUE(w.open(AccessMode::ReadWrite).ok());
	EXPECT_TRUE(w.open(AccessMode::Migration).ok());
	w.close(AccessMode::ReadOnly);
	EXPECT_EQ(w.count(), 2u);
	w.close(AccessMode::ReadWrite);
	EXPECT_EQ(code(w.open(AccessMode::ReadWrite)), -1);
	w.close(AccessMode::Migration);
	EXPECT_TRUE(w.open(AccessMode::ReadWrite).ok());
	w.close(AccessMode::ReadWrite);
	w.close(AccessMode::ReadWrite);
	EXPECT_EQ(w.count(), 0u);
}

// Each kind keeps the other out until its last one has gone.
TEST(WriteOpens, SharedAndExclusive)
{
	WriteOpens w;
	for (int i = 0; i < 1000; i++)
		ASSERT_TRUE(w.open(AccessMode::Shared).ok());
	EXPECT_EQ(w.count(), 1000u);
	w.close(AccessMode::ReadOnly);
	w.close(AccessMode::ReadWrite);
	w.close(AccessMode::Migration);
	EXPECT_EQ(w.count(), 1000u);
	for (int i = 0; i < 1000; i++) {
		ASSERT_EQ(code(w.open(AccessMode::ReadWrite)), -1);
		ASSERT_EQ(code(w.open(AccessMode::Migration)), -1);
		w.close(AccessMode::Shared);
	}
	w.close(AccessMode::Shared);
	EXPECT_EQ(w.count(), 0u);
	EXPECT_TRUE(w.open(AccessMode::Migration).ok());
	w.close(AccessMode::Shared);
	EXPECT_EQ(code(w.open(AccessMode::Shared)), -1);
	w.close(AccessMode::Migration);
	EXPECT_TRUE(w.open(AccessMode::Shared).ok());
}

TEST(Access, Reopen)
{
	for (AccessMode have : kAccessModes)
		for (AccessMode want : kAccessModes)
			EXPECT_EQ(code(check_reopen(have, want)), have == want ? 0 : -1);
}

TEST(DeviceState, AllPairs)
{
	using S = DeviceState;
	const std::set<std::pair<S, S>> legal = {
	    {S::Init, S::Mapped},
	    {S::MappedDisconnected, S::Mapped},
	    {S::Mapped, S::MappedDisconnected},
	    {S::Init, S::Unmapped},
	    {S::Mapped, S::Unmapped},
	    {S::MappedDisconnected, S::Unmapped},
	};
	for (u32 from = 0; from < kDeviceStates; from++) {
		for (u32 to = 0; to < kDeviceStates; to++) {
			S f = static_cast<S>(from), t = static_cast<S>(to);
			EXPECT_EQ(transition_allowed(f, t), legal.count({f, t}) == 1)
			    << to_sysfs(f) << " to " << to_sysfs(t);
		}
	}
}

TEST(DeviceState, WordsAndRules)
{
	const struct {
		DeviceState state;
		const char *word;
		int remap;
		bool io;
	} cases[] = {
	    {DeviceState::Init, "init", -16, false},
	    {DeviceState::Mapped, "open", -114, true},
	    {DeviceState::MappedDisconnected, "closed", 0, false},
	    {DeviceState::Unmapped, "unmapped", -19, false},
	};
	for (const auto &c : cases) {
		EXPECT_STREQ(to_sysfs(c.state), c.word);
		EXPECT_EQ(code(check_remap(c.state)), c.remap);
		EXPECT_EQ(accepts_io(c.state), c.io);
	}
}

TEST(LinkName, Slashes)
{
	char memory[kLinkNameSize];
	cxxrt::TextWriter out(memory, sizeof(memory));
	EXPECT_TRUE(write_link_name(out, "/dev/sda", "blk").ok());
	EXPECT_STREQ(memory, "!dev!sda@blk");
}

TEST(LinkName, Lengths)
{
	std::vector<char> memory(kLinkNameSize);
	cxxrt::TextWriter out(memory.data(), memory.size());
	EXPECT_TRUE(
	    write_link_name(out, text(std::string(254, 'p')), text(std::string(254, 's'))).ok());
	cxxrt::TextWriter again(memory.data(), memory.size());
	EXPECT_EQ(
	    code(write_link_name(again, text(std::string(255, 'p')), text(std::string(254, 's')))),
	    -36);
}
