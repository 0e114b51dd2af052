// SPDX-License-Identifier: GPL-2.0
// expect: a global needs code to run
#include <cxxrt/kernel.hh>

struct Owner {
	~Owner() { kfree(memory); }
	void *memory = nullptr;
};

Owner owner;
