// SPDX-License-Identifier: GPL-2.0
// Ownership of a slot: which request has it where more than one wants it, and when it is free.
//
// This is the fence of failover (protocol G.3-5): a client that has given up a path sends its
// requests again on another, while the first copy's I/O may still run on the same chunk. The second
// copy waits until that has ended.
#include <rtrs/server/slot.hh>

#include <rtrs/server/module.hh>
#include <rtrs/server/path.hh>
#include <rtrs/server/session.hh>
#include <rtrs/server/trace.hh>

using namespace cxxrt;

namespace rtrs::server {

void RequestSlot::init(Session &session, Slot slot, void *area)
{
	session_ = &session;
	slot_ = slot;
	data_ = session.chunks().data(slot.value);
	pages_ = session.chunks().pages(slot.value);
	area_ = area;
	invalidate_cqe_.cqe.done = invalidated;
	invalidate_cqe_.slot = this;
}

// True if it owns the slot after all.
noinline __cold bool RequestSlot::arrive_at_busy(const Arrival &arrival, const u8 *capsule)
{
	Path *superseded = nullptr;
	SlotEvent event;
	{
		LockGuard held(lock_);
		event = word_.request(arrival.path->tag()).event;
		if (event == SlotEvent::Supersede)
			superseded = parked_.path;
		if (event == SlotEvent::Park || event == SlotEvent::Supersede) {
			parked_ = arrival;
			if (capsule)
				copy_capsule(parked_capsule_, capsule, arrival.capsule_size);
		}
	}
	switch (event) {
	case SlotEvent::Start: // it has become idle meanwhile
		return true;
	case SlotEvent::Supersede:
		module_->refusals.count(Refusal::Superseded);
		trace::refusal(*superseded, Refusal::Superseded);
		superseded->leave();
		break;
	case SlotEvent::Violation:
		arrival.path->refuse(Refusal::SlotBusy, "a second request on a busy slot");
		arrival.path->leave();
		break;
	case SlotEvent::Park:
	case SlotEvent::Free:
	case SlotEvent::Ignored:
		break;
	}
	return false;
}

// A request of the path that has become the owner by hand_over() is begun by a work item, which no
// drain waits for. It is queued under the lock: so it is found here, if the path owns the slot.
void RequestSlot::forget(Path &path)
{
	bool dropped, owns;
	{
		LockGuard held(lock_);
		owns = slot_owned(word_.word(), path.tag());
		dropped = word_.forget(path.tag()).event == SlotEvent::Free;
	}
	if (owns)
		start_.flush();
	if (dropped)
		path.leave();
}

bool RequestSlot::is_dead() const
{
	return owner_.path->closing();
}

// A parked request waits, or the path has forgotten the slot. Any context: so the next request,
// which is parsed and handed to the user in process context, begins by a work item.
noinline __cold void RequestSlot::hand_over()
{
	LockGuard held(lock_);
	const SlotStep step = word_.finish(slot_owner(owned_));
	if (step.event != SlotEvent::Start)
		return;
	own(parked_, slot_owned_by(step.path), parked_.capsule_size ? parked_capsule_ : nullptr);
	start_.queue(module_->io);
}

// The path is closing, or will be. Nobody waits for the answer.
void RequestSlot::dropped()
{
	Path *path = owner_.path;
	let_go();
	// Last: without the next request nothing keeps the path, and with it this slot.
	path->leave();
}

} // namespace rtrs::server

CXXRT_FOR_C bool rtrs_srv_op_dead(const rtrs_srv_op *op)
{
	return static_cast<const rtrs::server::RequestSlot *>(op)->is_dead();
}
