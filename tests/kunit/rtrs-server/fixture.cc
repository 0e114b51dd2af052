// SPDX-License-Identifier: GPL-2.0
// What stands for the parts of the server around a slot.
#include "fixture.hh"

#include <rtrs/server/arrival.hh>

using namespace server_testing;

namespace rtrs::server {

constinit Module *module_ = nullptr;

void Path::refuse(Refusal why, const char *)
{
	module_->refusals.count(why);
	add(refused, 1);
	close();
}

// ---- the part of the slot that speaks to the device, in short ----

void RequestSlot::respond(int status, u32 produced)
{
	status_ = status;
	produced_ = produced;
	step_ = Step::Answer;
	owner_.con->post_slot(*this);
}

Status RequestSlot::post(Signal)
{
	if (step_ == Step::Invalidate)
		return post_invalidate();
	let_go();
	return {};
}

void ServerConnection::post_slot(RequestSlot &slot)
{
	// The slot is not touched after its step was posted.
	const RequestSlot::Step step = slot.step();
	if (path_.closing() || !slot.post().ok()) {
		slot.dropped();
		return;
	}
	if (step != RequestSlot::Step::Answer)
		return;
	if (overtake)
		overtake(overtake_data);
	path_.wr_counters().inc(&WrCounters::requests);
	path_.leave();
}

// Work requests complete at once.
Status ServerConnection::post_send(ib_send_wr *first, ib_send_wr *, const ChainCost &, Signal)
{
	ib_wc wc{};
	wc.wr_cqe = first->wr_cqe;
	wc.status = path_.closing() ? IB_WC_WR_FLUSH_ERR : IB_WC_SUCCESS;
	wc.wr_cqe->done(nullptr, &wc);
	return {};
}

} // namespace rtrs::server

namespace server_testing {

constinit Fixture *stressed = nullptr;

bool Fixture::arrive(u32 slot, u32 path, u32 offset)
{
	if (!paths[path].enter())
		return false;
	slots[slot].arrive(paths[path], {&paths[path], &connections[path], ChunkOffset{offset}});
	return true;
}

bool Fixture::claim(u32 slot, u32 path)
{
	return slots[slot].claim(paths[path],
				 {&paths[path], &connections[path], ChunkOffset{kMessage}});
}

bool Fixture::arrive_by_capsule(u32 slot, u32 path, const u8 *capsule, usize message, usize size,
				Rkey closed)
{
	if (!paths[path].enter())
		return false;
	slots[slot].arrive(paths[path],
			   {.path = &paths[path],
			    .con = &connections[path],
			    .offset = ChunkOffset{4096},
			    .message_size = static_cast<u8>(message),
			    .capsule_size = static_cast<u8>(size),
			    .closed = closed},
			   capsule);
	return true;
}

void Answer::answer()
{
	// Now and then long enough for two more to come, and until all have come who meet.
	for (u32 i = stressed->requests % 8; i; i--)
		breathe();
	for (int i = 0; READ_ONCE(stressed->meeting) && i < kMeetingTicks; i++)
		schedule_timeout_uninterruptible(1);
	stressed->leave_user(static_cast<u32>(this - stressed->answers));
	static_cast<RequestSlot *>(op)->respond(0, 0);
}

} // namespace server_testing
