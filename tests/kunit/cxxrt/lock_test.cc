// SPDX-License-Identifier: GPL-2.0
// Guarded data under threads, and what lockdep knows of it.
#include <cxxrt/guarded.hh>
#include <cxxrt/result.hh>

#include "cases.h"
#include "threads.hh"

using namespace cxxrt;
using namespace kunit_testing;

namespace {

constexpr unsigned int kThreads = 4;
constexpr int kRounds = 200;

struct Pair {
	int left = 0;
	int right = 0;
};

Status change_but_fail(Guarded<Pair, Mutex> &guarded)
{
	return guarded.with([](Pair &p) -> Status {
		p.left++;
		TRY(Status(err::ebusy));
		p.right++;
		return {};
	});
}

#ifdef CONFIG_LOCKDEP
// The name of the class of the lock that this thread took last.
const char *innermost_lock()
{
	const int depth = current->lockdep_depth;
	return depth ? current->held_locks[depth - 1].instance->name : "";
}
#endif

} // namespace

// Others run between the read and the write: without the lock counts get lost on one CPU too.
CASE(lock_guarded_mutex_excludes)
{
	Guarded<Pair, Mutex> guarded(cxxrt::lock_class<"kunit excludes">());
	int torn = 0;
	REQUIRE(side_by_side<kThreads>([&](unsigned int) {
		for (int round = 0; round < kRounds; round++)
			guarded.with([&](Pair &p) {
				const int value = p.left;
				torn += p.left != p.right;
				breathe();
				p.left = value + 1;
				breathe();
				p.right = value + 1;
			});
	}));
	EXPECT_EQ(torn, 0);
	EXPECT_EQ(guarded.exclusive().left, int(kThreads) * kRounds);
	EXPECT_EQ(guarded.exclusive().right, int(kThreads) * kRounds);
}

// As above, in atomic context.
CASE(lock_guarded_spinlock_excludes)
{
	Guarded<Pair, SpinLock> guarded(cxxrt::lock_class<"kunit spins">());
	int torn = 0;
	int open = 0;
	REQUIRE(side_by_side<kThreads>([&](unsigned int) {
		for (int round = 0; round < 20 * kRounds; round++) {
			guarded.with([&](Pair &p) {
				open += !irqs_disabled();
				torn += p.left != p.right;
				WRITE_ONCE(p.left, p.left + 1);
				cpu_relax();
				WRITE_ONCE(p.right, p.right + 1);
			});
			if (round % 20 == 0)
				breathe();
		}
	}));
	EXPECT_EQ(open, 0);
	EXPECT_EQ(torn, 0);
	EXPECT_EQ(guarded.exclusive().left, int(kThreads) * 20 * kRounds);
}

CASE(lock_is_left_on_early_return)
{
	Guarded<Pair, Mutex> guarded(cxxrt::lock_class<"kunit leaves">());
	EXPECT_EQ(change_but_fail(guarded).code(), -EBUSY);
	// A lock that is still held would stop this thread for ever: another one asks.
	int left = -1;
	{
		Thread other([&] { guarded.with([&](Pair &p) { left = p.left; }); });
		REQUIRE(other.start(0));
		REQUIRE(other.wait_done().ok());
	}
	EXPECT_EQ(left, 1);
	EXPECT_EQ(guarded.exclusive().right, 0);
}

// Locks of Guarded are locks to lockdep, by the names that they were given.
CASE(lock_lockdep_sees_guarded)
{
#ifdef CONFIG_LOCKDEP
	Guarded<Pair, Mutex> outer(cxxrt::lock_class<"kunit outer">());
	Guarded<Pair, SpinLock> inner(cxxrt::lock_class<"kunit inner">());
	const int before = current->lockdep_depth;
	// After a report of its own lockdep is off.
	REQUIRE(debug_locks);
	outer.with([&](Pair &) {
		EXPECT_EQ(current->lockdep_depth, before + 1);
		EXPECT(!strcmp(innermost_lock(), "kunit outer"));
		inner.with([&](Pair &) {
			EXPECT_EQ(current->lockdep_depth, before + 2);
			EXPECT(!strcmp(innermost_lock(), "kunit inner"));
		});
	});
	EXPECT_EQ(current->lockdep_depth, before);
#else
	kunit_case_skipped(test, "no lockdep");
#endif
}

// Two locks of one name are one class, for whoever takes both; those of two names are not.
CASE(lock_classes_go_by_name)
{
	const LockClass a = cxxrt::lock_class<"kunit a">();
	const LockClass a_again = cxxrt::lock_class<"kunit a">();
	const LockClass b = cxxrt::lock_class<"kunit b">();
	EXPECT(a.key == a_again.key);
	EXPECT(a.key != b.key);
	EXPECT(!strcmp(a.name, "kunit a"));
	EXPECT(!strcmp(b.name, "kunit b"));
}
