// SPDX-License-Identifier: GPL-2.0
// Headers of requests, which the client writes into a chunk (protocol A.5, A.8, G.2). Pure.
//
//	0                data_len          off = data_len + usr_len
//	| data or room   | user message    | header ...            chunk size |
//
// The client may rewrite a chunk at any time: the server copies io_header_copy_size() bytes at
// `off` into private memory and parses only that copy.
#pragma once

#include <rtrs/wire/constants.hh>
#include <rtrs/wire/descriptor.hh>
#include <rtrs/wire/units.hh>

namespace rtrs {

struct WriteHeader {
	Le16 type;
	Le16 usr_len;
};
static_assert(sizeof(WriteHeader) == 4);
static_assert(__builtin_offsetof(WriteHeader, usr_len) == 2);

struct ReadHeader {
	Le16 type;
	Le16 usr_len;
	Le16 flags;
	Le16 sg_cnt;
	// Descriptor[sg_cnt] follows; sg_cnt is 0 or 1.

	enum : u16 { kNeedInvalidate = 1 << 0 };
};
static_assert(sizeof(ReadHeader) == 8);
static_assert(__builtin_offsetof(ReadHeader, usr_len) == 2);
static_assert(__builtin_offsetof(ReadHeader, flags) == 4);
static_assert(__builtin_offsetof(ReadHeader, sg_cnt) == 6);

struct ReadHeaderWithDescriptor {
	ReadHeader header;
	Descriptor descriptor;
};
static_assert(sizeof(ReadHeaderWithDescriptor) == 24);
static_assert(__builtin_offsetof(ReadHeaderWithDescriptor, descriptor) == 8);

constexpr usize kMaxIoHeaderSize = sizeof(ReadHeaderWithDescriptor);
// Every user message begins with a 4-byte header.
constexpr u32 kMinUserMessage = 4;

// A request whose header was checked.
struct IoHeader {
	Direction direction;
	ByteCount usr_len;    // at data_len in the chunk
	ByteCount data_len;   // write: data; read: room at the start of the chunk for the answer
	bool has_descriptor;  // read that wants an answer
	bool need_invalidate; // invalidate descriptor.rkey before answering
	RemoteBuffer descriptor;

	constexpr ChunkOffset usr_offset() const { return {data_len.value}; }
	// What the user layer is told as data length: bytes that came, or bytes it may answer.
	constexpr ByteCount transfer_size() const
	{
		if (direction == Direction::Write)
			return data_len;
		return {has_descriptor ? descriptor.size.value : 0};
	}
};

// What to do with a request.
struct IoVerdict {
	enum class Action : u8 {
		Accept,	   // the header is valid
		Answer,	   // respond with `error`, nothing else is to be trusted; no invalidation
		ClosePath, // the peer broke the protocol
	};
	Action action;
	Error error; // why; only if not Accept

	static constexpr IoVerdict accept() { return {Action::Accept, err::eio}; }
	static constexpr IoVerdict answer(Error e) { return {Action::Answer, e}; }
	static constexpr IoVerdict close_path(Error e) { return {Action::ClosePath, e}; }

