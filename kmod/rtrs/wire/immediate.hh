// SPDX-License-Identifier: GPL-2.0
// The 32-bit immediate of a SEND or RDMA WRITE (protocol A.6). Pure.
#pragma once

#include <rtrs/wire/constants.hh>
#include <rtrs/wire/units.hh>

namespace rtrs {

enum class ImmType : u8 {
	IoRequest = 0,
	IoResponse = 1,
	IoResponseWithInvalidate = 2,
	Heartbeat = 8,
	HeartbeatAck = 9,
	// Extension "fence" (protocol J.1), between peers that both offer it.
	Fence = 10,
	FenceDone = 11,
};

// 4 bits of type (any value may arrive), 28 bits of payload.
class Immediate {
public:
	constexpr Immediate(ImmType type, u32 payload)
	    : value_(static_cast<u32>(type) << kImmPayloadBits | (payload & kPayloadMask))
	{
	}

	// To and from the big-endian value of ib_wc.ex.imm_data and ib_send_wr.ex.imm_data.
	static constexpr Immediate from_network(u32 be) { return Immediate(swap_on_little(be)); }
	constexpr u32 to_network() const { return swap_on_little(value_); }

	static constexpr Immediate from_value(u32 value) { return Immediate(value); }
	constexpr u32 value() const { return value_; }
	constexpr u32 type() const { return value_ >> kImmPayloadBits; }
	constexpr u32 payload() const { return value_ & kPayloadMask; }
	constexpr bool is(ImmType t) const { return type() == static_cast<u32>(t); }

	constexpr bool operator==(const Immediate &) const = default;

private:
	enum : u32 { kPayloadMask = (1u << kImmPayloadBits) - 1 };

	explicit constexpr Immediate(u32 value) : value_(value) {}

	static constexpr u32 swap_on_little(u32 v)
	{
		return cxxrt::detail::kLittleHost ? __builtin_bswap32(v) : v;
	}

	u32 value_;
};

constexpr Immediate kHeartbeatImm{ImmType::Heartbeat, 0};
constexpr Immediate kHeartbeatAckImm{ImmType::HeartbeatAck, 0};

// What arrives at the server.
struct ServerImm {
	enum class Kind : u8 { Request, Heartbeat, HeartbeatAck, Fence };
	Kind kind;
	Slot slot;	    // Request
	ChunkOffset offset; // Request: where the header lies
	u32 serial = 0;	    // Fence: of the path that the client has given up
};

// What arrives at the client.
struct ClientImm {
	enum class Kind : u8 { Response, Heartbeat, HeartbeatAck, FenceDone };
	Kind kind;
	Slot slot;	  // Response
	int error;	  // Response: 0 or a negative errno
	bool invalidated; // Response: the server has invalidated the request's rkey
	u32 serial = 0;	  // FenceDone: of the path that is quiet now
};

// The slot that a response names; not checked against the queue depth.
constexpr Slot response_slot(Immediate imm)
{
	return Slot{imm.payload() & ((1u << kResponseIdBits) - 1)};
}

// How the payload of a request splits into slot and offset for one session.
class ImmLayout {
public:
	// EINVAL unless 1 <= depth <= 65535, chunk > 0 and bits(depth) + bits(chunk) <= 28.
	static constexpr Result<ImmLayout> create(QueueDepth depth, ByteCount chunk)
	{
		if (depth.value == 0 || depth.value > kMaxQueueDepth || chunk.value == 0)
			return err::einval;
		if (bits_for(depth.value) + bits_for(chunk.value) > kImmPayloadBits)
			return err::einval;
		return ImmLayout(depth, chunk);
	}

	// The same of a client that uses fewer of the slots, the first ones: a response that names
	// another one is refused.
	constexpr ImmLayout limited_to(QueueDepth used) const
	{
		ImmLayout limited = *this;
		if (used.value < depth_.value)
			limited.depth_ = used;
		return limited;
	}

	constexpr QueueDepth queue_depth() const { return depth_; }
	constexpr ByteCount chunk_size() const { return chunk_; }
	constexpr u32 mem_bits() const { return mem_bits_; }

	// The slot must be < queue depth and the offset < chunk size.
	constexpr Immediate request(Slot slot, ChunkOffset offset) const
	{
		return Immediate(ImmType::IoRequest, slot.value << mem_bits_ | offset.value);
	}

