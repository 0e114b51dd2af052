// SPDX-License-Identifier: GPL-2.0
// operator new with gfp flags, Box and Array.
#include <cxxrt/memory.hh>

#include "check.hh"

namespace {

using namespace cxxrt;
using selftest::Case;
using selftest::Test;

struct Counted {
	explicit Counted(int *alive) : alive_(alive) { ++*alive_; }
	~Counted() { --*alive_; }
	int *alive_;
};

void construct_and_destroy(Case &t)
{
	int alive = 0;
	auto *object = new (GFP_KERNEL) Counted(&alive);
	EXPECT(!object || alive == 1);
	delete object;
	EXPECT(alive == 0);
	auto *near = new (GFP_KERNEL, numa_node_id()) Counted(&alive);
	EXPECT(!near || alive == 1);
	delete near;
	EXPECT(alive == 0);
	delete static_cast<Counted *>(nullptr);
}

struct Huge {
	explicit Huge(int *made) { ++*made; }
	u8 bytes[1ul << 30];
};

void no_memory_is_null(Case &t)
{
	int made = 0;
	auto *object = new (GFP_KERNEL | __GFP_NOWARN) Huge(&made);
	EXPECT(!object);
	EXPECT(made == 0);
	auto box = make_box<Huge>(GFP_KERNEL | __GFP_NOWARN, &made);
	EXPECT(!box.ok() && box.code() == -ENOMEM);
	delete object;
}

template <unsigned int kAlign, unsigned int kSize> struct alignas(kAlign) Wide {
	u8 bytes[kSize];
};

template <unsigned int kAlign, unsigned int kSize> bool aligned()
{
	using T = Wide<kAlign, kSize>;
	T *objects[9] = {};
	bool good = true;
	for (T *&object : objects) {
		object = new (GFP_KERNEL) T;
		good &= IS_ALIGNED(reinterpret_cast<unsigned long>(object), kAlign);
	}
	for (T *object : objects)
		delete object;
	return good;
}

// Short ones come from kmalloc(), whose sizes of no power of two promise less.
template <unsigned int kAlign, unsigned int kSize> bool array_aligned()
{
	static constexpr usize kCounts[] = {1, 3, 1000};
	bool good = true;
	for (const usize count : kCounts) {
		auto made = Array<Wide<kAlign, kSize>>::create(count);
		good &=
		    !made.ok() || IS_ALIGNED(reinterpret_cast<unsigned long>(made->data()), kAlign);
	}
	return good;
}

void alignment(Case &t)
{
	EXPECT((array_aligned<8, 24>()));
	EXPECT((array_aligned<kCacheLine, 192>()));
	EXPECT((array_aligned<1024, 1024>()));
	EXPECT((aligned<8, 24>()));
	EXPECT((aligned<16, 48>()));
	EXPECT((aligned<32, 96>()));
	EXPECT((aligned<64, 192>()));
	EXPECT((aligned<64, 1>()));
	EXPECT((aligned<256, 768>()));
	EXPECT((aligned<4096, 4096>()));
}

void box_owns(Case &t)
{
	int alive = 0;
	{
		auto made = make_box<Counted>(GFP_KERNEL, &alive);
		if (!made.ok())
			return t.skip("out of memory");
		Box<Counted> box = made.take();
		EXPECT(alive == 1);
		Box<Counted> other = move(box);
		EXPECT(!box && other);
		box = move(other);
		EXPECT(box && !other && alive == 1);
	}
	EXPECT(alive == 0);
}

struct Cell {
	u64 value = 3;
	~Cell() { ++*destroyed; }
	int *destroyed = nullptr;
};

void array_owns(Case &t)
{
	int destroyed = 0;
	{
		auto made = Array<Cell>::create(1000);
		if (!made.ok())
			return t.skip("out of memory");
		Array<Cell> cells = made.take();
		u64 sum = 0;
		for (Cell &cell : cells) {
			sum += cell.value;
			cell.destroyed = &destroyed;
		}
		EXPECT(cells.size() == 1000 && sum == 3000);
		Array<Cell> other = move(cells);
		EXPECT(cells.size() == 0 && other.size() == 1000);
		other.truncate(2000);
		EXPECT(other.size() == 1000 && destroyed == 0);
		other.truncate(10);
		EXPECT(other.size() == 10 && destroyed == 990 && other[9].value == 3);
	}
	EXPECT(destroyed == 1000);
	auto empty = Array<Cell>::create(0);
	EXPECT(empty.ok() && empty->size() == 0);
	auto too_many = Array<Cell>::create(~usize(0) / 4);
	EXPECT(!too_many.ok() && too_many.code() == -ENOMEM);
}

constexpr Test kMemoryTests[] = {
    {"new and delete", construct_and_destroy},
    {"no memory is a null pointer and no constructor", no_memory_is_null},
    {"alignment", alignment},
    {"Box owns its object", box_owns},
    {"Array owns its elements", array_owns},
};

} // namespace

namespace selftest {
constinit const Suite memory_suite("memory", kMemoryTests);
}