	constexpr bool accepted() const { return action == Action::Accept; }
};

// Bytes to copy out of the chunk from `off`: up to 24, never past the chunk's end.
constexpr usize io_header_copy_size(ChunkOffset off, ByteCount chunk)
{
	if (off.value >= chunk.value)
		return 0;
	return cxxrt::min_of<usize>(kMaxIoHeaderSize, chunk.value - off.value);
}

// Server side: `copy` holds the io_header_copy_size() bytes found at `off`. `h` means something
// only if it is accepted. On the way of each request: what is in a Result goes through memory.
[[gnu::always_inline]] inline IoVerdict parse_io_header(ByteView copy, ChunkOffset off, IoHeader &h)
{
	if (copy.size() < sizeof(WriteHeader)) [[unlikely]]
		return IoVerdict::close_path(err::emsgsize);
	const WriteHeader start = cxxrt::load<WriteHeader>(copy.data());
	const u16 type = start.type.get();
	const bool is_read = type == static_cast<u16>(MessageType::Read);
	if (!is_read && type != static_cast<u16>(MessageType::Write)) [[unlikely]]
		return IoVerdict::close_path(err::eproto);

	u16 flags = 0;
	bool has_descriptor = false;
	if (is_read) {
		if (copy.size() < sizeof(ReadHeader)) [[unlikely]]
			return IoVerdict::close_path(err::emsgsize);
		const ReadHeader read = cxxrt::load<ReadHeader>(copy.data());
		if (read.sg_cnt.get() > 1) [[unlikely]]
			return IoVerdict::answer(err::einval);
		has_descriptor = read.sg_cnt.get() == 1;
		if (has_descriptor && copy.size() < sizeof(ReadHeaderWithDescriptor)) [[unlikely]]
			return IoVerdict::close_path(err::emsgsize);
		flags = read.flags.get();
	}

	const u32 usr_len = start.usr_len.get();
	if (usr_len < kMinUserMessage || usr_len > off.value) [[unlikely]]
		return IoVerdict::answer(err::einval);
	h.direction = is_read ? Direction::Read : Direction::Write;
	h.usr_len = {usr_len};
	h.data_len = {off.value - usr_len};
	h.has_descriptor = has_descriptor;
	h.need_invalidate = (flags & ReadHeader::kNeedInvalidate) != 0;
	h.descriptor = {};
	if (has_descriptor)
		h.descriptor = cxxrt::load<Descriptor>(copy.data() + sizeof(ReadHeader)).get();
	if (flags & ~ReadHeader::kNeedInvalidate) [[unlikely]]
		return IoVerdict::answer(err::einval);
	if (h.need_invalidate && !has_descriptor) [[unlikely]]
		return IoVerdict::answer(err::einval);
	if (has_descriptor && (h.descriptor.size.value == 0 ||
			       h.descriptor.size.value > h.data_len.value)) [[unlikely]]
		return IoVerdict::answer(err::einval);
	return IoVerdict::accept();
}

constexpr WriteHeader make_write_header(u16 usr_len)
{
	return {static_cast<u16>(MessageType::Write), usr_len};
}

// A read that expects no data (a flush).
constexpr ReadHeader make_read_header(u16 usr_len)
{
	return {static_cast<u16>(MessageType::Read), usr_len, u16{0}, u16{0}};
}

constexpr ReadHeaderWithDescriptor make_read_header(u16 usr_len, const RemoteBuffer &answer,
						    bool need_invalidate)
{
	u16 flags = need_invalidate ? u16{ReadHeader::kNeedInvalidate} : u16{0};
	return {{static_cast<u16>(MessageType::Read), usr_len, flags, u16{1}},
		Descriptor::from(answer)};
}

// Size of the header that a client writes.
constexpr u32 io_header_size(Direction direction, bool has_descriptor)
{
	if (direction == Direction::Write)
		return sizeof(WriteHeader);
	return has_descriptor ? sizeof(ReadHeaderWithDescriptor) : sizeof(ReadHeader);
}

// Client side: where the header of a request goes, = data_len + usr_len. EMSGSIZE if the user
// message and header exceed what the server reserves for them, or all together the chunk; EINVAL
// for a user message without a header of its own.
constexpr Result<ChunkOffset> place_request(Direction direction, ByteCount data_len,
					    ByteCount usr_len, bool has_descriptor, ByteCount chunk,
					    ByteCount max_header_size)
{
	if (usr_len.value < kMinUserMessage)
		return err::einval;
	u64 header = io_header_size(direction, has_descriptor);
	u64 message = u64{usr_len.value} + header;
	if (usr_len.value > 0xffff || message > max_header_size.value)
		return err::emsgsize;
	if (data_len.value + message > chunk.value)
		return err::emsgsize;
	return ChunkOffset{data_len.value + usr_len.value};
}

} // namespace rtrs
