// SPDX-License-Identifier: GPL-2.0
// A request becomes work requests (protocol A.5, A.8). All of one request go to the device in one
// call, and none of them asks for a completion unless the send queue's accounting needs one:
//
//	write, list fits into one work request	RDMA_WRITE_WITH_IMM [data.., message]
//	write, longer list			REG_MR, RDMA_WRITE_WITH_IMM [region, message]
//	read with data				REG_MR (remote write), RDMA_WRITE_WITH_IMM [message]
//	read without data			RDMA_WRITE_WITH_IMM [message]
//
// Where each chunk's key is good for one request, a message without data before it goes as a
// capsule, a SEND_WITH_INV that takes the key back and spares the server an invalidation (protocol
// J.2). With data it would be a second message, which costs more than it saves: soft-RoCE
// acknowledges each.
//
// The request ends by the server's answer, not by a send completion: with the answer the server
// has received all of it. A retransmission that the answer made needless sends bytes that the
// server's queue pair drops as duplicates, whatever they have become.
#include <cxxrt/log.hh>
#include <rtrs/client/path.hh>
#include <rtrs/client/session.hh>
#include <rtrs/client/trace.hh>
#include <rtrs/wire/capsule.hh>
#include <rtrs/wire/io_header.hh>

using namespace cxxrt;

namespace rtrs::client {
namespace {

// A list that is mapped for DMA until release() or the end of the scope.
class MappedList {
public:
	static Result<MappedList> map(ib_device *ibdev, const rtrs_clt_request &in,
				      dma_data_direction direction)
	{
		int count = 0;
		if (in.nr_sg) {
			count = static_cast<int>(
			    ib_dma_map_sg(ibdev, in.sg, static_cast<int>(in.nr_sg), direction));
			if (count <= 0)
				return err::enomem;
		}
		return MappedList(ibdev, in, direction, count);
	}
	MappedList(MappedList &&o)
	    : ibdev_(o.ibdev_), in_(o.in_), direction_(o.direction_), count_(exchange(o.count_, 0))
	{
	}
	~MappedList()
	{
		if (count_)
			ib_dma_unmap_sg(ibdev_, in_.sg, static_cast<int>(in_.nr_sg), direction_);
	}
	// Entries to use: mapping may have merged some (protocol G.1-46).
	int count() const { return count_; }
	void release() { count_ = 0; }

private:
	MappedList(ib_device *ibdev, const rtrs_clt_request &in, dma_data_direction direction,
		   int count)
	    : ibdev_(ibdev), in_(in), direction_(direction), count_(count)
	{
	}

