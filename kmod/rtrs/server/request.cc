// SPDX-License-Identifier: GPL-2.0
// A request whose way to the user (arrival.hh) is interrupted, or ends early.
#include <rtrs/server/arrival.hh>

using namespace cxxrt;

namespace rtrs::server {

Status RequestSlot::post_invalidate()
{
	ib_send_wr wr;
	MemoryRegion::fill_local_inv(wr, nullptr, Rkey{0});
	set_invalidation(wr);
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

// The chunk has room for it in front of the header: parse_io_header() has seen to that.
noinline __cold const u8 *RequestSlot::copy_long_message()
{
	const u32 size = header_.usr_len.value;
	__builtin_memcpy(message_, data_ + owner_.offset.value - size, size);
	return message_;
}

// The request was parked, and has the slot now.
void RequestSlot::begin()
{
	if (must_invalidate())
		invalidate();
	else
		parse_and_dispatch(*owner_.path, owner_.capsule_size);
}

void RequestSlot::run()
{
	resume();
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
