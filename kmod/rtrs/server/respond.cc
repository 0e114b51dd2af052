// SPDX-License-Identifier: GPL-2.0
// Answers (protocol A.8): one chain of work requests, handed to the device at once.
//
//	[REG_MR new key] → [RDMA_WRITE data] → [SEND_WITH_INV client's key] → final
//
// The registration comes first because its guard, on soft-RoCE, waits until all before it is
// acknowledged. A client that guesses the new key before it is told can only spoil its own data.
// The final one carries status and slot as immediate: with always_invalidate a SEND of the chunk's
// new key, else an RDMA write of nothing. To a client that knows capsules the last two are one, a
// SEND_WITH_INV of status, slot and new key (protocol J.2). Everything here may run in hard
// interrupt context.
#include <rtrs/server/answer_wrs.hh>
#include <rtrs/server/module.hh>
#include <rtrs/server/path.hh>
#include <rtrs/server/session.hh>
#include <rtrs/server/slot.hh>
#include <rtrs/server/trace.hh>

using namespace cxxrt;

namespace rtrs::server {
namespace {

// Puts what an answer carries where it is sent from.
template <class T> ib_sge carry(Path &path, Slot slot, const T &message)
{
	static_assert(sizeof(T) == sizeof(RkeyResponse));
	const DmaBuffer &answers = path.answers();
	const usize at = slot.value * sizeof(T);
	__builtin_memcpy(answers.data() + at, &message, sizeof(T));
	answers.sync_for_device(at, sizeof(T));
	return {answers.dma_addr() + at, sizeof(T), path.device().pd()->local_dma_lkey};
}

} // namespace

void RequestSlot::respond(int status, u32 produced)
{
	// A positive status would be a bug of the user; the encoding makes EIO of it.
	status_ = status;
	produced_ = produced;
	step_ = Step::Answer;
	owner_.con->post_slot(*this);
}

Status RequestSlot::post(Signal signal)
{
	return step_ == Step::Invalidate ? post_invalidate() : post_answer(signal);
}

inline void RequestSlot::make_answer(AnswerWrs &wrs, bool guarded_before)
{
	ServerConnection &con = *owner_.con;
	Path &path = *owner_.path;
	PathRegions &regions = path.regions();
	const bool wants_data =
	    header_valid_ && header_.direction == Direction::Read && header_.has_descriptor;
	const bool invalidate = wants_data && header_.need_invalidate;
	const bool capsule = invalidate && path.capsules();

	// Each answer gives the chunk a new key, also that of a request that failed. A key that was
	// made for a chain which then found no room was never registered.
	wrs.registers = settings().always_invalidate;
	if (wrs.registers) {
		MemoryRegion &region = regions.region(slot_.value);
		region.renew_key();
		wrs.registration.fill(region, con.send_cqe(), PathRegions::access(),
				      guarded_before);
	}

	// Never more than was produced, and never more than the peer has room for, which the parser
	// has bound to the room in the chunk (protocol G.1-78, G.3-6).
	const u32 bytes =
	    wants_data && !status_ ? min_of(produced_, header_.descriptor.size.value) : 0;
	wrs.has_data = bytes != 0;
	if (bytes) {
		regions.sync_for_device(slot_, bytes);
		wrs.data_sge = {regions.dma_addr(slot_), bytes, path.device().pd()->local_dma_lkey};
		ib_rdma_wr &data = wrs.data;
		data = {};
		data.wr.opcode = IB_WR_RDMA_WRITE;
		data.wr.wr_cqe = con.send_cqe();
		data.wr.sg_list = &wrs.data_sge;
		data.wr.num_sge = 1;
		data.remote_addr = header_.descriptor.address.value;
		data.rkey = header_.descriptor.rkey.value;
	}

	wrs.invalidates = invalidate;
	wrs.has_invalidation = invalidate && !capsule;
	if (wrs.has_invalidation) {
		ib_send_wr &inv = wrs.invalidation;
		inv = {};
		inv.opcode = IB_WR_SEND_WITH_INV;
		inv.wr_cqe = con.send_cqe();
		inv.ex.invalidate_rkey = header_.descriptor.rkey.value;
	}

	ib_rdma_wr &final = wrs.final;
	final = {};
	final.wr.wr_cqe = con.send_cqe();
	wrs.event = {
	    .slot = slot_, .write = header_.direction == Direction::Write, .error = status_};
	const Immediate imm = response_imm(slot_, status_, invalidate);
	const Rkey key = wrs.registers ? regions.region(slot_.value).rkey() : Rkey{0};
	if (capsule || wrs.registers) {
		wrs.payload = capsule ? carry(path, slot_, make_answer_capsule(imm, key))
				      : carry(path, slot_, make_rkey_response(slot_, key));
		final.wr.sg_list = &wrs.payload;
		final.wr.num_sge = 1;
	}
	if (capsule) {
		final.wr.opcode = IB_WR_SEND_WITH_INV;
		final.wr.ex.invalidate_rkey = header_.descriptor.rkey.value;
	} else {
		final.wr.opcode = wrs.registers ? IB_WR_SEND_WITH_IMM : IB_WR_RDMA_WRITE_WITH_IMM;
		final.wr.ex.imm_data = imm.to_network();
	}
}

void RequestSlot::fill_answer(AnswerWrs &wrs, bool guarded_before)
{
	make_answer(wrs, guarded_before);
}

Status RequestSlot::post_answer(Signal signal)
{
	[[gnu::uninitialized]] AnswerWrs wrs; // the post reads what was written
	make_answer(wrs, false);
	Chain chain;
	wrs.append_registration(chain);
	wrs.append_rest(chain);
	ServerConnection &con = *owner_.con;
	TRY(con.post_send(chain.first(), chain.last(), chain.cost, signal, nullptr,
			  [&] { let_go(); }));
	con.trace_answer(wrs, chain.cost);
	return {};
}

} // namespace rtrs::server

void rtrs_srv_respond(rtrs_srv_op *op, int status, u32 produced)
{
	static_cast<rtrs::server::RequestSlot *>(op)->respond(status, produced);
}
