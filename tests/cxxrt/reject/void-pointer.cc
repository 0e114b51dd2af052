// SPDX-License-Identifier: GPL-2.0
// expect: invalid conversion
#include <cxxrt/kernel.hh>

struct Item {
	int value;
};

Item *item_of(device *dev)
{
	return dev_get_drvdata(dev);
}
