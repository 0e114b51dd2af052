// SPDX-License-Identifier: GPL-2.0
// Metrics in the Prometheus text format.
#pragma once

#include "host.hh"

namespace rnbdadm {

std::string metrics_text(const Host &host);

} // namespace rnbdadm
