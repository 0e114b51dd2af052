// SPDX-License-Identifier: GPL-2.0
/* The suites of rtrs-core; their cases are C++. */
#include "suites.h"

#include "cases.h"

KUNIT_SUITE(rtrs_batch_queue, BATCH_QUEUE_CASES);
KUNIT_SUITE(rtrs_heartbeat, HEARTBEAT_CASES);
KUNIT_SUITE(rtrs_send_queue, SEND_QUEUE_CASES);

kunit_test_suites(&rtrs_batch_queue, &rtrs_heartbeat, &rtrs_send_queue);
MODULE_DESCRIPTION("KUnit suites of rtrs-core");
