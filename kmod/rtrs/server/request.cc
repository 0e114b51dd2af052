// SPDX-License-Identifier: GPL-2.0
// A request from its arrival to the user (protocol A.5, A.8, G.2).
//
// With always_invalidate the client's key of the chunk is taken away first, so that nobody changes
// the chunk while it is worked on: by the client's own capsule (protocol J.2), or here. Without it
// the client can write to the chunk at any time: everything that decisions are based on is copied
// to private memory once, and then checked.
#include <rtrs/server/module.hh>
#include <rtrs/server/path.hh>
#include <rtrs/server/session.hh>
#include <rtrs/server/slot.hh>
#include <rtrs/server/trace.hh>

using namespace cxxrt;

namespace rtrs::server {

void RequestSlot::begin()
{
	header_ = {};
	header_valid_ = false;
	if (owner_.capsule_size || !settings().always_invalidate) {
		run();
		return;
	}
	step_ = Step::Invalidate;
	owner_.con->post_slot(*this);
}

void RequestSlot::fill_invalidation(ib_send_wr &wr)
{
	MemoryRegion::fill_local_inv(wr, &invalidate_cqe_.cqe,
				     owner_.path->regions().region(slot_.value).rkey());
}

Status RequestSlot::post_invalidate()
{
	ib_send_wr wr;
	fill_invalidation(wr);
	// The request goes on in the completion.
	return owner_.con->post_send(&wr, &wr, {.work_requests = 1, .invalidations = 1},
				     Signal::Always);
}

void RequestSlot::invalidated(ib_cq *, ib_wc *wc)
{
	RequestSlot &slot = *container_of(wc->wr_cqe, InvalidateCqe, cqe)->slot;
	const bool ok = wc->status == IB_WC_SUCCESS;
	if (!ok) [[unlikely]]
		slot.owner_.path->fail(*wc);
	else
		slot.owner_.con->on_send_completed();
	slot.owner_.con->on_invalidated(slot, ok);
}

inline Result<RequestSlot::Parts> RequestSlot::parts_in_chunk(u8 *copy)
{
	const ChunkPool &chunks = session_->chunks();
	const u8 *chunk = chunks.data(slot_.value);
	const u32 offset = owner_.offset.value;
	const usize size = io_header_copy_size(owner_.offset, {chunks.chunk_size()});
	owner_.path->regions().sync_for_cpu(slot_, 0, offset + static_cast<u32>(size));
	// Only at the end of a chunk is it less; the compiler does better with a length that it
	// knows.
	if (size == kMaxIoHeaderSize) [[likely]]
		__builtin_memcpy(copy, chunk + offset, kMaxIoHeaderSize);
	else
		__builtin_memcpy(copy, chunk + offset, size);
	return Parts{{copy, size}, {chunk, offset}};
}

// EPROTO for a capsule that took back another key than the one that opens this chunk, into which
// the client could still write then.
inline Result<RequestSlot::Parts> RequestSlot::parts_in_capsule()
{
	PathRegions &regions = owner_.path->regions();
	if (!(owner_.closed == regions.region(slot_.value).rkey()))
		return err::eproto;
	regions.sync_for_cpu(slot_, 0, owner_.offset.value);
	const usize message = owner_.message_size;
	return Parts{{capsule_ + message, owner_.capsule_size - message}, {capsule_, message}};
}

void RequestSlot::run()
{
	Path &path = *owner_.path;
	if (path.closing()) [[unlikely]] {
		dropped();
		return;
	}
	[[gnu::uninitialized]] u8 copy[kMaxIoHeaderSize]; // parsed as far as it was written
	const Result<Parts> parts = owner_.capsule_size ? parts_in_capsule() : parts_in_chunk(copy);
	if (!parts.ok()) {
		path.refuse(Refusal::CapsuleMalformed, "a capsule that does not fit its chunk");
		dropped();
		return;
	}
	const IoVerdict verdict = parse_io_header(parts->header, owner_.offset);
	switch (verdict.action) {
	case IoVerdict::Action::ClosePath:
		path.refuse(Refusal::HeaderMalformed, "malformed header");
		dropped();
		return;
	case IoVerdict::Action::Answer:
		answer_error(verdict.error);
		return;
	case IoVerdict::Action::Accept:
		break;
	}
	header_ = verdict.header;
	header_valid_ = true;
	if (header_.usr_len.value > sizeof(message_)) {
		answer_error(err::emsgsize);
		return;
	}
	const ByteView &message = parts->message;
	// The chunk has room for it in front of the header: parse_io_header() has seen to that.
	if (owner_.capsule_size && message.size() != header_.usr_len.value) {
		path.refuse(Refusal::CapsuleMalformed, "a capsule of two minds about its message");
		dropped();
		return;
	}
	__builtin_memcpy(message_, message.data() + message.size() - header_.usr_len.value,
			 header_.usr_len.value);
	hand_to_user();
}

void RequestSlot::hand_to_user()
{
	Path &path = *owner_.path;
	const bool read = header_.direction == Direction::Read;
	trace::request(path, slot_, header_);
	const u64 bytes = u64{header_.data_len.value} + header_.usr_len.value;
	path.stats().inc(read ? &PathStats::reads : &PathStats::writes);
	path.stats().add(read ? &PathStats::read_bytes : &PathStats::write_bytes, bytes);

	[[gnu::uninitialized]] const rtrs_srv_request to_user{
	    .op = this,
	    .area = area_,
	    .dir = read ? RTRS_READ : RTRS_WRITE,
	    .data = session_->chunks().data(slot_.value),
	    .data_len = header_.data_len.value,
	    .answer_max = read ? header_.transfer_size().value : 0,
	    .msg = message_,
	    .msg_len = header_.usr_len.value,
	};
	session_->server().ops().request(session_->user(), &to_user);
}

void RequestSlot::answer_error(Error e)
{
	module_->refusals.count(Refusal::RequestRefused);
	trace::refusal(*owner_.path, Refusal::RequestRefused, e.code());
	respond(e.code(), 0);
}

} // namespace rtrs::server
