// SPDX-License-Identifier: GPL-2.0
// A request becomes work requests (protocol A.5, A.8). All of one request, and of those that come
// with it, go to the device in one call. The last of them asks for a completion if one of them
// sends its user's pages by the local key (*), or the send queue's accounting needs one:
//
//	write, list fits into one work request	RDMA_WRITE_WITH_IMM [data.., message]	(*)
//	write, longer list			REG_MR, RDMA_WRITE_WITH_IMM [region, message]
//	read with data				REG_MR (remote write), RDMA_WRITE_WITH_IMM [message]
//	read without data			RDMA_WRITE_WITH_IMM [message]
//
// Where each chunk's key is good for one request, a message without data before it goes as a
// capsule, a SEND_WITH_INV that takes the key back and spares the server an invalidation (protocol
// J.2). With data it would be a second message, which costs more than it saves: soft-RoCE
// acknowledges each.
//
// A request is over when its answer is here and the device has let go of its user's memory. With
// the answer the server has received all of it, but the device does not know that before the
// acknowledgement, which may be lost, or never sent by a server that lies: it sends all of it
// again, pages that are unmapped by then, or hold by then what is not that server's business.
//
//  - Pages that go by the local key: a send completion has to cover their place in the queue. None
//    is certain to come behind them, so each chain that has such pages is signaled, once.
//  - A write through a region: its LOCAL_INV is posted when the answer is here, behind the write in
//    the same queue, where work requests complete in order.
//  - A read: its pages are only written to, and closed by an invalidation of their region.
//  - The message: its buffer is the path's, and is not freed before the queue is drained. What is
//    sent again from it is an older or a newer message of the same slot to the same server.
#include <rtrs/client/path.hh>
#include <rtrs/client/session.hh>
#include <rtrs/client/trace.hh>
#include <rtrs/wire/capsule.hh>
#include <rtrs/wire/io_header.hh>

using namespace cxxrt;

namespace rtrs::client {

inline Immediate Path::request_imm(const Request &r) const
{
	return session_limits_->layout.request(Slot{r.in.slot}, r.offset);
}

// User message and header, as they lie in the chunk behind data or room, or in a capsule behind its
// prefix.
void Path::write_message(Request &r) const
{
	rtrs_clt_request &in = r.in;
	const bool read = in.dir == RTRS_READ;
	const u16 usr_len = static_cast<u16>(in.msg_len);
	u8 *const message = r.message + sizeof(RequestCapsule);
	u8 *const header = message + usr_len;
	memcpy(message, in.msg, usr_len);
	// The caller's copy is his again; should the path die, another one takes it from here.
	in.msg = message;
	u32 size;
	if (!read) {
		const WriteHeader h = make_write_header(usr_len);
		memcpy(header, &h, size = sizeof(h));
	} else if (in.data_len) {
		const RemoteBuffer answer{
		    {r.region.iova()}, r.region.rkey(), ByteCount{in.data_len}};
		const ReadHeaderWithDescriptor h = make_read_header(usr_len, answer, true);
		memcpy(header, &h, size = sizeof(h));
	} else {
		const ReadHeader h = make_read_header(usr_len);
		memcpy(header, &h, size = sizeof(h));
	}
	size += usr_len;
	r.by_capsule = capsules_ && new_keys_ && !r.connection->is_service() &&
		       (read || !in.data_len) && fits_capsule(usr_len);
	if (r.by_capsule) {
		const RequestCapsule capsule = make_request_capsule(request_imm(r), usr_len);
		memcpy(r.message, &capsule, sizeof(capsule));
	}
	r.message_page->sync_for_device(r.message_offset, sizeof(RequestCapsule) + size);
	r.message_size = static_cast<u16>(r.by_capsule ? sizeof(RequestCapsule) + size : size);
}

inline void Path::fill(RequestWrs &wrs, const Request &r, ib_sge *sges, bool guarded_before) const
{
	const rtrs_clt_request &in = r.in;
	const bool read = in.dir == RTRS_READ;
	const u32 lkey = device_.pd()->local_dma_lkey;
	const RemoteChunk &chunk = remote_[in.slot];
	ib_cqe *const cqe = r.connection->send_cqe();

	wrs.registers = r.needs_region();
	if (wrs.registers) {
		const int access = IB_ACCESS_LOCAL_WRITE | (read ? IB_ACCESS_REMOTE_WRITE : 0);
		wrs.registration.fill(r.region, cqe, access, guarded_before);
	}
	int n = 0;
	if (!read && wrs.registers) {
		sges[n++] = {r.region.iova(), in.data_len, r.region.lkey()};
	} else if (!read) {
		scatterlist *sg = in.sg;
		for (; n < r.mapped; n++, sg = sg_next(sg))
			sges[n] = {sg_dma_address(sg), sg_dma_len(sg), lkey};
	}
	sges[n++] = {r.message_dma + (r.by_capsule ? 0 : sizeof(RequestCapsule)), r.message_size,
		     lkey};

	ib_rdma_wr &last = wrs.message;
	last = {};
	last.wr.wr_cqe = cqe;
	last.wr.sg_list = sges;
	last.wr.num_sge = n;
	if (r.by_capsule) {
		last.wr.opcode = IB_WR_SEND_WITH_INV;
		last.wr.ex.invalidate_rkey = chunk.rkey.value;
	} else {
		last.wr.opcode = IB_WR_RDMA_WRITE_WITH_IMM;
		last.wr.ex.imm_data = request_imm(r).to_network();
		// The room for a read's answer comes before the message.
		last.remote_addr = chunk.address.value + (read ? in.data_len : 0);
		last.rkey = chunk.rkey.value;
	}
}

// EAGAIN: nothing was posted. Any other failure of the post ends in the tear-down of the path, with
// the request in it: a part of the chain may be in the queue, and the region open.
Status Path::post(Request &r, Signal signal)
{
	ClientConnection &con = *r.connection;
	if (r.sends_pages())
		signal = Signal::Always;
	// What the post reads, all in this frame (protocol G.1-63). Only what fill() has written
	// is: that the kernel zeroes what is on the stack cost a quarter of this function.
	[[gnu::uninitialized]] ib_sge sges[kMaxSendSges];
	[[gnu::uninitialized]] RequestWrs wrs;
	fill(wrs, r, sges, false);
	Chain chain;
	if (wrs.registers)
		chain.append(wrs.registration);
	chain.append(wrs.message.wr);

	Status posted;
	{
		LockGuard<SpinLock> held(r.lock);
		r.state = RequestState::Posted;
		r.registered = wrs.registers;
		posted = con.post_send(chain.first(), chain.last(), chain.cost, signal, &r.place);
		trace::post(*this, r, chain.cost, posted);
		if (posted.code() == err::eagain.code()) {
			r.state = RequestState::Idle;
			r.registered = false;
			return err::eagain;
		}
		// Under the lock, so that it is counted before it can end.
		stats_->submitted(r.direction(), r.in.data_len + static_cast<u32>(r.in.msg_len),
				  r.in.nr_sg);
	}
	con.counters().inc(&WrCounters::requests);
	if (!posted.ok())
		fail(posted.error(), PathError::Post);
	return {};
}

// Held requests of one connection, all registrations first: they share a guard where they need one.
// `sges`: room for all of them. Under the connection's outbox lock, which their answers wait for.
// EAGAIN: nothing was posted. After any other error the path is torn down with the requests in it.
Status Path::post_chain(ClientConnection &con, ChainEntry *entries, u32 count, ib_sge *sges,
			Signal signal)
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
		r.state = RequestState::Posted;
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
