// SPDX-License-Identifier: GPL-2.0
// Memory that nobody else may learn of.
#pragma once

#include <cxxrt/bytes.hh>
#include <cxxrt/kernel.hh>
#include <cxxrt/types.hh>

namespace cxxrt {

// Overwrites in a way that no compiler leaves out as useless. Any context.
inline void wipe(void *memory, usize size)
{
	memzero_explicit(memory, size);
}

// Whether both are equal, in a time that depends on their lengths only. Any context.
inline bool equal_in_constant_time(ByteView a, ByteView b)
{
	return a.size() == b.size() && !crypto_memneq(a.data(), b.data(), a.size());
}

// N bytes, all 0 at first, that are wiped when they end. There is no copy.
template <usize N> class Secret {
public:
	Secret() = default;
	Secret(const Secret &) = delete;
	Secret &operator=(const Secret &) = delete;
	~Secret() { wipe(bytes_, N); }

	u8 *data() { return bytes_; }
	constexpr usize size() const { return N; }
	ByteView view() const { return ByteView(bytes_, N); }

private:
	u8 bytes_[N] = {};
};

} // namespace cxxrt