	ib_device *ibdev_;
	const rtrs_clt_request &in_;
	dma_data_direction direction_;
	int count_;
};

// The bytes of a mapped list, for a request that says how many it moves.
u64 mapped_bytes(scatterlist *sg, int count)
{
	u64 total = 0;
	for (int i = 0; i < count; i++, sg = sg_next(sg))
		total += sg_dma_len(sg);
	return total;
}

// User message and header, as they lie in the chunk behind data or room, or in a capsule behind its
// prefix, which `capsule` is. Their size, with a prefix if there is one.
u32 write_message(Request &r, const RequestCapsule *capsule)
{
	rtrs_clt_request &in = r.in;
	const u16 usr_len = static_cast<u16>(in.msg_len);
	u8 *const message = r.message + sizeof(*capsule);
	u8 *const header = message + usr_len;
	memcpy(message, in.msg, usr_len);
	// The caller's copy is his again; should the path die, another one takes it from here.
	in.msg = message;
	u32 size;
	if (in.dir == RTRS_WRITE) {
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
	if (capsule)
		memcpy(r.message, capsule, sizeof(*capsule));
	r.message_page->sync_for_device(r.message_offset, sizeof(*capsule) + size);
	return capsule ? sizeof(*capsule) + size : size;
}

} // namespace

// Each CPU has a connection, whose completions come back to it.
ClientConnection &Path::choose_connection(const rtrs_clt_request &in)
{
	u32 cid;
	if (in.admin)
		cid = 0;
	else if (in.poll_queue && in.poll_queue <= session_.poll_connections())
		cid = session_.irq_connections() + in.poll_queue;
	else
		cid = 1 + raw_smp_processor_id() % session_.irq_connections();
	return *connections_[cid];
}

Status Path::submit(const rtrs_clt_request &in)
{
	const bool read = in.dir == RTRS_READ;
	const bool has_data = in.data_len != 0;
	if (in.msg_len > RTRS_MAX_USER_MSG || in.data_len > session_limits_->max_io_size)
		return err::emsgsize;
	if (has_data != (in.nr_sg != 0))
		return err::einval;
	const ChunkOffset offset =
	    TRY(place_request(read ? Direction::Read : Direction::Write, ByteCount{in.data_len},
			      ByteCount{static_cast<u32>(in.msg_len)}, read && has_data,
			      session_limits_->chunk, session_limits_->reply.max_header_size));

	Request &r = (*requests_)[Slot{in.slot}];
	// The slot is the caller's, so nobody else is in its entry.
	if (WARN_ON_ONCE(r.state != RequestState::Idle))
		return err::ebusy;
	ClientConnection &con = choose_connection(in);

	MappedList list =
	    TRY(MappedList::map(device_.ibdev(), in, read ? DMA_FROM_DEVICE : DMA_TO_DEVICE));
	if (has_data && mapped_bytes(in.sg, list.count()) != in.data_len)
		return err::einval;
	const u32 data_sges = static_cast<u32>(list.count());
	const bool use_region = has_data && (read || data_sges + 1 > con.send_sges());
	if (use_region) {
		TRY(r.region.map(in.sg, list.count(), kClientSegmentSize));
		// A list with gaps on a device that can't register them.
		if (r.region.length() != in.data_len)
			return err::einval;
		// What a peer may have kept of an earlier request opens nothing.
		r.region.renew_key();
	}

	r.in = in;
	r.connection = &con;
	r.cpu = raw_smp_processor_id();
	r.started_ns = ktime_get_ns();
	r.status = 0;
	trace::submit(*this, r);
	TRY(post(r, con, offset, use_region ? -1 : list.count()));
	list.release();
	return {};
}

// `mapped` entries of the list travel by themselves; -1: the region does. EAGAIN: nothing was
// posted. Any other failure of the post ends in the tear-down of the path, with the request in it:
// a part of the chain may be in the queue, and the region open.
Status Path::post(Request &r, ClientConnection &con, ChunkOffset offset, int mapped)
{
	const rtrs_clt_request &in = r.in;
	const bool read = in.dir == RTRS_READ;
	const bool use_region = mapped < 0;
	const u32 lkey = device_.pd()->local_dma_lkey;
	const RemoteChunk &chunk = remote_[in.slot];
	const Immediate imm = session_limits_->layout.request(Slot{in.slot}, offset);
	const bool by_capsule = capsules_ && new_keys_ && !con.is_service() &&
				(read || !in.data_len) && fits_capsule(in.msg_len);
	const RequestCapsule capsule = make_request_capsule(imm, static_cast<u16>(in.msg_len));
	const u32 message_size = write_message(r, by_capsule ? &capsule : nullptr);

	// What the post reads, all in this frame (protocol G.1-63).
	ib_sge sges[kMaxSendSges];
	int n = 0;
	if (!read && use_region) {
		sges[n++] = {r.region.iova(), in.data_len, r.region.lkey()};
	} else if (!read) {
		scatterlist *sg = in.sg;
		for (; n < mapped; n++, sg = sg_next(sg))
			sges[n] = {sg_dma_address(sg), sg_dma_len(sg), lkey};
	}
	sges[n++] = {r.message_dma + (by_capsule ? 0 : sizeof(capsule)), message_size, lkey};

	ib_rdma_wr last{};
	last.wr.wr_cqe = con.send_cqe();
	last.wr.sg_list = sges;
	last.wr.num_sge = n;
	if (by_capsule) {
		last.wr.opcode = IB_WR_SEND_WITH_INV;
		last.wr.ex.invalidate_rkey = chunk.rkey.value;
	} else {
		last.wr.opcode = IB_WR_RDMA_WRITE_WITH_IMM;
		last.wr.ex.imm_data = imm.to_network();
		// The room for a read's answer comes before the message.
		last.remote_addr = chunk.address.value + (read ? in.data_len : 0);
		last.rkey = chunk.rkey.value;
	}

	Registration registration;
	ib_send_wr *first = &last.wr;
	ChainCost cost{.work_requests = 1};
	if (use_region) {
		const int access = IB_ACCESS_LOCAL_WRITE | (read ? IB_ACCESS_REMOTE_WRITE : 0);
		registration.fill(r.region, con.send_cqe(), access);
		registration.last().next = &last.wr;
		first = &registration.first();
		cost = {.work_requests = 2, .registrations = 1, .guards = registration.guards()};
	}

	Status posted;
	{
		LockGuard<SpinLock> held(r.lock);
		r.state = RequestState::Posted;
		r.registered = use_region;
		posted = con.post_send(first, &last.wr, cost);
		trace::post(*this, r, cost, posted);
		if (posted.code() == err::eagain.code()) {
			r.state = RequestState::Idle;
			r.registered = false;
			return err::eagain;
		}
		// Under the lock, so that it is counted before it can end.
		stats_->submitted(r.direction(), in.data_len + static_cast<u32>(in.msg_len),
				  in.nr_sg);
	}
	con.counters().inc(&WrCounters::requests);
	if (!posted.ok())
		fail(posted.error(), PathError::Post);
	return {};
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

int Path::poll(u32 queue)
{
	if (queue >= session_.poll_connections())
		return 0;
	return connections_[1 + session_.irq_connections() + queue]->poll();
}

} // namespace rtrs::client
