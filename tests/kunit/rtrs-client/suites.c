// SPDX-License-Identifier: GPL-2.0
/* The suites of the client; their cases are C++. */
#include "suites.h"

#include "cases.h"

KUNIT_SUITE(rtrs_client_request, REQUEST_CASES);
KUNIT_SUITE(rtrs_client_batch, BATCH_CASES);
KUNIT_SUITE(rtrs_client_deadline, DEADLINE_CASES);
KUNIT_SUITE(rtrs_client_fence, FENCE_CASES);
KUNIT_SUITE(rtrs_client_attempts, ATTEMPTS_CASES);
KUNIT_SUITE(rtrs_client_policy, POLICY_CASES);
KUNIT_SUITE(rtrs_client_stats, STATS_CASES);

kunit_test_suites(&rtrs_client_request, &rtrs_client_batch, &rtrs_client_deadline,
		  &rtrs_client_fence, &rtrs_client_attempts, &rtrs_client_policy,
		  &rtrs_client_stats);
MODULE_DESCRIPTION("KUnit suites of rtrs-client");
