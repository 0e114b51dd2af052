// SPDX-License-Identifier: GPL-2.0
// Who owns a slot, from a request's arrival to its end.
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
	area_ = area;
	invalidate_cqe_.cqe.done = invalidated;
	invalidate_cqe_.slot = this;
}

void RequestSlot::arrive(const Arrival &arrival, const u8 *capsule)
{
	Path *superseded = nullptr;
	SlotEvent event;
	{
		LockGuard held(lock_);
		const SlotStep step = slot_request(word_, arrival.path->tag());
		event = step.event;
		if (event == SlotEvent::Supersede)
			superseded = parked_.path;
		if (event == SlotEvent::Start) {
			owner_ = arrival;
			if (capsule)
				__builtin_memcpy(capsule_, capsule, arrival.capsule_size);
		} else if (event == SlotEvent::Park || event == SlotEvent::Supersede) {
			parked_ = arrival;
			if (capsule)
				__builtin_memcpy(parked_capsule_, capsule, arrival.capsule_size);
		}
		word_ = step.next;
	}
	switch (event) {
	case SlotEvent::Start:
		begin();
		break;
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
	case SlotEvent::Answering:
	case SlotEvent::Ignored:
		break;
	}
}

// A request of the path that has become the owner by finish() is begun by a work item, which no
// drain waits for. If finish() has not come to queue it yet, the item sees that the path closes:
// that was so before the grace period in the close work.
void RequestSlot::forget(Path &path)
{
	bool dropped, owns;
	{
		LockGuard held(lock_);
		owns = slot_owned(word_, path.tag());
		const SlotStep step = slot_forget(word_, path.tag());
		dropped = step.event == SlotEvent::Free;
		word_ = step.next;
	}
	if (owns)
		start_.flush();
	if (dropped)
		path.leave();
}

PathTag RequestSlot::owner_tag() const
{
	return slot_owned(word_, kNobody) ? kNobody : owner_.path->tag();
}

bool RequestSlot::is_dead() const
{
	return owner_.path->closing();
}

// Before the answer is posted: the client's next request for the slot can be here before finish().
void RequestSlot::begin_answer()
{
	LockGuard held(lock_);
	word_ = slot_answer(word_, owner_tag()).next;
}

// Any context: so the next request, which is parsed and handed to the user in process context,
// begins by a work item.
void RequestSlot::finish()
{
	Path *path = owner_.path;
	bool next;
	{
		LockGuard held(lock_);
		const SlotStep step = slot_finish(word_, owner_tag());
		next = step.event == SlotEvent::Start;
		if (next) {
			owner_ = parked_;
			__builtin_memcpy(capsule_, parked_capsule_, parked_.capsule_size);
		}
		word_ = step.next;
	}
	if (next)
		start_.queue(module_->io);
	// Last: without the next request nothing keeps the path, and with it this slot.
	path->leave();
}

void RequestSlot::answered()
{
	owner_.path->wr_counters().inc(&WrCounters::requests);
	finish();
}

// The path is closing, or will be. Nobody waits for the answer.
void RequestSlot::dropped()
{
	finish();
}

} // namespace rtrs::server

bool rtrs_srv_op_dead(const rtrs_srv_op *op)
{
	return static_cast<const rtrs::server::RequestSlot *>(op)->is_dead();
}
