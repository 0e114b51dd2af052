// SPDX-License-Identifier: GPL-2.0
/* The suites of cxxrt; their cases are C++. */
#include "suites.h"

#include "cases.h"

KUNIT_SUITE(cxxrt_ref, REF_CASES);
KUNIT_SUITE(cxxrt_lock, LOCK_CASES);
KUNIT_SUITE(cxxrt_work, WORK_CASES);
KUNIT_SUITE(cxxrt_rcu, RCU_CASES);
KUNIT_SUITE(cxxrt_percpu, PERCPU_CASES);
KUNIT_SUITE(cxxrt_inflight, INFLIGHT_CASES);
KUNIT_SUITE(cxxrt_gate, GATE_CASES);
KUNIT_SUITE(cxxrt_wait, WAIT_CASES);
KUNIT_SUITE(cxxrt_sysfs, SYSFS_CASES);

kunit_test_suites(&cxxrt_ref, &cxxrt_lock, &cxxrt_work, &cxxrt_rcu, &cxxrt_percpu, &cxxrt_inflight,
		  &cxxrt_gate, &cxxrt_wait, &cxxrt_sysfs);
MODULE_DESCRIPTION("KUnit suites of cxxrt");
