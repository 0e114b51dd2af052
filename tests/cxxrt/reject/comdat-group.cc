// SPDX-License-Identifier: GPL-2.0
// expect: a COMDAT group
#include <cxxrt/kernel.hh>

asm(".pushsection .text.shared, \"axG\", @progbits, shared, comdat\n"
    "nop\n"
    ".popsection\n");
