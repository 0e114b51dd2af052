// SPDX-License-Identifier: GPL-2.0
// OPEN and CLOSE that name the OPEN by a number of its own (protocol D.5, "Numbers of OPEN"). Pure.
#pragma once

#include <rnbd/wire/messages.hh>
#include <rnbd/wire/units.hh>

namespace rnbd {

// Of one OPEN of a session, chosen by its client: never 0, never used again, and higher than that
// of every OPEN before.
struct OpenNumber {
	u64 value;
	constexpr bool operator==(const OpenNumber &) const = default;
	constexpr explicit operator bool() const { return value != 0; }
};

// A read, answered as OPEN is.
struct NumberedOpen {
	MessageHeader header;
	u8 access_mode;
	u8 reserved1[3];
	Le64 number;
	char device_name[kDeviceNameSize];
	u8 reserved2;
};
static_assert(sizeof(NumberedOpen) == 272);
static_assert(__builtin_offsetof(NumberedOpen, access_mode) == 4);
static_assert(__builtin_offsetof(NumberedOpen, number) == 8);
static_assert(__builtin_offsetof(NumberedOpen, device_name) == 16);

// A write without data.
struct NumberedClose {
	MessageHeader header;
	u8 reserved[4];
	Le64 number;
};
static_assert(sizeof(NumberedClose) == 16);
static_assert(__builtin_offsetof(NumberedClose, number) == 8);

static_assert(sizeof(NumberedOpen) <= kMaxMessageSize);

struct NumberedOpenRequest {
	OpenRequest want;
	OpenNumber number;
};

// Server side. EMSGSIZE unless the message has exactly 272 bytes and the answer finds room, EINVAL
// for another type, a write, number 0, or what parse_open() does not take.
inline Result<NumberedOpenRequest> parse_numbered_open(ByteView message, Transfer transfer,
						       u32 features)
{
	if (message.size() != sizeof(NumberedOpen))
		return err::emsgsize;
	// Not read as a whole: the kernel's stack is small.
	Result<MessageHeader> header = message.read<MessageHeader>();
	if (!header.ok())
		return header.error();
	if (!header->is(MessageType::NumberedOpen) || !transfer.is_read())
		return err::einval;
	if (transfer.size < sizeof(OpenResponse))
		return err::emsgsize;
	Result<Le64> number = message.read<Le64>(__builtin_offsetof(NumberedOpen, number));
	if (!number.ok() || !number->get())
		return err::einval;
	const u8 mode = message.data()[__builtin_offsetof(NumberedOpen, access_mode)];
	const char *name = reinterpret_cast<const char *>(message.data()) +
			   __builtin_offsetof(NumberedOpen, device_name);
	Result<OpenRequest> want =
	    detail::parse_open_fields(mode, TextView(name, kDeviceNameSize), features);
	if (!want.ok())
		return want.error();
	return NumberedOpenRequest{want.take(), OpenNumber{number->get()}};
}

inline NumberedOpen make_numbered_open(AccessMode mode, const DeviceName &name, OpenNumber number)
{
	NumberedOpen m{};
	m.header = MessageHeader::of(MessageType::NumberedOpen);
	m.access_mode = static_cast<u8>(mode);
	m.number = number.value;
	TextView text = name.view();
	for (usize i = 0; i < text.size(); i++)
		m.device_name[i] = text[i];
	return m;
}

// Server side. EMSGSIZE, EINVAL for another type, a read, data, or number 0.
inline Result<OpenNumber> parse_numbered_close(ByteView message, Transfer transfer)
{
	Result<NumberedClose> m = message.read<NumberedClose>();
	if (!m.ok())
		return m.error();
	if (!m->header.is(MessageType::NumberedClose) || transfer.is_read() || transfer.size != 0 ||
	    !m->number.get())
		return err::einval;
	return OpenNumber{m->number.get()};
}

constexpr NumberedClose make_numbered_close(OpenNumber number)
{
	return {MessageHeader::of(MessageType::NumberedClose), {}, number.value};
}

} // namespace rnbd
