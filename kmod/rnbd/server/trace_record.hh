// SPDX-License-Identifier: GPL-2.0
// What an I/O was and when it began, from io_begin() to io_end() of trace.hh; filled in only while
// the latter is traced.
#pragma once

#include <rnbd/wire/operations.hh>

namespace rnbd::server::trace {

struct IoRecord {
	u64 began_ns = 0; // 0: not filled in
	CheckedIo io;
};

} // namespace rnbd::server::trace
