// SPDX-License-Identifier: GPL-2.0
/* The suite of the client's permits; its cases are C++. */
#include "suites.h"

#include "cases.h"

KUNIT_SUITE(rtrs_client_permits, PERMITS_CASES);

kunit_test_suites(&rtrs_client_permits);
MODULE_DESCRIPTION("KUnit suite of the permits of rtrs-client");
