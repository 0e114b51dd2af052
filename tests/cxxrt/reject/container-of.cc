// SPDX-License-Identifier: GPL-2.0
// expect: pointer type mismatch in container_of
#include <cxxrt/kernel.hh>

struct Item {
	list_head node;
	int value;
};

Item *item_of(int *node)
{
	return container_of(node, Item, node);
}
