// SPDX-License-Identifier: GPL-2.0
// DISCOVER (protocol D.3): flags of an export that come alone.
#include <rnbd/wire/discover.hh>

using namespace rnbd;

namespace {

// One export with these flags.
ExportOpeners openers(std::string_view flags)
{
	const Bytes answer = message(16 + 272, {{0, "0780"},
						{4, "01"},
						{8, "FFFFFFFF"},
						{16, "01"},
						{21, flags},
						{24, "10"},
						{32, "78"}});
	return (*DiscoverView::parse(view(answer), 0))[0].openers;
}

} // namespace

TEST(Discover, OpenElsewhereToRead)
{
	const DiscoveredExport e{.number = 1,
				 .access = AccessMode::ReadWrite,
				 .no_device = false,
				 .openers = {false, true, false},
				 .capacity = {16}};
	EXPECT_EQ(make_discover_entry(e, TextView("x")).flags, 4);
	EXPECT_TRUE(openers("04").elsewhere);
	EXPECT_FALSE(openers("04").written_elsewhere);
	// Nobody writes to what is not open.
	EXPECT_FALSE(openers("08").elsewhere);
	EXPECT_FALSE(openers("08").written_elsewhere);
}
