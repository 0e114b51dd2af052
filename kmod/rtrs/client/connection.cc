// SPDX-License-Identifier: GPL-2.0
// What happens on a connection: completions of receives and sends, invalidations.
#include <cxxrt/log.hh>
#include <cxxrt/rcu.hh>
#include <rtrs/client/connection.hh>
#include <rtrs/client/path.hh>
#include <rtrs/client/session.hh>

using namespace cxxrt;

namespace rtrs::client {

ClientConnection::ClientConnection(Path &path, u16 cid)
    : Connection(cid, path.wr_counters()), path_(path)
{
}

bool ClientConnection::is_polled() const
{
	return cid() > path_.session().irq_connections();
}

// ---- receives ----

Status ClientConnection::provide_receives(u32 count, bool with_keys)
{
	receive_count_ = count;
	receives_ = TRY(Array<Receive>::create(with_keys ? count : 1));
	if (with_keys)
		keys_ = TRY(DmaBuffer::create(path_.device().ibdev(), count * sizeof(RkeyResponse),
					      DMA_FROM_DEVICE));
	u32 offset = 0;
	for (Receive &r : receives_) {
		r.bind(this, offset);
		offset += sizeof(RkeyResponse);
	}
	return {};
}

Status ClientConnection::start_receives()
{
	for (u32 i = 0; i < receive_count_; i++)
		TRY(post(receives_[keys_ ? i : 0]));
	return {};
}

Status ClientConnection::post(Receive &receive)
{
	if (!keys_)
		return post_empty_recv(receive.cqe());
	ib_sge sge{};
	sge.addr = keys_.dma_addr() + receive.offset();
	sge.length = sizeof(RkeyResponse);
	sge.lkey = qp->pd->local_dma_lkey;
	ib_recv_wr wr{};
	wr.wr_cqe = receive.cqe();
	wr.sg_list = &sge;
	wr.num_sge = 1;
	return Status::from_code(ib_post_recv(qp, &wr, nullptr));
}

void Receive::on_done(const ib_wc &wc)
{
	connection_->on_receive(*this, wc);
}

void ClientConnection::on_receive(Receive &receive, const ib_wc &wc)
{
	if (wc.status != IB_WC_SUCCESS) {
		on_broken(wc);
		return;
	}
	counters().inc(&WrCounters::recv_completions);
	path_.stats().completed();
	path_.on_traffic();

	const bool is_send = wc.opcode == IB_WC_RECV;
	const bool has_imm = wc.wc_flags & IB_WC_WITH_IMM;
	const bool has_key = is_send && has_imm && keys_;
	// Read before the receive, whose memory holds it, is posted again.
	const Result<Rkey> key = has_key ? read_key(receive, wc) : Result<Rkey>(err::emsgsize);

	const RcuReader reader;
	if (path_.posting())
		if (const Status s = post(receive); !s.ok())
			path_.fail(s.error(), PathError::Post);

	if (has_key && !key.ok()) {
		log_error_limited(path_.log_name(), "con %u: malformed message with a new key: %d",
				  cid(), key.code());
		path_.fail(key.error(), PathError::Malformed);
	} else if (has_imm) {
		path_.on_immediate(*this, Immediate::from_network(wc.ex.imm_data),
				   has_key ? &key.value() : nullptr);
	} else if (is_send && (wc.wc_flags & IB_WC_WITH_INVALIDATE)) {
		has_invalidated_ = true;
		invalidated_ = Rkey{wc.ex.invalidate_rkey};
	} else {
		path_.stats().error(PathError::Stray);
		log_warning_limited(path_.log_name(), "con %u: unexpected message of %u bytes",
				    cid(), wc.byte_len);
	}
}

// The RKEY_RSP that came with an immediate; the keys are whatever the server wrote there.
Result<Rkey> ClientConnection::read_key(const Receive &receive, const ib_wc &wc)
{
	RkeyResponse copy;
	keys_.sync_for_cpu(receive.offset(), sizeof(copy));
	memcpy(&copy, keys_.data() + receive.offset(), sizeof(copy));
	keys_.sync_for_device(receive.offset(), sizeof(copy));
	const Immediate imm = Immediate::from_network(wc.ex.imm_data);
	return parse_rkey_response(ByteView(&copy, min_of<usize>(wc.byte_len, sizeof(copy))),
				   response_slot(imm));
}

bool ClientConnection::take_invalidated(Rkey key)
{
	return exchange(has_invalidated_, false) && invalidated_ == key;
}

// ---- sends ----

void ClientConnection::on_send_done(const ib_wc &wc)
{
	if (wc.status != IB_WC_SUCCESS) {
		on_broken(wc);
		return;
	}
	path_.stats().completed();
	send_completed();
	retry_parked();
}

void ClientConnection::on_broken(const ib_wc &wc)
{
	// Flushed ones are a consequence; what broke the queue pair has spoken already.
	const bool flushed = wc.status == IB_WC_WR_FLUSH_ERR;
	if (!flushed)
		log_error_limited(path_.log_name(), "con %u: %s (vendor error %#x)", cid(),
				  ib_wc_status_msg(wc.status), wc.vendor_err);
	path_.fail(err::econnreset, flushed ? PathError::Disconnected : PathError::Completion);
}

Status ClientConnection::post_invalidation(Request &request)
{
	ib_send_wr wr;
	MemoryRegion::fill_local_inv(wr, request.invalidated.get(), request.region.rkey());
	return post_send(&wr, &wr, {.work_requests = 1, .invalidations = 1}, Signal::Always);
}

// Under RcuReader, in a handler of this connection. A full queue has a completion outstanding, and
// its handler, which can't run before this one returns, tries again.
void ClientConnection::invalidate(Request &request)
{
	// The tear-down deregisters the region.
	if (!path_.posting())
		return;
	const Status s = post_invalidation(request);
	if (s.ok())
		return;
	if (s.error() == err::eagain)
		parked_.with([&](auto &list) { list.push_back(request); });
	else
		path_.fail(s.error(), PathError::Post);
}

void ClientConnection::retry_parked()
{
	const RcuReader reader;
	while (path_.posting()) {
		Request *request = parked_.with([](auto &list) { return list.pop_front(); });
		if (!request)
			return;
		const Status s = post_invalidation(*request);
		if (s.ok())
			continue;
		if (s.error() == err::eagain)
			parked_.with([&](auto &list) { list.push_front(*request); });
		else
			path_.fail(s.error(), PathError::Post);
		return;
	}
}

int ClientConnection::poll()
{
	if (test_and_set_bit_lock(0, &polling_))
		return 0;
	const int found = ib_process_cq_direct(cq, -1);
	clear_bit_unlock(0, &polling_);
	return found;
}

// ---- end ----

void ClientConnection::disconnect()
{
	// Of no effect before the connection is requested.
	if (id_ && qp)
		rdma_disconnect(id_);
}

void ClientConnection::drain()
{
	Connection::drain();
	parked_.with([](auto &list) {
		while (list.pop_front())
			;
	});
}

void ClientConnection::release_queues()
{
	destroy_queues();
	keys_.reset();
	receives_.reset();
}

void ClientConnection::destroy()
{
	release_queues();
	// Waits for a running event handler; afterwards there are no more events.
	if (rdma_cm_id *id = exchange(id_, static_cast<rdma_cm_id *>(nullptr)))
		rdma_destroy_id(id);
}

} // namespace rtrs::client