	// Server side (protocol G.2 "imm"). Any error closes the path: EPROTO for a type that no
	// client sends, a heartbeat or fence on another connection than cid 0, or a fence of a
	// client that has not offered it; EINVAL for a slot outside the queue or an offset at which
	// not even the smallest header fits into the chunk. On the way of each request.
	[[gnu::always_inline]] constexpr Status decode_at_server(Immediate imm, ConnectionId cid,
								 bool fences, ServerImm &out) const
	{
		if (imm.is(ImmType::IoRequest)) [[likely]] {
			const Slot slot{imm.payload() >> mem_bits_};
			const ChunkOffset offset{imm.payload() & ((1u << mem_bits_) - 1)};
			if (!depth_.contains(slot)) [[unlikely]]
				return err::einval;
			if (chunk_.value < kSmallestHeader ||
			    offset.value > chunk_.value - kSmallestHeader) [[unlikely]]
				return err::einval;
			out = {ServerImm::Kind::Request, slot, offset};
			return {};
		}
		const bool fence = fences && imm.is(ImmType::Fence);
		const bool beat = imm.is(ImmType::Heartbeat);
		if (!fence && !beat && !imm.is(ImmType::HeartbeatAck))
			return err::eproto;
		if (!cid.is_service())
			return err::eproto;
		if (fence)
			out = {ServerImm::Kind::Fence, Slot{0}, ChunkOffset{0}, imm.payload()};
		else
			out = {beat ? ServerImm::Kind::Heartbeat : ServerImm::Kind::HeartbeatAck,
			       Slot{0}, ChunkOffset{0}};
		return {};
	}
	constexpr Result<ServerImm> decode_at_server(Immediate imm, ConnectionId cid,
						     bool fences = false) const
	{
		ServerImm out{};
		TRY(decode_at_server(imm, cid, fences, out));
		return out;
	}

	// Client side. EPROTO for a type that no server sends, a heartbeat or a fence's end on
	// another connection than cid 0, or the latter from a server that knows no fences; EINVAL
	// for a slot outside the queue.
	constexpr Result<ClientImm> decode_at_client(Immediate imm, ConnectionId cid,
						     bool fences = false) const
	{
		if (fences && imm.is(ImmType::FenceDone)) {
			if (!cid.is_service())
				return err::eproto;
			return ClientImm{ClientImm::Kind::FenceDone, Slot{0}, 0, false,
					 imm.payload()};
		}
		if (imm.is(ImmType::Heartbeat) || imm.is(ImmType::HeartbeatAck)) {
			if (!cid.is_service())
				return err::eproto;
			return ClientImm{imm.is(ImmType::Heartbeat) ? ClientImm::Kind::Heartbeat
								    : ClientImm::Kind::HeartbeatAck,
					 Slot{0}, 0, false};
		}
		return decode_response(imm);
	}

	// The same for responses alone: any other type is EPROTO.
	constexpr Result<ClientImm> decode_response(Immediate imm) const
	{
		const bool invalidated = imm.is(ImmType::IoResponseWithInvalidate);
		if (!invalidated && !imm.is(ImmType::IoResponse))
			return err::eproto;
		const Slot slot = response_slot(imm);
		if (!depth_.contains(slot))
			return err::einval;
		const int error = -static_cast<int>(imm.payload() >> kResponseIdBits);
		return ClientImm{ClientImm::Kind::Response, slot, error, invalidated};
	}

private:
	enum : u32 { kSmallestHeader = 4 };

	constexpr ImmLayout(QueueDepth depth, ByteCount chunk)
	    : depth_(depth), chunk_(chunk), mem_bits_(kImmPayloadBits - bits_for(depth.value))
	{
	}

	QueueDepth depth_;
	ByteCount chunk_;
	u32 mem_bits_;
};

// The answer to a request. `error` is 0 or a negative errno; what is no errno or does not fit into
// 9 bits travels as EIO, so that it can never read as success or as another error (protocol A.6).
constexpr Immediate response_imm(Slot slot, int error, bool invalidated)
{
	u32 code = 0;
	if (error)
		code = error < 0 && error >= -static_cast<int>(kMaxResponseError)
			   ? static_cast<u32>(-error)
			   : static_cast<u32>(-err::eio.code());
	return Immediate(invalidated ? ImmType::IoResponseWithInvalidate : ImmType::IoResponse,
			 code << kResponseIdBits | slot.value);
}

} // namespace rtrs
