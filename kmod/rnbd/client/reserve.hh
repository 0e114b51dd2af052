// SPDX-License-Identifier: GPL-2.0
// The disk's pr_ops: persistent reservations, which the server keeps (protocol D.5).
#pragma once

#include <cxxrt/kernel.hh>

namespace rnbd::client {

extern const pr_ops kReservationOperations;

} // namespace rnbd::client
