// SPDX-License-Identifier: GPL-2.0
// Digests by the kernel's own library.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/types.hh>

namespace cxxrt {

// BLAKE2s of the data, without a key; `length` is that of the digest, 1 to 32 bytes. Any context.
template <class Byte> void blake2s_digest(const Byte *data, usize size, Byte *digest, usize length)
{
	constexpr const Byte *kNoKey = nullptr;
	if constexpr (requires { blake2s(kNoKey, size, data, size, digest, length); })
		blake2s(kNoKey, 0, data, size, digest, length);
	else
		blake2s(digest, data, kNoKey, length, size, 0);
}

} // namespace cxxrt
