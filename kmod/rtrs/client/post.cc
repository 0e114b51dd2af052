// SPDX-License-Identifier: GPL-2.0
// Posts other than that of a request alone, which is in post.hh: chains of held ones, and fences.
#include <rtrs/client/path.hh>
#include <rtrs/client/post.hh>
#include <rtrs/client/session.hh>
#include <rtrs/client/trace.hh>

using namespace cxxrt;

namespace rtrs::client {

// Held requests of one connection, all registrations first: they share a guard where they need one.
// `sges`: room for all of them. Under the connection's send batch lock, which their answers wait
// for. `last`: what the last of them is when it is posted. EAGAIN: nothing was posted. After any
// other error the path is torn down with the requests in it.
Status Path::post_chain(ClientConnection &con, ChainEntry *entries, u32 count, ib_sge *sges,
			Signal signal, RequestState last)
{
	Chain chain;
	for (u32 i = 0; i < count; i++) {
		ChainEntry &e = entries[i];
		fill(e.wrs, *e.request, sges, chain.cost.registrations != 0);
		sges += e.request->sges();
		if (e.wrs.registers)
			chain.append(e.wrs.registration);
		if (e.request->sends_pages())
			signal = Signal::Always;
	}
	for (u32 i = 0; i < count; i++)
		chain.append(entries[i].wrs.message.wr);
	chain.cost.requests = count;

	// If only a part of it was posted, no completion covers it: the tear-down ends its
	// requests.
	u64 place = ~u64{0};
	const Status posted =
	    con.post_send(chain.first(), chain.last(), chain.cost, signal, &place);
	for (u32 i = 0; i < count; i++)
		trace::post(*this, *entries[i].request, chain.cost, posted);
	if (posted.code() == err::eagain.code())
		return posted;
	for (u32 i = 0; i < count; i++) {
		Request &r = *entries[i].request;
		LockGuard<SpinLock> held(r.lock);
		r.state = i + 1 < count ? RequestState::Posted : last;
		r.registered = entries[i].wrs.registers;
		r.place = place;
	}
	con.counters().add(&WrCounters::requests, u64{count});
	return posted;
}

Status Path::post_fence(u32 serial)
{
	ClientConnection &service = *connections_[0];
	ib_rdma_wr fence{};
	fence.wr.opcode = IB_WR_RDMA_WRITE_WITH_IMM;
	fence.wr.wr_cqe = service.send_cqe();
	fence.wr.ex.imm_data = Immediate(ImmType::Fence, serial).to_network();
	// Before the post, for the answer may come before it returns.
	WRITE_ONCE(fence_posted_, jiffies);
	__atomic_store_n(&carried_fence_, serial, __ATOMIC_RELEASE);
	const Status s = service.post_send(&fence.wr, &fence.wr, {.work_requests = 1});
	if (!s.ok())
		__atomic_store_n(&carried_fence_, 0u, __ATOMIC_RELEASE);
	return s;
}

} // namespace rtrs::client
