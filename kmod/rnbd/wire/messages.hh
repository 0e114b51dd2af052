// SPDX-License-Identifier: GPL-2.0
// Messages of RNBD: their layout, and the parsers of the session-wide ones (protocol D.1, G.2).
// Pure. IO messages are parsed in operations.hh, OPEN answers in open_response.hh.
//
// The server copies a message out of the chunk before it parses it: at most kMaxMessageSize bytes,
// or fewer if the client sent fewer. Paddings arrive with any content and are sent as zero.
#pragma once

#include <rnbd/wire/feature.hh>
#include <rnbd/wire/units.hh>

namespace rnbd {

constexpr u8 kProtocolMajor = 2;
constexpr u8 kProtocolMinor = 2;

enum class MessageType : u16 {
	SessionInfo = 0,
	SessionInfoResponse = 1,
	Open = 2,
	OpenResponse = 3,
	Io = 4,
	Close = 5,
	// Of our own, see feature.hh.
	DeviceStates = 0x8000,
	DeviceStatesResponse = 0x8001,
	Identify = 0x8002,
	IdentifyResponse = 0x8003,
	DeviceLimits = 0x8004,
	DeviceLimitsResponse = 0x8005,
	Discover = 0x8006,
	DiscoverResponse = 0x8007,
	Reserve = 0x8008,
	ReserveResponse = 0x8009,
	NumberedOpen = 0x800a, // answered by OpenResponse
	NumberedClose = 0x800c,
};

enum class AccessMode : u8 {
	ReadOnly = 0,
	ReadWrite = 1,
	Migration = 2,
	Shared = 3, // of our own, see knows_access()
};

// Whether a peer that has agreed on these features knows the mode.
constexpr bool knows_access(u32 features, AccessMode m)
{
	return m != AccessMode::Shared || (features & feature::shared_access);
}

// What such a peer is told of an export that allows up to `most`.
constexpr AccessMode most_that_it_knows(u32 features, AccessMode most)
{
	return knows_access(features, most) ? most : AccessMode::Migration;
}

// Storage for a device name, terminator included.
constexpr u32 kDeviceNameSize = 255;

struct MessageHeader {
	Le16 type;
	u8 padding[2];

	static constexpr MessageHeader of(MessageType t) { return {static_cast<u16>(t), {}}; }
	constexpr bool is(MessageType t) const { return type.get() == static_cast<u16>(t); }
};
static_assert(sizeof(MessageHeader) == 4);

// The question and its answer.
struct SessionInfo {
	MessageHeader header;
	u8 version;
	u8 reserved[31];
};
static_assert(sizeof(SessionInfo) == 36);
static_assert(__builtin_offsetof(SessionInfo, version) == 4);
static_assert(__builtin_offsetof(SessionInfo, reserved) == 5);

struct Open {
	MessageHeader header;
	u8 access_mode;
	u8 reserved1;
	char device_name[kDeviceNameSize];
	u8 reserved2[3];
};
static_assert(sizeof(Open) == 264);
static_assert(__builtin_offsetof(Open, access_mode) == 4);
static_assert(__builtin_offsetof(Open, device_name) == 6);
static_assert(__builtin_offsetof(Open, reserved2) == 261);

struct OpenResponse {
	MessageHeader header;
	Le32 device_id;
	Le64 nsectors;
	Le32 max_hw_sectors;
	Le32 max_write_zeroes_sectors;
	Le32 max_discard_sectors;
	Le32 discard_granularity;
	Le32 discard_alignment;
	Le16 physical_block_size;
	Le16 logical_block_size;
	Le16 max_segments;
	Le16 secure_discard;
	u8 obsolete_rotational;
	u8 cache_policy;
	u8 reserved[10];

