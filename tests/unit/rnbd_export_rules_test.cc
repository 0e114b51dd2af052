// SPDX-License-Identifier: GPL-2.0
// Who may open an export.
#include <rnbd/pure/export_rules.hh>

using namespace rnbd;

namespace {
bool allowed(const std::string &list, const std::string &name)
{
	return session_allowed(text(list), text(name));
}
} // namespace

TEST(ExportRules, Access)
{
	const AccessMode ro = AccessMode::ReadOnly, rw = AccessMode::ReadWrite,
			 migration = AccessMode::Migration, shared = AccessMode::Shared;
	const struct {
		AccessMode most;
		bool may[4]; // ro, rw, migration, shared
	} cases[] = {{ro, {true, false, false, false}},
		     {rw, {true, true, false, false}},
		     {migration, {true, true, true, false}},
		     {shared, {true, true, true, true}}};
	for (const auto &c : cases) {
		EXPECT_EQ(access_allowed(c.most, ro), c.may[0]);
		EXPECT_EQ(access_allowed(c.most, rw), c.may[1]);
		EXPECT_EQ(access_allowed(c.most, migration), c.may[2]);
		EXPECT_EQ(access_allowed(c.most, shared), c.may[3]);
	}
}

// What no administrator has said of the device, nobody may ask for.
TEST(ExportRules, AccessWithoutAnExport)
{
	EXPECT_TRUE(access_allowed(kMostWithoutExport, AccessMode::ReadOnly));
	EXPECT_TRUE(access_allowed(kMostWithoutExport, AccessMode::ReadWrite));
	EXPECT_TRUE(access_allowed(kMostWithoutExport, AccessMode::Migration));
	EXPECT_FALSE(access_allowed(kMostWithoutExport, AccessMode::Shared));
}

TEST(ExportRules, Keys)
{
	const auto allowed_key = [](const char *list, const char *key) {
		return access_by_key(TextView::of(list), TextView::of(key), AccessMode::ReadWrite)
		    .ok();
	};
	EXPECT_TRUE(allowed_key("", ""));
	EXPECT_TRUE(allowed_key(" ", "a"));
	EXPECT_TRUE(allowed_key("b a", "a"));
	EXPECT_TRUE(allowed_key("a*", "ab"));
	EXPECT_FALSE(allowed_key("b", "a"));
	// Who has proven nothing is nobody, whatever the list says.
	EXPECT_FALSE(allowed_key("a", ""));
	EXPECT_FALSE(allowed_key("*", ""));
}

TEST(ExportRules, Sessions)
{
	EXPECT_TRUE(allowed("", "a"));
	EXPECT_TRUE(allowed(" \n\t", "a"));
	EXPECT_TRUE(allowed("a", "a"));
	EXPECT_TRUE(allowed("x y\na\tz", "a"));
	EXPECT_TRUE(allowed("x a", "a"));
	EXPECT_FALSE(allowed("b", "a"));
	EXPECT_FALSE(allowed("ab", "a"));
	EXPECT_FALSE(allowed("a", "ab"));
	EXPECT_TRUE(allowed("x web-*", "web-1"));
	EXPECT_TRUE(allowed("web-*", "web-"));
	EXPECT_FALSE(allowed("web-*", "web"));
	EXPECT_TRUE(allowed("*", "anything"));
	EXPECT_FALSE(allowed("w*b", "web"));
}

TEST(ExportRules, AccessByKey)
{
	const AccessMode ro = AccessMode::ReadOnly, rw = AccessMode::ReadWrite,
			 shared = AccessMode::Shared;
	const auto access = [](const char *list, const char *key, AccessMode most) {
		return access_by_key(TextView::of(list), TextView::of(key), most).value();
	};
	const auto refused = [](const char *list, const char *key) {
		return code(
		    access_by_key(TextView::of(list), TextView::of(key), AccessMode::Shared));
	};
	EXPECT_EQ(access("", "", shared), shared);
	EXPECT_EQ(access("a b:ro", "a", shared), shared);
	EXPECT_EQ(access("a b:ro", "a", ro), ro);
	EXPECT_EQ(access("a b:ro", "b", shared), ro);
	EXPECT_EQ(access("b*:ro", "backup", rw), ro);
	EXPECT_EQ(access("*:ro", "any", rw), ro);
	// Of several words the lesser one counts, in any order.
	EXPECT_EQ(access("* b:ro", "b", rw), ro);
	EXPECT_EQ(access("b:ro *", "b", rw), ro);
	EXPECT_EQ(access("b:ro *", "c", rw), rw);
	EXPECT_EQ(refused("a b:ro", "c"), -13);
	EXPECT_EQ(refused("a b:ro", ""), -13);
	EXPECT_EQ(refused("*:ro", ""), -13);
	EXPECT_EQ(refused(":ro", "a"), -13);
	EXPECT_EQ(refused("a:rw", "a"), -13);
	EXPECT_EQ(refused("a:ro:ro", "a"), -13);
	EXPECT_EQ(str(name_of_key_word("a:ro")), "a");
	EXPECT_EQ(str(name_of_key_word("ro")), "ro");
	EXPECT_EQ(str(name_of_key_word(":ro")), "");
}
