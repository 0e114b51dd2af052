// SPDX-License-Identifier: GPL-2.0
// Private data of the connection manager's messages (protocol A.3). Pure.
#pragma once

#include <rtrs/wire/constants.hh>
#include <rtrs/wire/immediate.hh>
#include <rtrs/wire/units.hh>

namespace rtrs {

constexpr usize kPrivateDataSize = 56;

// Protocol J.3: the server's nonce, fresh for each attempt of a path.
struct ServerNonce {
	u8 bytes[24];
	constexpr bool operator==(const ServerNonce &) const = default;
};

// Protocol J.3: how messages are authenticated. In REQ a mask of bits, in REP the number.
enum class AuthAlgorithm : u8 {
	HmacSha256 = 0,
};
constexpr u16 algorithm_bit(AuthAlgorithm a)
{
	return static_cast<u16>(1u << static_cast<u8>(a));
}
constexpr u16 kKnownAlgorithms = algorithm_bit(AuthAlgorithm::HmacSha256);

struct ConnectRequest {
	u8 cma_version;
	u8 ip_version;
	Le16 magic;
	Le16 version;
	Le16 cid;
	Le16 cid_num;
	Le16 recon_cnt;
	Uuid path_uuid;
	Uuid session_uuid;
	u8 flags;
	// Extensions that the client offers, the algorithms of J.3, and the epoch of J.1; 0 from
	// other clients.
	u8 features;
	Le16 algorithms;
	Le32 epoch;
	u8 reserved2[4];

	enum : u8 { kFirstConn = 1 << 0 };
	enum : u8 {
		kFences = 1 << 0,
		kCapsules = 1 << 1,
		kShortHeartbeats = 1 << 2,
		kAuthentication = 1 << 3,
		kFewerConnections = 1 << 4,
	};
};
static_assert(sizeof(ConnectRequest) == kPrivateDataSize);
static_assert(__builtin_offsetof(ConnectRequest, ip_version) == 1);
static_assert(__builtin_offsetof(ConnectRequest, magic) == 2);
static_assert(__builtin_offsetof(ConnectRequest, version) == 4);
static_assert(__builtin_offsetof(ConnectRequest, cid) == 6);
static_assert(__builtin_offsetof(ConnectRequest, cid_num) == 8);
static_assert(__builtin_offsetof(ConnectRequest, recon_cnt) == 10);
static_assert(__builtin_offsetof(ConnectRequest, path_uuid) == 12);
static_assert(__builtin_offsetof(ConnectRequest, session_uuid) == 28);
static_assert(__builtin_offsetof(ConnectRequest, flags) == 44);
static_assert(__builtin_offsetof(ConnectRequest, features) == 45);
static_assert(__builtin_offsetof(ConnectRequest, algorithms) == 46);
static_assert(__builtin_offsetof(ConnectRequest, epoch) == 48);

// The accept, and with only magic, version and error set, the reject.
struct ConnectReply {
	Le16 magic;
	Le16 version;
	Le16 error;
	Le16 queue_depth;
	Le32 max_io_size;
	Le32 max_hdr_size;
	Le32 flags;
	// Extensions that the client offered and the server takes up, the serial number of the path
	// of J.1, and the nonce of J.3; 0 from other servers.
	Le32 features;
	Le32 path_serial;
	Le32 session_instance;
	ServerNonce nonce;

	enum : u32 { kNewRkey = 1 << 1 };
	enum : u32 {
		kFences = 1 << 0,
		kCapsules = 1 << 1,
		kShortHeartbeats = 1 << 2,
		kAuthentication = 1 << 3,
		kFewerConnections = 1 << 4,
		kAlgorithmShift = 8,
		kAlgorithmMask = 0xff,
		kConnectionsShift = 16,
	};
};
static_assert(sizeof(ConnectReply) == kPrivateDataSize);
static_assert(__builtin_offsetof(ConnectReply, version) == 2);
static_assert(__builtin_offsetof(ConnectReply, error) == 4);
static_assert(__builtin_offsetof(ConnectReply, queue_depth) == 6);
static_assert(__builtin_offsetof(ConnectReply, max_io_size) == 8);
static_assert(__builtin_offsetof(ConnectReply, max_hdr_size) == 12);
static_assert(__builtin_offsetof(ConnectReply, flags) == 16);
static_assert(__builtin_offsetof(ConnectReply, features) == 20);
static_assert(__builtin_offsetof(ConnectReply, path_serial) == 24);
static_assert(__builtin_offsetof(ConnectReply, session_instance) == 28);
static_assert(__builtin_offsetof(ConnectReply, nonce) == 32);

struct ConnectRequestFields {
	ConnectionId cid;
	u16 connection_count;
	u16 reconnect_count;
	Uuid path;
	Uuid session;
	bool first_connection;
	// Protocol J.1: the client knows fences; then `epoch` is valid.
	bool fences = false;
	u32 epoch = 0;
	// Protocol J.2: the client knows capsules.
	bool capsules = false;
	// Protocol J.4: the client sends heartbeats at the short interval.
	bool short_heartbeats = false;
	// Protocol J.3: the client can prove who it is, by one of these algorithms; there may be
	// none that is known here.
	bool authentication = false;
	u16 algorithms = 0;
	// Protocol J.5: the client makes do with fewer connections.
	bool fewer_connections = false;
};

struct ConnectReplyFields {
	QueueDepth queue_depth;
	ByteCount max_io_size;
	ByteCount max_header_size;
	bool new_rkey;
	// Protocol J.1: the server knows fences; then the numbers are valid.
	bool fences = false;
	u32 path_serial = 0;
	u32 session_instance = 0;
	// Protocol J.2: capsules may be used.
	bool capsules = false;
	// Protocol J.4: both sides send heartbeats at the short interval.
	bool short_heartbeats = false;
	// Protocol J.3: both sides have to prove who they are; then the rest is valid.
	bool authentication = false;
	AuthAlgorithm algorithm = AuthAlgorithm::HmacSha256;
	ServerNonce nonce = {};
	// Protocol J.5: so many connections has the path; 0 if the server says nothing of it.
	u16 connections = 0;

