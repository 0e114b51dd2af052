// SPDX-License-Identifier: GPL-2.0
// expect: invalid conversion
#include <cxxrt/kernel.hh>

struct Item {
	int value;
};

Item *make()
{
	return kmalloc(sizeof(Item), GFP_KERNEL);
}
