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
[[gnu::always_inline]] inline void carry(ib_sge &payload, const Path &path, Slot slot,
					 const T &message)
{
	static_assert(sizeof(T) == sizeof(RkeyResponse));
	const DmaBuffer &answers = path.answers();
	const usize at = slot.value * sizeof(T);
	__builtin_memcpy(answers.data() + at, &message, sizeof(T));
	answers.sync_for_device(at, sizeof(T));
	payload.addr = answers.dma_addr() + at;
}

} // namespace

template <RequestSlot::Wrs kWrs, bool kRegisters>
[[gnu::always_inline]] inline void RequestSlot::make_answer(AnswerWrs &wrs, ServerConnection &con,
							    Path &path, bool guarded_before,
							    AnswerParts &parts)
{
	constexpr bool kRaw = kWrs == Wrs::Raw;
	const u32 lkey = kRaw ? path.device().pd()->local_dma_lkey : 0;
	PathRegions &regions = path.regions();
	const RemoteBuffer &room = header_.descriptor;
	const bool invalidate = header_.need_invalidate;
	const bool capsule = invalidate && path.capsules();

	// Each answer gives the chunk a new key, also that of a request that failed. A key that was
	// made for a chain which then found no room was never registered.
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
	// has bound to the room in the chunk (protocol G.1-78, G.3-6). It has none for the answer
	// to a write.
	const u32 bytes = status_ ? 0 : min_of(produced_, room.size.value);
	if (bytes) {
		if (kRaw)
			wrs.format_data(con.send_cqe(), lkey);
		regions.sync_for_device(slot_, bytes);
		wrs.data_sge.addr = regions.dma_addr(slot_);
		wrs.data_sge.length = bytes;
		wrs.data.remote_addr = room.address.value;
		wrs.data.rkey = room.rkey.value;
	}

	const bool separate = invalidate && !capsule;
	if (separate) {
		if (kRaw)
			wrs.format_invalidation(con.send_cqe());
		wrs.invalidation.ex.invalidate_rkey = room.rkey.value;
	}

	if (kRaw)
		wrs.format_final(con.send_cqe(), lkey);
	ib_send_wr &final = wrs.final.wr;
	const Immediate imm = response_imm(slot_, status_, invalidate);
	final.num_sge = capsule || kRegisters;
	if (capsule) {
		carry(wrs.payload, path, slot_, make_answer_capsule(imm, key));
		final.opcode = IB_WR_SEND_WITH_INV;
		final.ex.invalidate_rkey = room.rkey.value;
	} else {
		if (kRegisters)
			carry(wrs.payload, path, slot_, make_rkey_response(slot_, key));
		final.opcode = kRegisters ? IB_WR_SEND_WITH_IMM : IB_WR_RDMA_WRITE_WITH_IMM;
		final.ex.imm_data = imm.to_network();
	}
	parts.data = bytes != 0;
	parts.invalidation = separate;
	parts.invalidates = invalidate;
}

template <bool kRegisters>
[[gnu::always_inline]] inline Status RequestSlot::post_alone(Signal signal)
{
	ServerConnection &con = *owner_.con;
	[[gnu::uninitialized]] AnswerWrs wrs; // the post reads what was written
	[[gnu::uninitialized]] AnswerParts parts;
	make_answer<Wrs::Raw, kRegisters>(wrs, con, *owner_.path, false, parts);
	Links links;
	ChainCost cost{.work_requests = 1u + kRegisters + parts.data + parts.invalidation,
		       .registrations = kRegisters,
		       .invalidations = parts.invalidates};
	if (kRegisters) {
		links.append(wrs.registration.first(), wrs.registration.last());
		cost.guards = wrs.registration.guards();
	}
	wrs.append_rest(links, parts);
	const AnswerEvent event = answer_event();
	TRY(con.post_send(links.close(), links.last(), cost, signal, nullptr, [&] { let_go(); }));
	con.trace_answer(event, parts, cost);
	return {};
}

Status RequestSlot::post_answer(Signal signal)
{
	return settings().always_invalidate ? post_alone<true>(signal) : post_alone<false>(signal);
}

inline Status RequestSlot::post(Signal signal)
{
	return step_ == Step::Answer ? post_answer(signal) : post_invalidate();
}

// ---- when it is posted ----

[[gnu::always_inline]] inline void ServerConnection::post_step(RequestSlot &slot, Step step)
{
	if (!collects()) {
		const bool at_once = step == Step::Answer && path_.posts_freely();
		at_once ? answer_now(slot) : post_now(slot);
		return;
	}
	// The plug may be in the midst of its end, when its list of callbacks is through already,
	// and the next disk may have to be waited for.
	plug_->watch();
	collect(slot, step);
}

// An answer alone, as most are at depth 1: to the device in one function. Under RcuReader, on a
// path that posts freely.
noinline void ServerConnection::answer_now(RequestSlot &slot)
{
	Status s = settings().always_invalidate ? slot.post_alone<true>(Signal::WhenDue)
						: slot.post_alone<false>(Signal::WhenDue);
	if (full(s)) [[unlikely]] {
		s = wait_for_room(slot);
		if (full(s))
			return;
	}
	answers_left(1, s);
}

void ServerConnection::post_slot(RequestSlot &slot)
{
	post_step(slot, slot.step());
}

