// SPDX-License-Identifier: GPL-2.0
// A request from its slot to the user (protocol A.5, A.8, G.2), for who has it: the handler of its
// receive (receive.cc), or who takes up one that was invalidated or parked (request.cc). In line,
// so that either way is one function; what is rare is out of line.
//
// With always_invalidate the client's key of the chunk is taken away first, so that nobody changes
// the chunk while it is worked on: by the client's own capsule (protocol J.2), or here. Without it
// the client can write to the chunk at any time: everything that decisions are based on is copied
// to private memory once, and then checked.
#pragma once

#include <rtrs/server/module.hh>
#include <rtrs/server/path.hh>
#include <rtrs/server/session.hh>
#include <rtrs/server/slot.hh>
#include <rtrs/server/trace.hh>

namespace rtrs::server {

// Copies the header out of the client's reach, with what stands in front of it if `whole`.
inline ByteView RequestSlot::copy_request(Path &path, bool &whole)
{
	const u32 offset = owner_.offset.value;
	const u8 *header = data_ + offset;
	const usize size = io_header_copy_size(owner_.offset, {session_->chunks().chunk_size()});
	path.regions().sync_for_cpu(slot_, 0, offset + static_cast<u32>(size));
	// Less at either end of a chunk.
	whole = size == kMaxIoHeaderSize && offset >= kShortMessage;
	if (whole) [[likely]] {
		__builtin_memcpy(request_, header - kShortMessage, kShortRequest);
		return {request_ + kShortMessage, kMaxIoHeaderSize};
	}
	__builtin_memcpy(request_ + kShortMessage, header, size);
	return {request_ + kShortMessage, size};
}

// What the chunk, or the capsule, wants of the user. Nothing is looked at before it is in private
// memory. A capsule must have taken back the key that opens its chunk, into which the client could
// still write otherwise.
[[gnu::always_inline]] inline void RequestSlot::parse_and_dispatch(Path &path, u32 capsule)
{
	if (path.closing()) [[unlikely]] {
		dropped();
		return;
	}
	bool whole = false;
	ByteView copy;
	if (capsule) {
		PathRegions &regions = path.regions();
		if (!(owner_.closed == regions.region(slot_.value).rkey())) [[unlikely]] {
			give_up(Refusal::CapsuleMalformed, "a capsule that does not fit its chunk");
			return;
		}
		regions.sync_for_cpu(slot_, 0, owner_.offset.value);
		const u32 message = owner_.message_size;
		copy = {capsule_ + message, capsule - message};
	} else {
		copy = copy_request(path, whole);
	}
	const IoVerdict verdict = parse_io_header(copy, owner_.offset, header_);
	if (!verdict.accepted()) [[unlikely]] {
		header_ = {};
		if (verdict.action == IoVerdict::Action::ClosePath)
			give_up(Refusal::HeaderMalformed, "malformed header");
		else
			answer_error(verdict.error);
		return;
	}
	const u32 size = header_.usr_len.value;
	if (size > sizeof(message_)) [[unlikely]] {
		answer_error(err::emsgsize);
		return;
	}
	const u8 *message = nullptr;
	if (capsule) {
		if (owner_.message_size != size) [[unlikely]] {
			give_up(Refusal::CapsuleMalformed,
				"a capsule of two minds about its message");
			return;
		}
		message = capsule_;
	} else if (whole && size <= kShortMessage) [[likely]] {
		message = request_ + kShortMessage - size;
	} else {
		message = copy_long_message();
	}
	hand_to_user(path, message);
}

[[gnu::always_inline]] inline void RequestSlot::hand_to_user(Path &path, const u8 *message)
{
	const bool read = header_.direction == Direction::Read;
	trace::request(path, slot_, header_);
	const u64 bytes = u64{header_.data_len.value} + header_.usr_len.value;
	path.stats().inc(read ? &PathStats::reads : &PathStats::writes);
	path.stats().add(read ? &PathStats::read_bytes : &PathStats::write_bytes, bytes);

	[[gnu::uninitialized]] const rtrs_srv_request to_user{
	    .op = this,
	    .area = area_,
	    .dir = read ? RTRS_READ : RTRS_WRITE,
	    .service = ConnectionId{owner_.con->cid()}.is_service(),
	    .data = data_,
	    .pages = pages_,
	    .data_len = header_.data_len.value,
	    // Nothing without a descriptor, as that of a write is.
	    .answer_max = header_.descriptor.size.value,
	    .msg = message,
	    .msg_len = header_.usr_len.value,
	};
	session_->server().ops().request(session_->user(), &to_user);
}

// What came by capsule needs no invalidation.
[[gnu::always_inline]] inline void RequestSlot::resume()
{
	parse_and_dispatch(*owner_.path, 0);
}

inline bool RequestSlot::must_invalidate() const
{
	return !owner_.capsule_size && settings().always_invalidate;
}

inline void RequestSlot::invalidate()
{
	step_ = Step::Invalidate;
	owner_.con->post_slot(*this);
}

inline void RequestSlot::set_invalidation(ib_send_wr &wr)
{
	wr.wr_cqe = &invalidate_cqe_.cqe;
	wr.ex.invalidate_rkey = owner_.path->regions().region(slot_.value).rkey().value;
}

[[gnu::always_inline]] inline bool RequestSlot::claim(const Path &path, const Arrival &arrival,
						      const u8 *capsule)
{
	const OwnedSlot owned = slot_owned_by(path.tag());
	if (!word_.begin(owned)) [[unlikely]] {
		const Arrival waits = arrival; // so that others need no place in memory
		if (!arrive_at_busy(waits, capsule))
			return false;
	}
	own(arrival, owned, capsule);
	return true;
}

[[gnu::always_inline]] inline void RequestSlot::start(Path &path, const Arrival &arrival)
{
	if (!arrival.capsule_size && settings().always_invalidate) {
		step_ = Step::Invalidate;
		arrival.con->invalidate_arrived(*this);
	} else {
		parse_and_dispatch(path, arrival.capsule_size);
	}
}

[[gnu::always_inline]] inline void RequestSlot::arrive(Path &path, const Arrival &arrival,
						       const u8 *capsule)
{
	if (claim(path, arrival, capsule))
		start(path, arrival);
}

} // namespace rtrs::server
