// SPDX-License-Identifier: GPL-2.0
// Integers as they lie on the wire. Pure.
//
// A Le<T> or Be<T> is an array of bytes: it has no alignment and no padding, so a struct of them
// has exactly the layout of the document, and no access to it can be unaligned. The compiler turns
// get() and set() into one load or store (and bswap).
#pragma once

#include <cxxrt/types.hh>

namespace cxxrt {

namespace detail {
template <class T> constexpr T swap_bytes(T v)
{
	if constexpr (sizeof(T) == 2)
		return __builtin_bswap16(v);
	else if constexpr (sizeof(T) == 4)
		return __builtin_bswap32(v);
	else if constexpr (sizeof(T) == 8)
		return __builtin_bswap64(v);
	else
		return v;
}

constexpr bool kLittleHost = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

template <class T, bool kLittle> class WireInt {
public:
	WireInt() = default;
	constexpr WireInt(T v) { set(v); }

	constexpr T get() const
	{
		T v = __builtin_bit_cast(T, bytes_);
		return kLittle == kLittleHost ? v : swap_bytes(v);
	}

	constexpr void set(T v)
	{
		bytes_ = __builtin_bit_cast(Bytes, kLittle == kLittleHost ? v : swap_bytes(v));
	}

private:
	struct Bytes {
		u8 b[sizeof(T)];
	};
	Bytes bytes_;
};
} // namespace detail

using Le16 = detail::WireInt<u16, true>;
using Le32 = detail::WireInt<u32, true>;
using Le64 = detail::WireInt<u64, true>;
using Be32 = detail::WireInt<u32, false>;

static_assert(sizeof(Le16) == 2 && alignof(Le16) == 1);
static_assert(sizeof(Le32) == 4 && alignof(Le32) == 1);
static_assert(sizeof(Le64) == 8 && alignof(Le64) == 1);
static_assert(Le32(0x01020304).get() == 0x01020304);

} // namespace cxxrt