	enum : u8 { kFua = 1 << 0 };
	enum : u8 { kWriteback = 1 << 1 };
};
static_assert(sizeof(OpenResponse) == 56);
static_assert(__builtin_offsetof(OpenResponse, device_id) == 4);
static_assert(__builtin_offsetof(OpenResponse, nsectors) == 8);
static_assert(__builtin_offsetof(OpenResponse, max_hw_sectors) == 16);
static_assert(__builtin_offsetof(OpenResponse, max_write_zeroes_sectors) == 20);
static_assert(__builtin_offsetof(OpenResponse, max_discard_sectors) == 24);
static_assert(__builtin_offsetof(OpenResponse, discard_granularity) == 28);
static_assert(__builtin_offsetof(OpenResponse, discard_alignment) == 32);
static_assert(__builtin_offsetof(OpenResponse, physical_block_size) == 36);
static_assert(__builtin_offsetof(OpenResponse, logical_block_size) == 38);
static_assert(__builtin_offsetof(OpenResponse, max_segments) == 40);
static_assert(__builtin_offsetof(OpenResponse, secure_discard) == 42);
static_assert(__builtin_offsetof(OpenResponse, obsolete_rotational) == 44);
static_assert(__builtin_offsetof(OpenResponse, cache_policy) == 45);
static_assert(__builtin_offsetof(OpenResponse, reserved) == 46);

struct Close {
	MessageHeader header;
	Le32 device_id;
};
static_assert(sizeof(Close) == 8);
static_assert(__builtin_offsetof(Close, device_id) == 4);

// Version 1 ends before prio.
struct Io {
	MessageHeader header;
	Le32 device_id;
	Le64 sector;
	Le32 rw;
	Le32 bi_size;
	Le16 prio;
	u8 padding[6];
};
constexpr usize kIoSizeV1 = 24;
static_assert(sizeof(Io) == 32);
static_assert(__builtin_offsetof(Io, device_id) == 4);
static_assert(__builtin_offsetof(Io, sector) == 8);
static_assert(__builtin_offsetof(Io, rw) == 16);
static_assert(__builtin_offsetof(Io, bi_size) == 20);
static_assert(__builtin_offsetof(Io, prio) == kIoSizeV1);
static_assert(__builtin_offsetof(Io, padding) == 26);

// That of NumberedOpen.
constexpr usize kMaxMessageSize = 272;

// Nearly all messages of a client are of this type.
inline bool is_io(ByteView message)
{
	return message.size() >= sizeof(MessageHeader) &&
	       cxxrt::load<MessageHeader>(message.data()).is(MessageType::Io);
}

// Server side: which message a client sent; ours among them if the session agreed on its feature.
// EMSGSIZE, EINVAL for types that only servers send or nobody knows.
inline Result<MessageType> parse_message_type(ByteView message, u32 features = 0)
{
	Result<MessageHeader> h = message.read<MessageHeader>();
	if (!h.ok())
		return h.error();
	constexpr MessageType kFromClient[] = {MessageType::Io, MessageType::SessionInfo,
					       MessageType::Open, MessageType::Close};
	for (MessageType t : kFromClient)
		if (h->is(t))
			return t;
	constexpr struct {
		MessageType type;
		u32 feature;
	} kExtended[] = {{MessageType::DeviceStates, feature::device_states},
			 {MessageType::Identify, feature::identify},
			 {MessageType::DeviceLimits, feature::device_limits},
			 {MessageType::Discover, feature::discover},
			 {MessageType::Reserve, feature::reservations},
			 {MessageType::NumberedOpen, feature::open_numbers},
			 {MessageType::NumberedClose, feature::open_numbers}};
	for (const auto &e : kExtended)
		if ((features & e.feature) && h->is(e.type))
			return e.type;
	return err::einval;
}

// Which version both sides speak.
constexpr u8 common_version(u8 theirs, u8 ours = kProtocolMajor)
{
	return cxxrt::min_of(theirs, ours);
}

constexpr SessionInfo make_session_info(u8 version = kProtocolMajor)
{
	return {MessageHeader::of(MessageType::SessionInfo), version, {}};
}

constexpr SessionInfo make_session_info_response(u8 version)
{
	return {MessageHeader::of(MessageType::SessionInfoResponse), version, {}};
}

// Server side: the version to speak from now on. EMSGSIZE if message or room for the answer are too
// small, EINVAL for another type or a write.
inline Result<u8> parse_session_info(ByteView message, Transfer transfer)
{
	Result<SessionInfo> m = message.read<SessionInfo>();
	if (!m.ok())
		return m.error();
	if (!m->header.is(MessageType::SessionInfo) || !transfer.is_read())
		return err::einval;
	if (transfer.size < sizeof(SessionInfo))
		return err::emsgsize;
	return common_version(m->version);
}

// Client side: the version to speak from now on. EMSGSIZE, EINVAL for another type.
inline Result<u8> parse_session_info_response(ByteView answer)
{
	Result<SessionInfo> m = answer.read<SessionInfo>();
	if (!m.ok())
		return m.error();
	if (!m->header.is(MessageType::SessionInfoResponse))
		return err::einval;
	return common_version(m->version);
}

// A name that a client sent, with its own storage; terminated, not empty, without control
// characters. What it may refer to is decided in device_path.hh.
class DeviceName {
public:
	// EINVAL.
	static constexpr Result<DeviceName> from(TextView text)
	{
		if (text.empty() || text.size() >= kDeviceNameSize)
			return err::einval;
		DeviceName n;
		for (usize i = 0; i < text.size(); i++) {
			u8 c = static_cast<u8>(text[i]);
			if (c < ' ' || c == 0x7f)
				return err::einval;
			n.text_[i] = text[i];
		}
		n.size_ = static_cast<u8>(text.size());
		return n;
	}

