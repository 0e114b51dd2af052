// SPDX-License-Identifier: GPL-2.0
/* The suites of the server; their cases are C++. */
#include "suites.h"

#include "cases.h"

KUNIT_SUITE(rtrs_server_slot, SLOT_CASES);
KUNIT_SUITE(rtrs_server_admission, ADMISSION_CASES);
KUNIT_SUITE(rtrs_server_requests, REQUESTS_CASES);

kunit_test_suites(&rtrs_server_slot, &rtrs_server_admission, &rtrs_server_requests);
MODULE_DESCRIPTION("KUnit suites of rtrs-server");
