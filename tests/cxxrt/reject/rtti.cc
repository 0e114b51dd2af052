// SPDX-License-Identifier: GPL-2.0
// expect: -fno-rtti
#include <cxxrt/kernel.hh>

struct Base {
	virtual int kind() = 0;
};

const void *type_of(Base *b)
{
	return &typeid(*b);
}