	// Cannot overflow: parse_connect_reply refused what would.
	constexpr ByteCount chunk_size() const
	{
		return {max_io_size.value + max_header_size.value};
	}
};

// Header room below which no RNBD message fits; every known server offers a page.
constexpr u32 kMinHeaderSize = 512;
constexpr u32 kMinIoSize = 4096;

namespace detail {
constexpr bool greeting_ok(u16 magic, u16 version)
{
	return magic == kMagic && version >> 8 == kProtocolMajor;
}
} // namespace detail

// Server side (protocol A.3, G.2). The error is what the reject carries: ECONNRESET for a message
// that is short, foreign, of another major version, or whose counts or ids cannot be.
// `max_connections` is the server's own limit of connections per path, <= kMaxConnections.
// Whether cid 0 comes first, cid_num repeats and cid is new is for the path to check, under its
// lock.
inline Result<ConnectRequestFields> parse_connect_request(ByteView data,
							  u32 max_connections = kMaxConnections)
{
	Result<ConnectRequest> read = data.read<ConnectRequest>();
	if (!read.ok())
		return err::econnreset;
	const ConnectRequest &m = read.value();
	if (!detail::greeting_ok(m.magic.get(), m.version.get()))
		return err::econnreset;
	u16 count = m.cid_num.get();
	if (count < kMinConnections || count > max_connections || count > kMaxConnections)
		return err::econnreset;
	if (m.cid.get() >= count)
		return err::econnreset;
	if (m.path_uuid.is_zero() || m.session_uuid.is_zero())
		return err::econnreset;
	return ConnectRequestFields{
	    .cid = {m.cid.get()},
	    .connection_count = count,
	    .reconnect_count = m.recon_cnt.get(),
	    .path = m.path_uuid,
	    .session = m.session_uuid,
	    // The other bits are reserved: a big-endian peer may set bit 7 (protocol A.3).
	    .first_connection = (m.flags & ConnectRequest::kFirstConn) != 0,
	    .fences = (m.features & ConnectRequest::kFences) != 0,
	    .epoch = m.epoch.get(),
	    .capsules = (m.features & ConnectRequest::kCapsules) != 0,
	    .short_heartbeats = (m.features & ConnectRequest::kShortHeartbeats) != 0,
	    .authentication = (m.features & ConnectRequest::kAuthentication) != 0,
	    .algorithms = m.algorithms.get(),
	    .fewer_connections = (m.features & ConnectRequest::kFewerConnections) != 0,
	};
}

inline ConnectRequest make_connect_request(const ConnectRequestFields &f)
{
	ConnectRequest m{};
	m.magic = kMagic;
	m.version = kProtocolVersion;
	m.cid = f.cid.value;
	m.cid_num = f.connection_count;
	m.recon_cnt = f.reconnect_count;
	m.path_uuid = f.path;
	m.session_uuid = f.session;
	m.flags = f.first_connection ? ConnectRequest::kFirstConn : 0;
	m.features = static_cast<u8>((f.fences ? ConnectRequest::kFences : 0) |
				     (f.capsules ? ConnectRequest::kCapsules : 0) |
				     (f.short_heartbeats ? ConnectRequest::kShortHeartbeats : 0) |
				     (f.authentication ? ConnectRequest::kAuthentication : 0) |
				     (f.fewer_connections ? ConnectRequest::kFewerConnections : 0));
	m.algorithms = static_cast<u16>(f.authentication ? f.algorithms : 0);
	m.epoch = f.fences ? f.epoch : 0;
	return m;
}

// Client side, every connection: length (>= 56, the CM may deliver more), magic, major, error 0.
// ECONNRESET.
inline Status check_connect_reply(ByteView data)
{
	Result<ConnectReply> read = data.read<ConnectReply>();
	if (!read.ok())
		return err::econnreset;
	const ConnectReply &m = read.value();
	if (!detail::greeting_ok(m.magic.get(), m.version.get()) || m.error.get() != 0)
		return err::econnreset;
	return {};
}

// Client side, cid 0: also the geometry of the session. ECONNRESET as check_connect_reply, EINVAL
// for a geometry that no immediate can address or no I/O fits into (protocol G.3-22), for a serial
// that no fence can name (protocol J.1), for an algorithm that is unknown (protocol J.3), and for
// less than two connections (protocol J.5); that they are not too many is for the path to check.
inline Result<ConnectReplyFields> parse_connect_reply(ByteView data)
{
	if (Status s = check_connect_reply(data); !s.ok())
		return s.error();
	Result<ConnectReply> read = data.read<ConnectReply>();
	if (!read.ok())
		return err::econnreset;
	const ConnectReply &m = read.value();
	u32 io = m.max_io_size.get();
	u32 header = m.max_hdr_size.get();
	u32 chunk;
	if (io < kMinIoSize || header < kMinHeaderSize ||
	    __builtin_add_overflow(io, header, &chunk))
		return err::einval;
	QueueDepth depth{m.queue_depth.get()};
	if (Result<ImmLayout> layout = ImmLayout::create(depth, ByteCount{chunk}); !layout.ok())
		return layout.error();
	const bool fences = (m.features.get() & ConnectReply::kFences) != 0;
	const u32 serial = m.path_serial.get();
	if (fences && (serial == 0 || serial >> kImmPayloadBits))
		return err::einval;
	const bool authentication = (m.features.get() & ConnectReply::kAuthentication) != 0;
	const u32 algorithm =
	    m.features.get() >> ConnectReply::kAlgorithmShift & ConnectReply::kAlgorithmMask;
	if (authentication && algorithm != static_cast<u8>(AuthAlgorithm::HmacSha256))
		return err::einval;
	const bool fewer = (m.features.get() & ConnectReply::kFewerConnections) != 0;
	const u16 connections =
	    fewer ? static_cast<u16>(m.features.get() >> ConnectReply::kConnectionsShift) : u16{0};
	if (fewer && connections < kMinConnections)
		return err::einval;
	return ConnectReplyFields{
	    .queue_depth = depth,
	    .max_io_size = {io},
	    .max_header_size = {header},
	    .new_rkey = (m.flags.get() & ConnectReply::kNewRkey) != 0,
	    .fences = fences,
	    .path_serial = serial,
	    .session_instance = m.session_instance.get(),
	    .capsules = (m.features.get() & ConnectReply::kCapsules) != 0,
	    .short_heartbeats = (m.features.get() & ConnectReply::kShortHeartbeats) != 0,
	    .authentication = authentication,
	    .nonce = authentication ? m.nonce : ServerNonce{},
	    .connections = connections,
	};
}

inline ConnectReply make_connect_reply(const ConnectReplyFields &f)
{
	ConnectReply m{};
	m.magic = kMagic;
	m.version = kProtocolVersion;
	m.queue_depth = static_cast<u16>(f.queue_depth.value);
	m.max_io_size = f.max_io_size.value;
	m.max_hdr_size = f.max_header_size.value;
	m.flags = f.new_rkey ? u32{ConnectReply::kNewRkey} : u32{0};
	m.features = (f.fences ? u32{ConnectReply::kFences} : u32{0}) |
		     (f.capsules ? u32{ConnectReply::kCapsules} : u32{0}) |
		     (f.short_heartbeats ? u32{ConnectReply::kShortHeartbeats} : u32{0});
	if (f.authentication) {
		m.features = m.features.get() | ConnectReply::kAuthentication |
			     u32{static_cast<u8>(f.algorithm)} << ConnectReply::kAlgorithmShift;
		m.nonce = f.nonce;
	}
	if (f.connections)
		m.features = m.features.get() | u32{ConnectReply::kFewerConnections} |
			     u32{f.connections} << ConnectReply::kConnectionsShift;
	m.path_serial = f.fences ? f.path_serial : 0;
	m.session_instance = f.fences ? f.session_instance : 0;
	return m;
}

inline ConnectReply make_reject(Error reason)
{
	ConnectReply m{};
	m.magic = kMagic;
	m.version = kProtocolVersion;
	m.error = static_cast<u16>(static_cast<s16>(reason.code()));
	return m;
}

// Client side: why the server refused. Always an error: ECONNRESET if the message is short or
// foreign, or carries zero, a positive number or no errno at all (protocol A.3, G.3-18). Numbers
// beyond 511, which no response can carry either, are the kernel's own: the error ends a write
// into sysfs, where 512 would have the system call restarted, and 529 (EIOCBQUEUED) is a BUG().
inline Error parse_reject(ByteView data)
{
	Result<ConnectReply> read = data.read<ConnectReply>();
	if (!read.ok())
		return err::econnreset;
	const ConnectReply &m = read.value();
	if (!detail::greeting_ok(m.magic.get(), m.version.get()))
		return err::econnreset;
	s16 code = static_cast<s16>(m.error.get());
	if (code >= 0 || code < -static_cast<int>(kMaxResponseError))
		return err::econnreset;
	return Error::from_code(code);
}

} // namespace rtrs