	constexpr TextView view() const { return TextView(text_, size_); }
	constexpr const char *c_str() const { return text_; }

private:
	constexpr DeviceName() = default;

	char text_[kDeviceNameSize] = {};
	u8 size_ = 0;
};

struct OpenRequest {
	AccessMode access_mode;
	DeviceName name;
};

namespace detail {
// `field` is all the room of the name. EINVAL.
inline Result<OpenRequest> parse_open_fields(u8 number, TextView field, u32 features)
{
	const AccessMode mode = static_cast<AccessMode>(number);
	if (number > static_cast<u8>(AccessMode::Shared) || !knows_access(features, mode))
		return err::einval;
	usize length = field.find('\0');
	if (length == field.size())
		return err::einval;
	Result<DeviceName> name = DeviceName::from(field.first(length));
	if (!name.ok())
		return name.error();
	return OpenRequest{mode, name.take()};
}
} // namespace detail

// Server side. EMSGSIZE unless the message has exactly 264 bytes and the answer finds room, EINVAL
// for another type, a write, an access mode that is unknown or was not agreed on, or a bad or
// unterminated name.
inline Result<OpenRequest> parse_open(ByteView message, Transfer transfer, u32 features = 0)
{
	if (message.size() != sizeof(Open))
		return err::emsgsize;
	// Not read as a whole: the kernel's stack is small.
	Result<MessageHeader> header = message.read<MessageHeader>();
	if (!header.ok())
		return header.error();
	if (!header->is(MessageType::Open) || !transfer.is_read())
		return err::einval;
	if (transfer.size < sizeof(OpenResponse))
		return err::emsgsize;
	return detail::parse_open_fields(message.data()[__builtin_offsetof(Open, access_mode)],
					 TextView(reinterpret_cast<const char *>(message.data()) +
						      __builtin_offsetof(Open, device_name),
						  kDeviceNameSize),
					 features);
}

inline Open make_open(AccessMode mode, const DeviceName &name)
{
	Open m{};
	m.header = MessageHeader::of(MessageType::Open);
	m.access_mode = static_cast<u8>(mode);
	TextView text = name.view();
	for (usize i = 0; i < text.size(); i++)
		m.device_name[i] = text[i];
	return m;
}

// Server side. EMSGSIZE, EINVAL for another type, a read, or data.
inline Result<DeviceId> parse_close(ByteView message, Transfer transfer)
{
	Result<Close> m = message.read<Close>();
	if (!m.ok())
		return m.error();
	if (!m->header.is(MessageType::Close) || transfer.is_read() || transfer.size != 0)
		return err::einval;
	return DeviceId{m->device_id.get()};
}

constexpr Close make_close(DeviceId id)
{
	return {MessageHeader::of(MessageType::Close), id.value};
}

} // namespace rnbd
