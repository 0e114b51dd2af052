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
//
// All of it is in line where it is called, by Path::take() in submit.cc, and by what takes requests
// aside from there (throttle.cc): a request that is posted alone passes through one function.
#pragma once

#include <rtrs/client/path.hh>
#include <rtrs/client/request_wrs.hh>
#include <rtrs/client/session.hh>
#include <rtrs/client/trace.hh>
#include <rtrs/wire/capsule.hh>
#include <rtrs/wire/io_header.hh>

namespace rtrs::client {

inline Immediate Path::request_imm(const Request &r) const
{
	return session_limits_->layout.request(Slot{r.in.slot}, r.offset);
}

// User message and header, as they lie in the chunk behind data or room, or in a capsule behind its
// prefix.
[[gnu::always_inline]] inline void Path::write_message(Request &r) const
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
	r.by_capsule = (read || !in.data_len) && capsules_ && new_keys_ &&
		       !r.connection->is_service() && fits_capsule(usr_len);
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
		while (n < r.mapped) {
			sges[n++] = {sg_dma_address(sg), sg_dma_len(sg), lkey};
			if (n < r.mapped)
				sg = sg_next(sg);
		}
	}
	sges[n++] = {r.message_dma + (r.by_capsule ? 0 : sizeof(RequestCapsule)), r.message_size,
		     lkey};

	// Every member that a write, or a send, has; to zero the rest costs as much again.
	ib_rdma_wr &last = wrs.message;
	last.wr.send_flags = 0;
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
// the request in it: a part of the chain may be in the queue, and the region open. `posted_as`:
// Posted, or Passed.
[[gnu::always_inline]] inline Status Path::post(Request &r, Signal signal, RequestState posted_as)
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
		cxxrt::LockGuard<cxxrt::SpinLock> held(r.lock);
		r.state = posted_as;
		r.registered = wrs.registers;
		posted =
		    con.post_send(chain.first(), chain.last(), chain.cost, signal, &r.place, [] {});
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

} // namespace rtrs::client
