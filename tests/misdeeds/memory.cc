// SPDX-License-Identifier: GPL-2.0
// For KASAN, UBSAN and kmemleak.
#include <cxxrt/memory.hh>

#include "misdeeds.hh"

using namespace cxxrt;
using misdeeds::hidden;

namespace {

struct Thing {
	char text[40];
	int number;
};

// Of no fixed underlying type: a value beyond three is none of this type.
enum Direction { kNorth, kEast, kSouth, kWest };

// What is read goes here: else nobody would need to read it.
constinit int sink;

Status use_after_free()
{
	Thing *thing = new (GFP_KERNEL) Thing{};
	if (!thing)
		return err::enomem;
	Thing *kept = hidden(thing);
	delete thing;
	WRITE_ONCE(sink, kept->number);
	return {};
}

Status out_of_bounds()
{
	auto array = TRY(Array<char>::create(hidden(usize(33))));
	WRITE_ONCE(sink, array[hidden(usize(33))]);
	return {};
}

Status vmalloc_out_of_bounds()
{
	char *memory = static_cast<char *>(vmalloc(2 * PAGE_SIZE - 64));
	if (!memory)
		return err::enomem;
	WRITE_ONCE(sink, hidden(memory)[2 * PAGE_SIZE - 64]);
	vfree(memory);
	return {};
}

Status double_free()
{
	Thing *thing = new (GFP_KERNEL) Thing{};
	if (!thing)
		return err::enomem;
	Thing *again = hidden(thing);
	delete thing;
	delete again;
	return {};
}

// One may survive, as a number on a stack that looks like its address.
Status leak()
{
	for (int i = 0; i < 8; i++)
		if (!hidden(new (GFP_KERNEL) Thing{}))
			return err::enomem;
	return {};
}

Status shift()
{
	WRITE_ONCE(sink, 1 << hidden(37));
	return {};
}

Status index()
{
	struct {
		int few[4];
		int more[4];
	} numbers{};
	WRITE_ONCE(sink, numbers.few[hidden(5)]);
	return {};
}

Status boolean()
{
	char raw = 2;
	bool *truth = reinterpret_cast<bool *>(hidden(&raw));
	WRITE_ONCE(sink, *truth);
	return {};
}

Status enumeration()
{
	int raw = 9;
	Direction *direction = reinterpret_cast<Direction *>(hidden(&raw));
	WRITE_ONCE(sink, *direction);
	return {};
}

constexpr misdeeds::Misdeed kMisdeeds[] = {
    {"use-after-free", use_after_free},
    {"out-of-bounds", out_of_bounds},
    {"vmalloc-out-of-bounds", vmalloc_out_of_bounds},
    {"double-free", double_free},
    {"leak", leak},
    {"shift", shift},
    {"index", index},
    {"boolean", boolean},
    {"enumeration", enumeration},
};

} // namespace

constexpr misdeeds::List misdeeds::memory_misdeeds = {kMisdeeds, ARRAY_SIZE(kMisdeeds)};
