// SPDX-License-Identifier: GPL-2.0
// Words, numbers with units, names that were almost right, reasons in words.
#include "failure.hh"
#include "text.hh"

#include <cerrno>

using namespace rnbdadm;

TEST(RnbdadmText, SizesAreParsed)
{
	EXPECT_EQ(parse_size("4096"), 4096u);
	EXPECT_EQ(parse_size("8s"), 4096u);
	EXPECT_EQ(parse_size("1.5G"), 1610612736u);
	EXPECT_EQ(parse_size("2TiB"), 2199023255552u);
	EXPECT_EQ(parse_size("1k"), 1024u);
	EXPECT_EQ(parse_size("9007199254740993"), 9007199254740993u);
}

TEST(RnbdadmText, BadSizesAreRefused)
{
	for (const char *bad : {"", "x", "-1", "1X", "1GB", "1 G", "G", "16E",
				"99999999999999999999", "0.3", "nan", "inf", "1e3"})
		EXPECT_FALSE(parse_size(bad)) << bad;
}

TEST(RnbdadmText, NumbersAreWhole)
{
	EXPECT_EQ(parse_number("42"), 42u);
	for (const char *bad : {"", "4x", "-4", " 4", "99999999999999999999"})
		EXPECT_FALSE(parse_number(bad)) << bad;
	EXPECT_EQ(parse_signed("-1"), -1);
}

TEST(RnbdadmText, HumanNumbers)
{
	EXPECT_EQ(human_bytes(512), "512 B");
	EXPECT_EQ(human_bytes(1536), "1.5 KiB");
	EXPECT_EQ(human_bytes(67108864), "64 MiB");
	EXPECT_EQ(human_bytes(67108864, ByteUnit::B), "67108864 B");
	EXPECT_EQ(human_bytes(67108864, ByteUnit::KiB), "65536 KiB");
	EXPECT_EQ(human_bytes(67108864, ByteUnit::GiB), "0.06 GiB");
	EXPECT_EQ(human_bytes(0, ByteUnit::TiB), "0 TiB");
	EXPECT_EQ(human_time(850), "850 ns");
	EXPECT_EQ(human_time(12400), "12.4 us");
	EXPECT_EQ(human_count(12345), "12.3 k");
}

TEST(RnbdadmText, NaturalOrder)
{
	EXPECT_TRUE(natural_less("rnbd2", "rnbd10"));
	EXPECT_FALSE(natural_less("rnbd10", "rnbd2"));
	EXPECT_TRUE(natural_less("a", "b"));
	EXPECT_TRUE(natural_less("a", "a1"));
	EXPECT_FALSE(natural_less("a1", "a1"));
}

TEST(RnbdadmText, NearestName)
{
	std::vector<std::string> names = {"list", "unmap", "remap", "session"};
	EXPECT_EQ(nearest("lsit", names), "list");
	EXPECT_EQ(nearest("umap", names), "unmap");
	EXPECT_EQ(nearest("sess", names), "session");
	EXPECT_EQ(nearest("xyzzy", names), "");
}

TEST(RnbdadmText, ReasonsDependOnTheAction)
{
	EXPECT_NE(words_of(ENOENT, Action::Map), words_of(ENOENT, Action::Resize));
	EXPECT_NE(words_of(ECONNREFUSED, Action::Map).find("rnbd_server"), std::string::npos);
	EXPECT_NE(words_of(EBUSY, Action::Unmap).find("(EBUSY)"), std::string::npos);
	// One that nobody thought of.
	EXPECT_NE(words_of(EXDEV, Action::Map).find("(EXDEV)"), std::string::npos);
	EXPECT_NE(words_of(4000, Action::Map).find("4000"), std::string::npos);
}

TEST(RnbdadmText, ExitCodesKeepTheirNumbers)
{
	const int codes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
	int i = 0;
	for (const ExitText &text : kExitTexts)
		EXPECT_EQ(static_cast<int>(text.code), codes[i++]);
	EXPECT_EQ(i, 14);
}
