// SPDX-License-Identifier: GPL-2.0
// The number that tells clients whether writes may have been lost.
#include <rnbd/pure/instance.hh>

using namespace rnbd;

TEST(Instance, IsThatOfTheBoot)
{
	EXPECT_EQ(instance_of_boot(text("01234567-89ab-cdef-0000-000000000000\n")),
		  0x0123456789abcdefull);
	EXPECT_EQ(instance_of_boot(text("01234567-89AB-CDEF-0000-0000000000ff")),
		  (0x0123456789abcdefull ^ 0xff) | 1);
	// All bits count.
	EXPECT_NE(instance_of_boot(text("01234567-89ab-4def-0000-000000000000")),
		  instance_of_boot(text("01234567-89ab-4def-1000-000000000000")));
}

TEST(Instance, IsNeverZeroForABoot)
{
	EXPECT_EQ(instance_of_boot(text("00000000-0000-0000-0000-000000000000")), 1u);
	EXPECT_EQ(instance_of_boot(text("ffffffffffffffffffffffffffffffff")), 1u);
}

TEST(Instance, OtherTextsAreNone)
{
	for (const char *bad :
	     {"", "\n", "01234567-89ab-cdef-0000-00000000000",
	      "01234567-89ab-cdef-0000-0000000000000", "01234567-89ab-cdef-0000-00000000000g",
	      "01234567-89ab-cdef-0000-000000000000 "})
		EXPECT_EQ(instance_of_boot(text(bad)), 0u) << bad;
}
