// SPDX-License-Identifier: GPL-2.0
// The INFO exchange on the service connection (protocol A.4). Pure.
#pragma once

#include <rtrs/wire/constants.hh>
#include <rtrs/wire/descriptor.hh>
#include <rtrs/wire/session_name.hh>
#include <rtrs/wire/units.hh>

namespace rtrs {

struct InfoRequest {
	Le16 type;
	char name[kSessionNameSize];
	u8 reserved[15];
};
static_assert(sizeof(InfoRequest) == 272);
static_assert(__builtin_offsetof(InfoRequest, name) == 2);
static_assert(__builtin_offsetof(InfoRequest, reserved) == 257);

struct InfoResponse {
	Le16 type;
	Le16 sg_cnt;
	u8 reserved[4];
	// Descriptor[sg_cnt] follows.
};
static_assert(sizeof(InfoResponse) == 8);
static_assert(__builtin_offsetof(InfoResponse, sg_cnt) == 2);

constexpr usize info_response_size(u32 descriptors)
{
	return sizeof(InfoResponse) + descriptors * sizeof(Descriptor);
}

// Server side: exactly 272 bytes, type 0, a terminated and legal name (protocol G.2). EMSGSIZE,
// EPROTO, EINVAL; each closes the path. That it is the first one, that all connections are there
// and that the name is free is for the path to check.
inline Result<SessionName> parse_info_request(ByteView data)
{
	if (data.size() != sizeof(InfoRequest))
		return err::emsgsize;
	// Not read as a whole: the kernel's stack is small.
	Result<Le16> type = data.read<Le16>();
	if (!type.ok())
		return type.error();
	if (type->get() != static_cast<u16>(MessageType::InfoRequest))
		return err::eproto;
	TextView field(reinterpret_cast<const char *>(data.data()) +
			   __builtin_offsetof(InfoRequest, name),
		       kSessionNameSize);
	usize length = field.find('\0');
	if (length == field.size())
		return err::einval;
	return SessionName::from(field.first(length));
}

inline InfoRequest make_info_request(const SessionName &name)
{
	InfoRequest m{};
	m.type = static_cast<u16>(MessageType::InfoRequest);
	TextView text = name.view();
	for (usize i = 0; i < text.size(); i++)
		m.name[i] = text[i];
	return m;
}

constexpr InfoResponse make_info_response(u32 descriptors)
{
	return {static_cast<u16>(MessageType::InfoResponse), static_cast<u16>(descriptors), {}};
}

namespace detail {
// The checks of for_each_remote_slot. Number of descriptors.
inline Result<u32> check_info_response(ByteView data, QueueDepth depth, ByteCount chunk)
{
	Result<InfoResponse> header = data.read<InfoResponse>();
	if (!header.ok())
		return header.error();
	if (header->type.get() != static_cast<u16>(MessageType::InfoResponse))
		return err::eproto;
	u32 n = header->sg_cnt.get();
	if (data.size() != info_response_size(n))
		return err::emsgsize;
	if (n == 0 || chunk.value == 0 || depth.value % n != 0)
		return err::einval;
	if (bits_for(n) + bits_for(chunk.value) > kImmPayloadBits)
		return err::einval;
	u64 total = 0;
	for (u32 i = 0; i < n; i++) {
		Result<Descriptor> d = data.read<Descriptor>(info_response_size(i));
		if (!d.ok())
			return d.error();
		u32 len = d->len.get();
		u64 end;
		if (len == 0 || len % chunk.value != 0)
			return err::einval;
		if (__builtin_add_overflow(d->addr.get(), static_cast<u64>(len), &end))
			return err::einval;
		total += len;
	}
	if (total != static_cast<u64>(chunk.value) * depth.value)
		return err::einval;
	return n;
}
} // namespace detail

// Client side: applies the acceptance rules of protocol A.4 and then calls
// visit(Slot, RemoteAddress, Rkey) once for every slot in order, queue_depth times. Nothing is
// visited if the message is refused. EMSGSIZE, EPROTO, EINVAL.
template <class Visit>
Status for_each_remote_slot(ByteView data, QueueDepth depth, ByteCount chunk, Visit &&visit)
{
	Result<u32> n = detail::check_info_response(data, depth, chunk);
	if (!n.ok())
		return n.error();
	u32 slot = 0;
	for (u32 i = 0; i < n.value(); i++) {
		Result<Descriptor> read = data.read<Descriptor>(info_response_size(i));
		if (!read.ok())
			return read.error();
		RemoteBuffer b = read->get();
		for (u32 at = 0; at < b.size.value; at += chunk.value)
			visit(Slot{slot++}, RemoteAddress{b.address.value + at}, b.rkey);
	}
	return {};
}

} // namespace rtrs