void ServerConnection::post_now(RequestSlot &slot)
{
	const Step step = slot.step();
	Status s;
	{
		RcuReader posting;
		if (!path_.posts_freely()) [[unlikely]] {
			post_slow_path(slot, step);
			return;
		}
		s = post_or_wait(slot, Signal::WhenDue);
	}
	finish_step(slot, step, s);
}

// Under RcuReader. The path has throttles, or may not post.
noinline void ServerConnection::post_slow_path(RequestSlot &slot, Step step)
{
	if (!path_.may_post()) {
		slot.dropped();
		return;
	}
	const ThrottlePass pass = throttle_ ? throttle_->pass_slot(slot) : ThrottlePass::Post;
	if (pass != ThrottlePass::Hold)
		finish_step(slot, step,
			    post_or_wait(slot, pass == ThrottlePass::PostSignaled
						   ? Signal::Always
						   : Signal::WhenDue));
}

[[gnu::always_inline]] inline Status ServerConnection::post_or_wait(RequestSlot &slot,
								    Signal signal)
{
	const Status s = slot.post(signal);
	if (full(s)) [[unlikely]]
		return wait_for_room(slot);
	return s;
}

// No slot waits for ever: when the queue refuses, a signaled work request is on its way. Its
// handler makes room, under the lock of the send queue, and then looks whether a slot is expecting
// that. So either the second try finds that room, or that handler finds who was said to come,
// behind the list's lock.
noinline Status ServerConnection::wait_for_room(RequestSlot &slot)
{
	return pending_.with([&](PendingQueue &waiting) {
		WRITE_ONCE(expecting_, static_cast<u8>(expecting_ | kPending));
		const Status again = slot.post();
		if (full(again))
			waiting.push_back(slot);
		return again;
	});
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
			if (!slot) {
				WRITE_ONCE(expecting_, static_cast<u8>(expecting_ & ~kPending));
				return;
			}
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
			finish_step(*slot, step, s);
		else
			slot->dropped();
	}
}

// What follows a try to post. The slot is touched only if its invalidation could not be posted:
// otherwise that may have completed already, the slot may be somebody else's, or it is on the list.
void ServerConnection::finish_step(RequestSlot &slot, Step step, const Status &s)
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

void ServerConnection::trace_answer(const AnswerEvent &event, const AnswerParts &parts,
				    const ChainCost &cost) const
{
	trace::response(path_, *this, cost, [&] {
		return rtrs_srv_response_event{.write = event.write,
					       .need_inval = parts.invalidates,
					       .always_invalidate = settings().always_invalidate,
					       .msg_id = event.slot.value,
					       .error = event.error};
	});
}

// Registrations come before the rest of all. `traced`: the entries keep what the event shows.
template <bool kRegisters>
[[gnu::always_inline]] inline void ServerConnection::chain_answers(Links &chain, ChainCost &cost,
								   u32 count, bool traced)
{
	Links rest;
	u32 wrs = count, invalidations = 0, guards = 0;
	ChainEntry *const first = chain_.begin();
	for (ChainEntry *e = first; e != first + count; e++) {
		RequestSlot &slot = *e->slots[index(Step::Answer)];
		[[gnu::uninitialized]] AnswerParts parts;
		slot.make_answer<RequestSlot::Wrs::Formatted, kRegisters>(e->wrs, *this, path_,
									  e != first, parts);
		if (kRegisters) {
			chain.append(e->wrs.registration.first(), e->wrs.registration.last());
			guards += e->wrs.registration.guards();
		}
		e->wrs.append_rest(kRegisters ? rest : chain, parts);
		wrs += parts.data + parts.invalidation;
		invalidations += parts.invalidates;
		if (traced) [[unlikely]] {
			e->wrs.parts = {parts.data, parts.invalidation, parts.invalidates};
			e->wrs.event = slot.answer_event();
		}
	}
	cost = {.work_requests = wrs, .invalidations = invalidations, .requests = count};
	if (kRegisters) {
		chain.append(rest);
		cost.work_requests += count;
		cost.registrations = count;
		cost.guards = guards;
	}
}

// Under RcuReader, and the path may post. EAGAIN if there is no room; other errors have been seen
// to.
Status ServerConnection::post_answers(u32 count, Signal signal, ib_cqe *completes)
{
	ChainEntry *const first = chain_.begin();
	ChainEntry *const end = first + count;
	const bool traced = trace::shows_responses();
	Links chain;
	[[gnu::uninitialized]] ChainCost cost;
	if (settings().always_invalidate)
		chain_answers<true>(chain, cost, count, traced);
	else
		chain_answers<false>(chain, cost, count, traced);
	AnswerWrs &last = end[-1].wrs;
	last.final.wr.wr_cqe = completes;
	const Status s = post_send(chain.close(), chain.last(), cost, signal, nullptr, [&] {
		for (ChainEntry *e = first; e != end; e++)
			e->slots[index(Step::Answer)]->let_go();
	});
	last.end_post(send_cqe());
	if (full(s))
		return s;
	if (s.ok())
		for (ChainEntry *e = first; traced && e != end; e++)
			trace_answer(e->wrs.event, e->wrs.parts, cost);
	answers_left(count, s);
	return s;
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

CXXRT_FOR_C void rtrs_srv_respond(rtrs_srv_op *op, int status, u32 produced)
{
	static_cast<rtrs::server::RequestSlot *>(op)->answer(status, produced);
}
