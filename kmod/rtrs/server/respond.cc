// SPDX-License-Identifier: GPL-2.0
// Answers (protocol A.8): one chain of work requests, handed to the device at once.
//
//	[RDMA_WRITE data] → [REG_MR new key] → [SEND_WITH_INV client's key] → final
//
// The final one carries status and slot as immediate: with always_invalidate a SEND of the chunk's
// new key, else an RDMA write of nothing. To a client that knows capsules the last two are one, a
// SEND_WITH_INV of status, slot and new key (protocol J.2). Everything here may run in hard
// interrupt context.
#include <rtrs/server/module.hh>
#include <rtrs/server/path.hh>
#include <rtrs/server/session.hh>
#include <rtrs/server/slot.hh>
#include <rtrs/server/trace.hh>

using namespace cxxrt;

namespace rtrs::server {
namespace {

class Chain {
public:
	void append(ib_send_wr &wr)
	{
		append(wr, wr);
		cost.work_requests++;
	}
	void append(Registration &registration)
	{
		append(registration.first(), registration.last());
		cost.work_requests++;
		cost.registrations++;
		cost.guards += registration.guards();
	}
	ib_send_wr *first() const { return first_; }
	ib_send_wr *last() const { return last_; }

	ChainCost cost{.work_requests = 0};

private:
	void append(ib_send_wr &first, ib_send_wr &last)
	{
		if (last_)
			last_->next = &first;
		else
			first_ = &first;
		last_ = &last;
		last.next = nullptr;
	}

	ib_send_wr *first_ = nullptr;
	ib_send_wr *last_ = nullptr;
};

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
	begin_answer();
	owner_.con->post_slot(*this);
}

Status RequestSlot::post()
{
	return step_ == Step::Invalidate ? post_invalidate() : post_answer();
}

Status RequestSlot::post_answer()
{
	ServerConnection &con = *owner_.con;
	Path &path = *owner_.path;
	PathRegions &regions = path.regions();
	const u32 local_key = path.device().pd()->local_dma_lkey;
	const bool new_key = settings().always_invalidate;
	const bool wants_data =
	    header_valid_ && header_.direction == Direction::Read && header_.has_descriptor;
	const bool invalidate = wants_data && header_.need_invalidate;
	Chain chain;

	// Never more than was produced, and never more than the peer has room for, which the parser
	// has bound to the room in the chunk (protocol G.1-78, G.3-6).
	ib_rdma_wr data{};
	ib_sge data_sge{};
	const u32 bytes =
	    wants_data && !status_ ? min_of(produced_, header_.descriptor.size.value) : 0;
	if (bytes) {
		regions.sync_for_device(slot_, bytes);
		data_sge.addr = regions.dma_addr(slot_);
		data_sge.length = bytes;
		data_sge.lkey = local_key;
		data.wr.opcode = IB_WR_RDMA_WRITE;
		data.wr.wr_cqe = con.send_cqe();
		data.wr.sg_list = &data_sge;
		data.wr.num_sge = 1;
		data.remote_addr = header_.descriptor.address.value;
		data.rkey = header_.descriptor.rkey.value;
		chain.append(data.wr);
	}

	// Each answer gives the chunk a new key, also that of a request that failed. A key that was
	// made for a chain which then found no room was never registered.
	Registration registration;
	if (new_key) {
		MemoryRegion &region = regions.region(slot_.value);
		region.renew_key();
		registration.fill(region, con.send_cqe(), PathRegions::access());
		chain.append(registration);
	}

	const bool capsule = invalidate && path.capsules();
	chain.cost.invalidations += invalidate;
	ib_send_wr inv{};
	if (invalidate && !capsule) {
		inv.opcode = IB_WR_SEND_WITH_INV;
		inv.wr_cqe = con.send_cqe();
		inv.ex.invalidate_rkey = header_.descriptor.rkey.value;
		chain.append(inv);
	}

	ib_rdma_wr final{};
	ib_sge payload{};
	final.wr.wr_cqe = con.send_cqe();
	const Immediate imm = response_imm(slot_, status_, invalidate);
	const Rkey key = new_key ? regions.region(slot_.value).rkey() : Rkey{0};
	if (capsule || new_key) {
		payload = capsule ? carry(path, slot_, make_answer_capsule(imm, key))
				  : carry(path, slot_, make_rkey_response(slot_, key));
		final.wr.sg_list = &payload;
		final.wr.num_sge = 1;
	}
	if (capsule) {
		final.wr.opcode = IB_WR_SEND_WITH_INV;
		final.wr.ex.invalidate_rkey = header_.descriptor.rkey.value;
	} else {
		final.wr.opcode = new_key ? IB_WR_SEND_WITH_IMM : IB_WR_RDMA_WRITE_WITH_IMM;
		final.wr.ex.imm_data = imm.to_network();
	}
	chain.append(final.wr);
	const Status posted = con.post_send(chain.first(), chain.last(), chain.cost);
	// The slot is this request's until finish().
	if (posted.ok())
		trace::response(path, con, chain.cost,
				{.write = header_.direction == Direction::Write,
				 .need_inval = invalidate,
				 .always_invalidate = new_key,
				 .msg_id = slot_.value,
				 .error = status_});
	return posted;
}

} // namespace rtrs::server

void rtrs_srv_respond(rtrs_srv_op *op, int status, u32 produced)
{
	static_cast<rtrs::server::RequestSlot *>(op)->respond(status, produced);
}
