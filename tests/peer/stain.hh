// SPDX-License-Identifier: GPL-2.0
// A stain is a pattern that rtrs-stain fills the free memory of the server's machine with. Where it
// comes back in what the server says, the server gave away memory that was not asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace peer::stain {

// Repeated without gap: any 15 bytes in a row of stained memory hold it once.
constexpr unsigned char kPattern[8] = {0xd7, 0x5c, 0xa3, 0x91, 0x3e, 0xb8, 0x67, 0xfd};

// From now on what comes back is looked through; it takes its time.
void watch();
// Looks through these bytes, if watched.
void search(std::span<const std::byte> bytes);
// How many pieces with the stain were found since the last call.
unsigned take_found();

} // namespace peer::stain
