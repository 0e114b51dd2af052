// SPDX-License-Identifier: GPL-2.0
// Completions of a connection, many at once, from the queue to the slot and, in the same function,
// to the user (protocol A.5, J.2).
//
// Receives of messages that lie in a chunk carry nothing: they are posted again together, before
// any of the messages is looked at, since the client may answer at once what follows from one. A
// capsule stays where it came to until its slot has a copy.
#include <cxxrt/rcu.hh>
#include <rtrs/server/arrival.hh>
#include <rtrs/server/connection.hh>

using namespace cxxrt;

namespace rtrs::server {

template <bool kCapsules>
[[gnu::always_inline]] inline bool ServerConnection::is_receive(const ib_wc &wc) const
{
	if (kCapsules)
		return wc.wr_cqe && wc.wr_cqe->done == capsule_received;
	return wc.wr_cqe == &recv_.cqe;
}

// Those without a capsule. False: what they say is not to be worked on.
template <bool kCapsules>
[[gnu::always_inline]] inline bool ServerConnection::post_again(const ib_wc *wc, u32 count)
{
	ib_recv_wr *first = nullptr;
	u32 n = 0;
	for (const ib_wc *end = wc + count; wc != end; wc++) {
		if (!is_receive<kCapsules>(*wc) || wc->status != IB_WC_SUCCESS ||
		    wc->opcode != IB_WC_RECV_RDMA_WITH_IMM)
			continue;
		n++;
		if (kCapsules) {
			ib_recv_wr &again = CapsuleReceives::of(wc->wr_cqe).wr;
			again.next = first;
			first = &again;
		}
	}
	if (!n)
		return true;
	if (!kCapsules)
		first = &again_[kCompletionBatch - n];
	RcuReader posting;
	if (!path_.may_post()) [[unlikely]] {
		// No client knows where to write before it has INFO_RSP.
		path_.refuse(Refusal::UnexpectedMessage, "a request before INFO_RSP");
		return false;
	}
	if (ib_post_recv(qp, first, nullptr)) [[unlikely]] {
		path_.refuse(Refusal::CompletionError, "a receive could not be posted");
		return false;
	}
	return true;
}

[[gnu::always_inline]] inline bool ServerConnection::post_again(CapsuleReceives::Entry &entry)
{
	RcuReader posting;
	return path_.may_post() && CapsuleReceives::post(qp, entry).ok();
}

// The header is parsed when the request has its slot.
[[gnu::always_inline]] inline bool ServerConnection::on_capsule(CapsuleReceives::Entry &entry,
								const ib_wc &wc)
{
	// Before that it is in no session, perhaps.
	if (!path_.may_post()) [[unlikely]] {
		path_.refuse(Refusal::UnexpectedMessage, "a request before INFO_RSP");
		return false;
	}
	const u32 size = min_of(wc.byte_len, kMaxCapsule);
	RequestCapsuleFields fields{Immediate::from_value(0), {}, {}};
	if (!parse_request_capsule({entry.data(size), size}, fields).ok()) [[unlikely]] {
		path_.refuse(Refusal::CapsuleMalformed, "malformed capsule");
		return false;
	}
	[[gnu::uninitialized]] ServerImm imm;
	const Status s = settings().layout.decode_at_server(fields.imm, {cid()}, false, imm);
	if (!s.ok() || imm.kind != ServerImm::Kind::Request) [[unlikely]] {
		path_.refuse(Refusal::CapsuleMalformed, "a capsule that is no request");
		return false;
	}
	const RequestSlot::Arrival arrival{
	    .path = &path_,
	    .con = this,
	    .offset = imm.offset,
	    .message_size = static_cast<u8>(fields.message.size()),
	    .capsule_size = static_cast<u8>(fields.message.size() + fields.header.size()),
	    .closed = Rkey{wc.ex.invalidate_rkey},
	};
	RequestSlot &slot = path_.session().slot(imm.slot);
	const bool begins = slot.claim(path_, arrival, fields.message.data());
	const bool posted = post_again(entry);
	if (!posted) [[unlikely]]
		path_.refuse(Refusal::CompletionError, "a receive could not be posted");
	if (begins)
		posted ? slot.start(path_, arrival) : slot.dropped();
	return true;
}

// The receive has been posted again, so the path is in a session.
[[gnu::always_inline]] inline bool ServerConnection::on_immediate(const ib_wc &wc, bool entered)
{
	[[gnu::uninitialized]] ServerImm imm;
	if (!settings()
		 .layout
		 .decode_at_server(Immediate::from_network(wc.ex.imm_data), {cid()}, path_.fences(),
				   imm)
		 .ok()) [[unlikely]] {
		path_.refuse(Refusal::ImmediateMalformed, "malformed immediate");
		return false;
	}
	if (imm.kind != ServerImm::Kind::Request) [[unlikely]] {
		on_service(imm);
		return false;
	}
	if (!entered) [[unlikely]]
		return false;
	path_.session().slot(imm.slot).arrive(path_,
					      {.path = &path_, .con = this, .offset = imm.offset});
	return true;
}

// Other sends than capsules, with invalidation of one of our keys or without, have no place here.
template <bool kCapsules> noinline void ServerConnection::handle(ib_wc *wc, u32 count)
{
	const bool posted = post_again<kCapsules>(wc, count);
	// For as many requests as there can be. Who is too many leaves at the end, which the drain
	// waits for, and so the path, and with it this connection.
	const bool entered = path_.enter(count);
	u32 received = 0, requests = 0;
	for (const ib_wc *end = wc + count; wc != end; wc++) {
		if (plug_) [[likely]]
			collect_on();
		if (!is_receive<kCapsules>(*wc)) {
			complete(cq, *wc);
			continue;
		}
		if (wc->status != IB_WC_SUCCESS) [[unlikely]] {
			path_.fail(*wc);
			continue;
		}
		if (!received++)
			path_.heartbeat().on_traffic();
		if (wc->opcode == IB_WC_RECV_RDMA_WITH_IMM) {
			if (posted) [[likely]]
				requests += on_immediate(*wc, entered);
		} else if (kCapsules && wc->opcode == IB_WC_RECV &&
			   (wc->wc_flags & IB_WC_WITH_INVALIDATE)) {
			if (entered) [[likely]]
				requests += on_capsule(CapsuleReceives::of(wc->wr_cqe), *wc);
		} else {
			path_.refuse(Refusal::UnexpectedMessage, "a message that is no RDMA write");
		}
	}
	counters().add(&WrCounters::recv_completions, u64{received});
	if (!batch && received)
		count_completions(path_.stats(), received);
	if (entered && requests != count)
		path_.leave(count - requests);
}

// Only where ib_core hands completions out, or one comes alone.
void ServerConnection::received(ib_cq *, ib_wc *wc)
{
	of(wc).handle<false>(wc, 1);
}

void ServerConnection::capsule_received(ib_cq *, ib_wc *wc)
{
	CapsuleReceives::of(wc->wr_cqe).con->handle<true>(wc, 1);
}

void ServerConnection::on_batch(rtrs_connection *base, ib_wc *completions, u32 count)
{
	auto *con = static_cast<ServerConnection *>(base);
	count_completions(con->path_.stats(), count);
	// What comes alone may be no receive, which enters no path.
	if (count == 1) {
		complete(con->cq, *completions);
		return;
	}
	const bool capsules = static_cast<bool>(con->capsules_);
	con->in_batch([=] {
		capsules ? con->handle<true>(completions, count)
			 : con->handle<false>(completions, count);
	});
}

// Of a chain those before `slot` have been executed without a word; who was posted by himself is in
// none. If it failed, they may have been flushed like it or not: the path ends. The requests that
// begin now are a batch like those whose messages come together.
void ServerConnection::on_invalidated(RequestSlot &slot, bool ok)
{
	const bool in_chain = slot.pending.queued();
	if (!in_chain || invalidating_.front() == &slot) {
		if (in_chain)
			invalidating_.pop_front();
		ok ? slot.run() : slot.dropped();
		return;
	}
	in_batch([&] {
		for (const RequestSlot *done = nullptr; done != &slot;) {
			RequestSlot *first = invalidating_.pop_front();
			done = first;
			collect_on();
			ok ? first->resume() : first->dropped();
		}
	});
}

} // namespace rtrs::server
