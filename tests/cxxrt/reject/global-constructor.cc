// SPDX-License-Identifier: GPL-2.0
// expect: a global needs code to run
#include <cxxrt/kernel.hh>

int ask();

int answer = ask();
