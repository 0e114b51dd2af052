// SPDX-License-Identifier: GPL-2.0
// References under threads: one end, by the last of them, and no way back from it.
#include <cxxrt/ref.hh>

#include "cases.h"
#include "threads.hh"

using namespace cxxrt;
using namespace kunit_testing;

namespace {

constexpr unsigned int kThreads = 4;
constexpr int kRounds = 300;

// Memory that outlives its last reference, as under RCU, and sees how it ends.
class Mortal : public RefCounted<Mortal> {
public:
	void destroy() { __atomic_fetch_add(&destroyed, 1, __ATOMIC_SEQ_CST); }
	int deaths() const { return __atomic_load_n(&destroyed, __ATOMIC_SEQ_CST); }
	int destroyed = 0;
};

} // namespace

// Each thread owns one reference, and copies and drops more of them until its own goes.
CASE(ref_many_threads_destroy_once)
{
	Mortal object;
	int seen_dead = 0;
	Ref<Mortal> owned[kThreads];
	owned[0] = Ref<Mortal>::adopt(&object);
	for (unsigned int i = 1; i < kThreads; i++)
		owned[i] = owned[0];
	REQUIRE(side_by_side<kThreads>([&](unsigned int i) {
		for (int round = 0; round < kRounds; round++) {
			Ref<Mortal> copy = owned[i];
			breathe();
			Ref<Mortal> moved = move(copy);
			if (object.deaths())
				__atomic_fetch_add(&seen_dead, 1, __ATOMIC_SEQ_CST);
		}
		owned[i].reset();
	}));
	EXPECT_EQ(object.deaths(), 1);
	EXPECT_EQ(seen_dead, 0);
}

// Look-ups race with the last drop: each gets a reference that holds, or none.
CASE(ref_lookup_never_revives)
{
	for (int round = 0; round < kRounds; round++) {
		Mortal object;
		int revived = 0;
		Ref<Mortal> last = Ref<Mortal>::adopt(&object);
		REQUIRE(side_by_side<2>([&](unsigned int i) {
			if (i == 0) {
				last.reset();
				return;
			}
			for (int look = 0; look < 3; look++) {
				Ref<Mortal> found = Ref<Mortal>::try_share(&object);
				breathe();
				if (found && object.deaths())
					revived++;
			}
		}));
		EXPECT_EQ(revived, 0);
		EXPECT_EQ(object.deaths(), 1);
		EXPECT(!Ref<Mortal>::try_share(&object));
		if (round > 10 && num_online_cpus() == 1)
			break;
	}
}

CASE(ref_assignments_keep_the_count)
{
	Mortal first;
	Mortal second;
	{
		Ref<Mortal> a = Ref<Mortal>::adopt(&first);
		Ref<Mortal> b = Ref<Mortal>::adopt(&second);
		Ref<Mortal> &alias = a;
		a = alias;
		EXPECT_EQ(first.deaths(), 0);
		a = move(alias);
		EXPECT(a.get() == &first);
		EXPECT_EQ(first.deaths(), 0);
		a = b;
		EXPECT_EQ(first.deaths(), 1);
		b.reset();
		EXPECT_EQ(second.deaths(), 0);
		b = move(a);
		EXPECT(!a);
		EXPECT_EQ(second.deaths(), 0);
	}
	EXPECT_EQ(first.deaths(), 1);
	EXPECT_EQ(second.deaths(), 1);
}

CASE(ref_release_and_adopt_move_the_count)
{
	Mortal object;
	Ref<Mortal> a = Ref<Mortal>::adopt(&object);
	Mortal *raw = a.release();
	EXPECT(!a);
	EXPECT_EQ(object.deaths(), 0);
	a = Ref<Mortal>::adopt(raw);
	EXPECT_EQ(object.deaths(), 0);
	a.reset();
	a.reset();
	EXPECT_EQ(object.deaths(), 1);
}
