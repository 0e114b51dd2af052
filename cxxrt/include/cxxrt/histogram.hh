// SPDX-License-Identifier: GPL-2.0
// Classes of a histogram whose bounds are powers of two. Pure.
#pragma once

#include <cxxrt/types.hh>

namespace cxxrt {

// Row i counts what is below 2^i and not in a row before; the last row of `rows`, all the rest.
constexpr u32 histogram_row(u64 value, u32 rows)
{
	const u32 bits = value ? 64 - static_cast<u32>(__builtin_clzll(value)) : 0;
	return bits < rows ? bits : rows - 1;
}

// Rows of latencies in microseconds: up to 4 s, then one for all longer ones.
constexpr u32 kMicrosecondRows = 24;

constexpr u32 microsecond_row(u64 ns)
{
	return histogram_row(ns / 1000, kMicrosecondRows);
}

} // namespace cxxrt
