// SPDX-License-Identifier: GPL-2.0
/* The suites of the server; their cases are C++. */
#include "suites.h"

#include "cases.h"

KUNIT_SUITE(rtrs_server_slot, SLOT_CASES);

kunit_test_suites(&rtrs_server_slot);
MODULE_DESCRIPTION("KUnit suites of rtrs-server");
