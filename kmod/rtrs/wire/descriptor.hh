// SPDX-License-Identifier: GPL-2.0
// {address, rkey, length} as it lies in INFO_RSP and READ headers (protocol A.4, A.5). Pure.
#pragma once

#include <rtrs/wire/units.hh>

namespace rtrs {

struct Descriptor {
	Le64 addr;
	Le32 rkey;
	Le32 len;

	static constexpr Descriptor from(const RemoteBuffer &b)
	{
		return {b.address.value, b.rkey.value, b.size.value};
	}
	constexpr RemoteBuffer get() const { return {{addr.get()}, {rkey.get()}, {len.get()}}; }
};
static_assert(sizeof(Descriptor) == 16);
static_assert(__builtin_offsetof(Descriptor, rkey) == 8);
static_assert(__builtin_offsetof(Descriptor, len) == 12);

} // namespace rtrs
