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
//
// From the user's answer to the device, alone (post_now()) or in a batch (post_answers()), is one
// function each: so what they need is in this file, also where it concerns invalidations.
#include <cxxrt/rcu.hh>
#include <rtrs/server/answer_wrs.hh>
#include <rtrs/server/module.hh>
#include <rtrs/server/path.hh>
#include <rtrs/server/session.hh>
#include <rtrs/server/slot.hh>
#include <rtrs/server/trace.hh>

using namespace cxxrt;

namespace rtrs::server {

using Step = RequestSlot::Step;

namespace {

// Puts what an answer carries where it is sent from.
template <class T>
[[gnu::always_inline]] inline ib_sge carry(Path &path, Slot slot, const T &message)
{
	static_assert(sizeof(T) == sizeof(RkeyResponse));
	const DmaBuffer &answers = path.answers();
	const usize at = slot.value * sizeof(T);
	__builtin_memcpy(answers.data() + at, &message, sizeof(T));
	answers.sync_for_device(at, sizeof(T));
	return {answers.dma_addr() + at, sizeof(T), path.device().pd()->local_dma_lkey};
}

} // namespace

template <RequestSlot::Wrs kWrs, bool kRegisters>
[[gnu::always_inline]] inline void RequestSlot::make_answer(AnswerWrs &wrs, bool guarded_before)
{
	constexpr bool kRaw = kWrs == Wrs::Raw;
	ServerConnection &con = *owner_.con;
	Path &path = *owner_.path;
	PathRegions &regions = path.regions();
	const bool wants_data =
	    header_valid_ && header_.direction == Direction::Read && header_.has_descriptor;
	const bool invalidate = wants_data && header_.need_invalidate;
	const bool capsule = invalidate && path.capsules();

	// Each answer gives the chunk a new key, also that of a request that failed. A key that was
	// made for a chain which then found no room was never registered.
	wrs.registers = kRegisters;
	Rkey key{0};
	if (kRegisters) {
		MemoryRegion &region = regions.region(slot_.value);
		region.renew_key();
		key = region.rkey();
		if (kRaw)
			wrs.registration.fill(region, con.send_cqe(), PathRegions::access(),
					      guarded_before);
		else
			wrs.registration.set(region, guarded_before);
	}

	// Never more than was produced, and never more than the peer has room for, which the parser
	// has bound to the room in the chunk (protocol G.1-78, G.3-6).
	const u32 bytes =
	    wants_data && !status_ ? min_of(produced_, header_.descriptor.size.value) : 0;
	wrs.has_data = bytes != 0;
	if (bytes) {
		if (kRaw)
			wrs.format_data(con.send_cqe());
		regions.sync_for_device(slot_, bytes);
		wrs.data_sge = {regions.dma_addr(slot_), bytes, path.device().pd()->local_dma_lkey};
		wrs.data.remote_addr = header_.descriptor.address.value;
		wrs.data.rkey = header_.descriptor.rkey.value;
	}

	wrs.invalidates = invalidate;
	wrs.has_invalidation = invalidate && !capsule;
	if (wrs.has_invalidation) {
		if (kRaw)
			wrs.format_invalidation(con.send_cqe());
		wrs.invalidation.ex.invalidate_rkey = header_.descriptor.rkey.value;
	}

	// What the last post of these may have changed, too.
	ib_rdma_wr &final = wrs.final;
	if (kRaw)
		wrs.format_final();
	final.wr.wr_cqe = con.send_cqe();
	final.wr.send_flags = 0;
	wrs.event = {.slot = slot_,
		     .write = header_valid_ && header_.direction == Direction::Write,
		     .error = status_};
	const Immediate imm = response_imm(slot_, status_, invalidate);
	if (capsule || kRegisters)
		wrs.payload = capsule ? carry(path, slot_, make_answer_capsule(imm, key))
				      : carry(path, slot_, make_rkey_response(slot_, key));
	final.wr.num_sge = capsule || kRegisters;
	if (capsule) {
		final.wr.opcode = IB_WR_SEND_WITH_INV;
		final.wr.ex.invalidate_rkey = header_.descriptor.rkey.value;
	} else {
		final.wr.opcode = kRegisters ? IB_WR_SEND_WITH_IMM : IB_WR_RDMA_WRITE_WITH_IMM;
		final.wr.ex.imm_data = imm.to_network();
	}
}

Status RequestSlot::post_answer(Signal signal)
{
	[[gnu::uninitialized]] AnswerWrs wrs; // the post reads what was written
	if (settings().always_invalidate)
		make_answer<Wrs::Raw, true>(wrs, false);
	else
		make_answer<Wrs::Raw, false>(wrs, false);
	Chain chain;
	wrs.append_registration(chain);
	wrs.append_rest(chain);
	ServerConnection &con = *owner_.con;
	TRY(con.post_send(chain.first(), chain.last(), chain.cost, signal, nullptr,
			  [&] { let_go(); }));
	con.trace_answer(wrs, chain.cost);
	return {};
}

inline Status RequestSlot::post(Signal signal)
{
	return step_ == Step::Answer ? post_answer(signal) : post_invalidate();
}

// ---- when it is posted ----

[[gnu::always_inline]] inline void ServerConnection::collect(RequestSlot &slot, Step step)
{
	u32 &count = collected_[index(step)];
	// The plug may be in the midst of its end, when its list of callbacks is through already,
	// and the next disk may have to be waited for.
	plug_->watch();
	if (count == chain_.size()) [[unlikely]]
		gated_ ? hold_collected(step) : post_collected(step);
	chain_[count++].slots[index(step)] = &slot;
}

[[gnu::always_inline]] inline void ServerConnection::post_step(RequestSlot &slot, Step step)
{
	if (collects())
		collect(slot, step);
	else
		post_now(slot, gated_);
}

void ServerConnection::post_slot(RequestSlot &slot)
{
	post_step(slot, slot.step());
}

// Nobody waits for ever: when the queue refuses, a signaled work request is on its way, and its
// handler takes the list's lock after it has made room. So either the second try below finds that
// room, or that handler finds the slot on the list.
void ServerConnection::post_now(RequestSlot &slot, bool ask_gate)
{
	const Step step = slot.step();
	bool posting_allowed = false;
	Status s;
	{
		RcuReader posting;
		posting_allowed = path_.may_post();
		if (posting_allowed) [[likely]] {
			const GatePass pass = ask_gate ? pass_gate(slot) : GatePass::Post;
			if (pass == GatePass::Hold)
				return;
			s = slot.post(pass == GatePass::PostSignaled ? Signal::Always
								     : Signal::WhenDue);
			if (full(s)) [[unlikely]]
				s = pending_.with([&](PendingQueue &waiting) {
					const Status again = slot.post();
					if (full(again))
						waiting.push_back(slot);
					return again;
				});
		}
	}
	if (posting_allowed) [[likely]]
		settle(slot, step, s);
	else
		slot.dropped();
}

void ServerConnection::post_pending()
{
	for (;;) {
		RequestSlot *slot = nullptr;
		Step step{};
		bool posting_allowed = false;
		Status s;
		pending_.with([&](PendingQueue &waiting) {
			slot = waiting.pop_front();
			if (!slot)
				return;
			step = slot->step();
			RcuReader posting;
			posting_allowed = path_.may_post();
			if (posting_allowed)
				s = slot->post();
			if (full(s))
				waiting.push_front(*slot);
		});
		if (!slot || full(s))
			return;
		if (posting_allowed)
			settle(*slot, step, s);
		else
			slot->dropped();
	}
}

// What follows a try to post. The slot is touched only if its invalidation could not be posted:
// otherwise that may have completed already, the slot may be somebody else's, or it is on the list.
void ServerConnection::settle(RequestSlot &slot, Step step, const Status &s)
{
	if (full(s))
		return;
	if (step == Step::Answer) {
		answers_left(1, s);
		return;
	}
	if (s.ok())
		return;
	path_.refuse(Refusal::CompletionError, "a work request could not be posted");
	slot.dropped();
}

// So many slots were let go, and their answers were posted, or that failed.
void ServerConnection::answers_left(u32 count, const Status &s)
{
	if (s.ok()) [[likely]]
		counters().add(&WrCounters::requests, u64{count});
	else
		path_.refuse(Refusal::CompletionError, "a work request could not be posted");
	// Last: nothing else keeps the path, and with it this connection.
	path_.leave(count);
}

void ServerConnection::trace_answer(const AnswerWrs &wrs, const ChainCost &cost) const
{
	trace::response(path_, *this, cost, [&] {
		return rtrs_srv_response_event{.write = wrs.event.write,
					       .need_inval = wrs.invalidates,
					       .always_invalidate = wrs.registers,
					       .msg_id = wrs.event.slot.value,
					       .error = wrs.event.error};
	});
}

// Registrations come before the rest of all.
template <bool kRegisters>
[[gnu::always_inline]] inline void ServerConnection::chain_answers(Chain &chain, u32 count)
{
	ChainEntry *const entries = chain_.begin();
	for (u32 i = 0; i < count; i++) {
		RequestSlot &slot = *entries[i].slots[index(Step::Answer)];
		slot.make_answer<RequestSlot::Wrs::Formatted, kRegisters>(entries[i].wrs, i != 0);
		if (kRegisters)
			entries[i].wrs.append_registration(chain);
		else
			entries[i].wrs.append_rest(chain);
	}
	for (u32 i = 0; kRegisters && i < count; i++)
		entries[i].wrs.append_rest(chain);
}

// Under RcuReader, and the path may post. EAGAIN if there is no room; other errors have been seen
// to.
Status ServerConnection::post_answers(u32 count, Signal signal)
{
	ChainEntry *const entries = chain_.begin();
	Chain chain;
	if (settings().always_invalidate)
		chain_answers<true>(chain, count);
	else
		chain_answers<false>(chain, count);
	chain.cost.requests = count;
	const bool awaited = signal == Signal::Always;
	if (awaited)
		chain.last()->wr_cqe = &answers_.cqe;
	const Status s = post_send(chain.first(), chain.last(), chain.cost, signal, nullptr, [&] {
		for (u32 i = 0; i < count; i++)
			entries[i].slots[index(Step::Answer)]->let_go();
	});
	if (full(s))
		return s;
	if (s.ok()) {
		unacknowledged_ += awaited;
		for (u32 i = 0; i < count; i++)
			trace_answer(entries[i].wrs, chain.cost);
	}
	answers_left(count, s);
	return {};
}

[[gnu::always_inline]] inline void RequestSlot::answer(int status, u32 produced)
{
	// A positive status would be a bug of the user; the encoding makes EIO of it.
	status_ = status;
	produced_ = produced;
	step_ = Step::Answer;
	// The connection of a path that is closing may be gone; while it is not, the close work
	// waits for the end of this scope before it takes anything apart.
	RcuReader answering;
	if (!owner_.path->may_post()) [[unlikely]] {
		dropped();
		return;
	}
	owner_.con->post_step(*this, Step::Answer);
}

void RequestSlot::respond(int status, u32 produced)
{
	answer(status, produced);
}

} // namespace rtrs::server

void rtrs_srv_respond(rtrs_srv_op *op, int status, u32 produced)
{
	static_cast<rtrs::server::RequestSlot *>(op)->answer(status, produced);
}
