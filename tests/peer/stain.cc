// SPDX-License-Identifier: GPL-2.0
#include "stain.hh"

#include <cstring>

namespace peer::stain {
namespace {

bool watched;
unsigned found;

} // namespace

void watch()
{
	watched = true;
}

void search(std::span<const std::byte> bytes)
{
	if (watched && memmem(bytes.data(), bytes.size(), kPattern, sizeof(kPattern)))
		found++;
}

unsigned take_found()
{
	const unsigned n = found;
	found = 0;
	return n;
}

} // namespace peer::stain
