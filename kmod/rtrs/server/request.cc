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

// Copies the header out of the client's reach, with what stands in front of it if `whole`.
inline ByteView RequestSlot::copy_request(bool &whole)
{
	const ChunkPool &chunks = session_->chunks();
	const u32 offset = owner_.offset.value;
	const u8 *header = chunks.data(slot_.value) + offset;
	const usize size = io_header_copy_size(owner_.offset, {chunks.chunk_size()});
	owner_.path->regions().sync_for_cpu(slot_, 0, offset + static_cast<u32>(size));
	// Less at either end of a chunk.
	whole = size == kMaxIoHeaderSize && offset >= kShortMessage;
	if (whole) [[likely]] {
		__builtin_memcpy(request_, header - kShortMessage, kShortRequest);
		return {request_ + kShortMessage, kMaxIoHeaderSize};
	}
	__builtin_memcpy(request_ + kShortMessage, header, size);
	return {request_ + kShortMessage, size};
}

// The chunk has room for it in front of the header: parse_io_header() has seen to that.
noinline __cold const u8 *RequestSlot::copy_long_message()
{
	const u32 size = header_.usr_len.value;
	const u8 *chunk = session_->chunks().data(slot_.value);
	__builtin_memcpy(message_, chunk + owner_.offset.value - size, size);
	return message_;
}

// What the chunk, or the capsule, wants of the user. Nothing is looked at before it is in private
// memory. A capsule must have taken back the key that opens its chunk, into which the client could
// still write otherwise.
[[gnu::always_inline]] inline void RequestSlot::look()
{
	Path &path = *owner_.path;
	header_valid_ = false;
	if (path.closing()) [[unlikely]] {
		dropped();
		return;
	}
	const u32 capsule = owner_.capsule_size;
	bool whole = false;
	ByteView copy{};
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
		copy = copy_request(whole);
	}
	const IoVerdict verdict = parse_io_header(copy, owner_.offset);
	switch (verdict.action) {
	case IoVerdict::Action::ClosePath:
		give_up(Refusal::HeaderMalformed, "malformed header");
		return;
	case IoVerdict::Action::Answer:
		answer_error(verdict.error);
		return;
	case IoVerdict::Action::Accept:
		break;
	}
	header_ = verdict.header;
	header_valid_ = true;
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
	hand_to_user(message);
}

[[gnu::always_inline]] inline void RequestSlot::hand_to_user(const u8 *message)
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
	    .msg = message,
	    .msg_len = header_.usr_len.value,
	};
	session_->server().ops().request(session_->user(), &to_user);
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

// From here to the user is one function; what is rare is out of line.
void RequestSlot::arrive(const Arrival &arrival, const u8 *capsule)
{
	const PathTag tag = arrival.path->tag();
	if (!word_.begin(tag) && !arrive_at_busy(arrival, capsule)) [[unlikely]]
		return;
	own(arrival, tag, capsule);
	if (must_invalidate())
		invalidate();
	else
		look();
}

// The request was parked, and has the slot now.
void RequestSlot::begin()
{
	if (must_invalidate())
		invalidate();
	else
		run();
}

void RequestSlot::run()
{
	look();
}

noinline __cold void RequestSlot::give_up(Refusal why, const char *detail)
{
	owner_.path->refuse(why, detail);
	dropped();
}

noinline __cold void RequestSlot::answer_error(Error e)
{
	module_->refusals.count(Refusal::RequestRefused);
	trace::refusal(*owner_.path, Refusal::RequestRefused, e.code());
	respond(e.code(), 0);
}

} // namespace rtrs::server
