// SPDX-License-Identifier: GPL-2.0
#include <rnbd/client/io.hh>

#include <cxxrt/block.hh>
#include <cxxrt/log.hh>
#include <rnbd/client/device.hh>
#include <rnbd/client/session.hh>
#include <rnbd/client/trace.hh>
#include <rnbd/wire/operations.hh>

namespace rnbd::client {

namespace {

Result<Operation> operation_of(const request *rq)
{
	switch (req_op(rq)) {
	case REQ_OP_READ:
		return Operation::Read;
	case REQ_OP_WRITE:
		return Operation::Write;
	case REQ_OP_FLUSH:
		return Operation::Flush;
	case REQ_OP_DISCARD:
		return Operation::Discard;
	case REQ_OP_SECURE_ERASE:
		return Operation::SecureErase;
	case REQ_OP_WRITE_ZEROES:
		return Operation::WriteZeroes;
	default:
		return err::eopnotsupp;
	}
}

// Protocol D.3: a PREFLUSH is announced as FUA too, for servers that know only that.
u32 wire_flags(const request *rq)
{
	u32 flags = 0;
	if (rq_is_sync(const_cast<request *>(rq)))
		flags |= io_flag::sync;
	if (rq->cmd_flags & (REQ_FUA | REQ_PREFLUSH))
		flags |= io_flag::fua;
	if (rq->cmd_flags & REQ_PREFLUSH)
		flags |= io_flag::preflush;
	if (rq->cmd_flags & REQ_NOUNMAP)
		flags |= io_flag::nounmap;
	return flags;
}

Io message_for(const Device &device, request *rq, Operation op)
{
	const u32 bytes = op == Operation::Flush ? 0 : blk_rq_bytes(rq);
	const Sectors sector{op == Operation::Flush ? 0 : blk_rq_pos(rq)};
	u32 flags = wire_flags(rq);
	if (op == Operation::Write && device.makes_durable()) [[unlikely]]
		flags |= io_flag::fua;
	const u16 priority = device.session().version() >= 2 ? req_get_ioprio(rq) : kPriorityNone;
	return make_io(device.id(), op, flags, sector, bytes, priority);
}

// Errors with a meaning of their own inside the block layer (try again, requeue) are not taken
// from a peer.
blk_status_t status_for(int status)
{
	const blk_status_t s = errno_to_blk_status(status);
	switch (s) {
	case BLK_STS_OK:
	case BLK_STS_NOTSUPP:
	case BLK_STS_TIMEOUT:
	case BLK_STS_NOSPC:
	case BLK_STS_TRANSPORT:
	case BLK_STS_TARGET:
	case cxxrt::kStsResvConflict:
	case BLK_STS_MEDIUM:
	case BLK_STS_PROTECTION:
		return s;
	default:
		return BLK_STS_IOERR;
	}
}

// Before anybody learns of its end: not the user, nor who looks at all that ended with a path.
void note_durability(const request *rq, int status)
{
	UnflushedWrites &unflushed = static_cast<Device *>(rq->q->queuedata)->unflushed();
	switch (req_op(rq)) {
	case REQ_OP_FLUSH:
		if (status)
			unflushed.flush_failed();
		return;
	case REQ_OP_WRITE:
	case REQ_OP_WRITE_ZEROES:
		if (!status && !(rq->cmd_flags & REQ_FUA))
			unflushed.wrote();
		return;
	default:
		return;
	}
}

inline void note_end(request *rq)
{
	Device &device = *static_cast<Device *>(rq->q->queuedata);
	trace::io_end(device, rq);
	const IoRequest &io = *IoRequest::of(rq);
	device.stats().finished(rq, io.ended_ns - io.began_ns);
}

// Softirq, or process context of a poller or of a path that ends.
void io_done(void *priv, int status, io_comp_batch *batch, u64 now)
{
	request *rq = static_cast<request *>(priv);
	IoRequest &io = *IoRequest::of(rq);
	io.status = status;
	io.ended_ns = now;
	note_durability(rq, status);
	if (blk_mq_complete_request_remote(rq))
		return;
	// By a function of the kernel: nothing of this module runs after the last request's end.
	if (blk_mq_add_to_batch(rq, batch, status, blk_mq_end_request_batch))
		note_end(rq);
	else
		complete_rq(rq);
}

// The driver's mark that a request has been here before: the block layer gives it to us again as it
// is, in its place, and merges nothing into it.
void note_first_time(request *rq)
{
	if (rq->rq_flags & RQF_DONTPREP)
		return;
	rq->rq_flags |= RQF_DONTPREP;
	IoRequest::of(rq)->began_ns = ktime_get_ns();
}

// For a started request that no path would take.
blk_status_t wait_for_path(Device &device, request *rq)
{
	switch (device.waiting().admit(rq, WaitingRequests::Cause::Refused)) {
	case NoPathRule::Verdict::Wait:
		return BLK_STS_OK;
	case NoPathRule::Verdict::Retry:
		device.stats().count(&DeviceStats::Counters::requeues);
		return BLK_STS_RESOURCE;
	case NoPathRule::Verdict::Fail:
		break;
	}
	device.stats().count(&DeviceStats::Counters::errors);
	return BLK_STS_IOERR;
}

// Its path ended and no other one took it: the server may have executed it or not. True if it is
// taken care of.
bool lost_its_path(Device &device, request *rq)
{
	constexpr unsigned long kRetryMs = 100;
	switch (device.waiting().admit(rq, WaitingRequests::Cause::Lost)) {
	case NoPathRule::Verdict::Wait:
		return true;
	case NoPathRule::Verdict::Retry:
		device.stats().count(&DeviceStats::Counters::retries);
		// The news of the loss is on its way, or another path is.
		blk_mq_requeue_request(rq, false);
		blk_mq_delay_kick_requeue_list(rq->q, kRetryMs);
		return true;
	case NoPathRule::Verdict::Fail:
		break;
	}
	return false;
}

// `more`: others follow, or commit_rqs().
[[gnu::always_inline]] inline blk_status_t send(blk_mq_hw_ctx *hctx, request *rq, bool more)
{
	Device &device = *static_cast<Device *>(hctx->queue->queuedata);

	note_first_time(rq);
	if (!accepts_io(device.state())) [[unlikely]] {
		blk_mq_start_request(rq);
		return wait_for_path(device, rq);
	}
	Result<Operation> op = operation_of(rq);
	if (!op.ok()) [[unlikely]]
		return BLK_STS_NOTSUPP;
	// The block layer lets some writes of read-only disks pass.
	if (changes_device(*op) && device.read_only()) [[unlikely]]
		return BLK_STS_IOERR;

	// Unlike a write it can't be made durable alone; who wants zeros writes them then.
	if (*op == Operation::WriteZeroes && device.hides_cache()) [[unlikely]]
		return BLK_STS_NOTSUPP;

	const bool flush = *op == Operation::Flush;
	if (flush && !device.unflushed().begin_flush()) [[unlikely]] {
		log_error_limited(device.label(), "Flush fails: the server lost writes");
		return BLK_STS_IOERR;
	}

	blk_mq_start_request(rq);
	IoRequest::of(rq)->open_number = device.open_number();
	Session &session = device.session();
	const Io message = message_for(device, rq, *op);
	scatterlist *list = IoRequest::of(rq)->list();
	const bool with_data = carries_data(*op);
	const u32 entries = with_data ? cxxrt::map_request(rq, list) : 0;

	const rtrs_clt_request r{
	    .dir = direction_of(*op) == Transfer::Direction::Read ? RTRS_READ : RTRS_WRITE,
	    .admin = false,
	    .poll_queue = session.tags().poll_queue_of(hctx),
	    .queue = hctx->queue_num,
	    .more = more,
	    .user = device.index(),
	    .slot = session.tags().slot_of(rq),
	    .msg = &message,
	    .msg_len = sizeof(message),
	    .sg = with_data ? list : nullptr,
	    .nr_sg = entries,
	    .data_len = with_data ? blk_rq_bytes(rq) : 0,
	    .priv = rq,
	    .done = io_done,
	};

	trace::io_begin(device, rq, message);
	const int code = rtrs_clt_submit(session.transport(), &r);
	// The request may have ended by now, and is not looked at any more.
	if (!code) [[likely]]
		return BLK_STS_OK;
	if (flush)
		device.unflushed().flush_failed();
	if (code == -EAGAIN || code == -ENOMEM) {
		device.stats().count(&DeviceStats::Counters::requeues);
		return BLK_STS_RESOURCE;
	}
	if (code == -ECONNABORTED)
		return wait_for_path(device, rq);
	device.stats().count(&DeviceStats::Counters::errors);
	log_error_limited(device.label(), "Cannot send a request: %d", code);
	return BLK_STS_IOERR;
}

} // namespace

// Runs in an RCU read section, which Session::resume() relies on. Does not sleep.
//
// BLK_STS_RESOURCE makes the block layer run the queue again by itself: soon if requests of this
// queue are in flight, after a few milliseconds otherwise.
//
// The last request of a batch ends it, also if it never gets to the transport: the block layer
// calls commit_rqs() only if it learns of an error.
blk_status_t queue_rq(blk_mq_hw_ctx *hctx, const blk_mq_queue_data *data)
{
	const blk_status_t status = send(hctx, data->rq, !data->last);
	if (!data->last)
		smp_store_release(&hctx->driver_data, static_cast<void *>(hctx));
	else if (READ_ONCE(hctx->driver_data))
		commit_rqs(hctx);
	return status;
}

// In the read section of the queue_rq() calls before.
//
// The queue's data tells that the transport may keep requests of it. Two batches of one queue can
// run side by side: the mark is made after a request is kept, and erased before the commit, so who
// keeps one finds the mark, or somebody else's commit came after it.
void commit_rqs(blk_mq_hw_ctx *hctx)
{
	WRITE_ONCE(hctx->driver_data, static_cast<void *>(nullptr));
	smp_mb();
	Session &session = static_cast<Device *>(hctx->queue->queuedata)->session();
	rtrs_clt_commit(session.transport(), session.tags().poll_queue_of(hctx), hctx->queue_num);
}

// On the submitter's CPU or one that shares its cache, in softirq; or where io_done() was called.
void complete_rq(request *rq)
{
	Device &device = *static_cast<Device *>(rq->q->queuedata);
	const int status = IoRequest::of(rq)->status;
	if (status) [[unlikely]] {
		if (status == -ECONNABORTED && lost_its_path(device, rq))
			return;
		if (status == -ENOTCONN)
			device.note_unknown_id(IoRequest::of(rq)->open_number);
		device.stats().count(&DeviceStats::Counters::errors);
		log_error_limited(device.label(), "%s of %u bytes at sector %llu failed: %d",
				  blk_op_str(req_op(rq)), blk_rq_bytes(rq),
				  static_cast<unsigned long long>(blk_rq_pos(rq)), status);
	}
	note_end(rq);
	blk_mq_end_request(rq, status_for(status));
}

// The server has the memory registered, so a request can't be given up alone; what is late is said
// (protocol G.3-10).
blk_eh_timer_return report_slow_rq(request *rq)
{
	Device &device = *static_cast<Device *>(rq->q->queuedata);
	const u64 waited = ktime_get_ns() - IoRequest::of(rq)->began_ns;
	log_warning_limited(device.label(), "%s at sector %llu has waited for %llu ms",
			    blk_op_str(req_op(rq)), static_cast<unsigned long long>(blk_rq_pos(rq)),
			    static_cast<unsigned long long>(waited / NSEC_PER_MSEC));
	device.slow().note();
	return BLK_EH_RESET_TIMER;
}

u64 oldest_request_began(Device &device)
{
	struct Search {
		const Device *device;
		u64 oldest;
	} search{&device, ~u64{0}};
	auto look = [](request *rq, void *data) {
		auto *s = static_cast<Search *>(data);
		if (rq->q->queuedata == s->device)
			s->oldest =
			    cxxrt::min_of(s->oldest, READ_ONCE(IoRequest::of(rq)->began_ns));
		return true;
	};
	blk_mq_tagset_busy_iter(device.session().tags().get(), look, &search);
	return search.oldest;
}

u64 oldest_request_age(Device &device)
{
	const u64 began = oldest_request_began(device);
	const u64 now = ktime_get_ns();
	return began < now ? (now - began) / NSEC_PER_MSEC : 0;
}

int poll_queue(blk_mq_hw_ctx *hctx, io_comp_batch *batch)
{
	Session &session = static_cast<Device *>(hctx->queue->queuedata)->session();
	return rtrs_clt_poll(session.transport(), session.tags().poll_index_of(hctx), batch);
}

} // namespace rnbd::client
