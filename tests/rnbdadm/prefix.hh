// SPDX-License-Identifier: GPL-2.0
// Precompiled: what every test file sees.
#ifndef TESTS_RNBDADM_PREFIX_HH
#define TESTS_RNBDADM_PREFIX_HH

#include "../../tools/rnbdadm/prefix.hh"

#include <gtest/gtest.h>

#endif
