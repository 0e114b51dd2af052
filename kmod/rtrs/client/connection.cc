// SPDX-License-Identifier: GPL-2.0
// What happens on a connection: completions of receives and sends, invalidations.
#include <cxxrt/log.hh>
#include <cxxrt/rcu.hh>
#include <rtrs/client/connection.hh>
#include <rtrs/client/path.hh>
#include <rtrs/client/response.hh>
#include <rtrs/client/session.hh>

using namespace cxxrt;

namespace rtrs::client {
namespace {

// Of all that a server sends, except INFO_RSP.
constexpr u32 kAnswerSize = sizeof(RkeyResponse);
static_assert(kAnswerSize == sizeof(AnswerCapsule));

} // namespace

ClientConnection::ClientConnection(Path &path, u16 cid)
    : Connection(cid, path.wr_counters()), path_(path),
      marks_(is_service() ? 0 : static_cast<u8>(kCollectsFreely))
{
}

bool ClientConnection::is_polled() const
{
	return cid() > path_.connections().irq;
}

// ---- receives ----

Status ClientConnection::provide_receives(u32 count, bool with_memory)
{
	receive_count_ = count;
	receives_ = TRY(Array<Receive>::create(with_memory ? count : 1));
	if (with_memory)
		messages_ = TRY(DmaBuffer::create(path_.device().ibdev(), count * kAnswerSize,
						  DMA_FROM_DEVICE));
	u32 offset = 0;
	for (Receive &r : receives_) {
		ib_sge memory{};
		if (with_memory)
			memory = {messages_.dma_addr() + offset, kAnswerSize,
				  path_.device().pd()->local_dma_lkey};
		r.bind(this, offset, memory);
		offset += kAnswerSize;
	}
	return {};
}

inline Status ClientConnection::post(const Receive &receive)
{
	return Status::from_code(ib_post_recv(qp, &receive.work_request(), nullptr));
}

Status ClientConnection::start_receives()
{
	for (u32 i = 0; i < receive_count_; i++)
		TRY(post(receives_[messages_ ? i : 0]));
	return {};
}

void Receive::on_done(const ib_wc &wc)
{
	connection_->on_receive(*this, wc);
}

void ClientConnection::on_receive(Receive &receive, const ib_wc &wc)
{
	count_completion();
	received(receive, wc);
}

[[gnu::always_inline]] inline void ClientConnection::received(Receive &receive, const ib_wc &wc)
{
	if (wc.status != IB_WC_SUCCESS) [[unlikely]] {
		on_broken(wc);
		return;
	}
	counters().inc(&WrCounters::recv_completions);
	path_.on_traffic();

	const bool is_send = wc.opcode == IB_WC_RECV;
	const bool has_imm = wc.wc_flags & IB_WC_WITH_IMM;
	if (is_send && !has_imm && (wc.wc_flags & IB_WC_WITH_INVALIDATE)) {
		on_invalidation(receive, wc);
		return;
	}
	const bool has_key = is_send && has_imm && path_.new_keys();
	// Read before the receive, whose memory holds it, is posted again.
	const Result<Rkey> key = has_key ? read_key(receive, wc) : Result<Rkey>(err::emsgsize);

	const RcuReader reader;
	post_again(receive);
	if (has_key && !key.ok()) {
		on_malformed(key.error());
	} else if (has_imm) {
		path_.on_immediate(*this, Immediate::from_network(wc.ex.imm_data),
				   has_key ? &key.value() : nullptr);
		has_invalidated_ = false;
	} else {
		path_.stats().error(PathError::Stray);
		log_warning_limited(path_.log_name(), "con %u: unexpected message of %u bytes",
				    cid(), wc.byte_len);
	}
}

// A SEND_WITH_INV: alone, before the response that speaks of it, or as a capsule that is the
// response itself.
void ClientConnection::on_invalidation(Receive &receive, const ib_wc &wc)
{
	has_invalidated_ = true;
	invalidated_ = Rkey{wc.ex.invalidate_rkey};
	invalidated_ns_ = now();
	const bool is_capsule = wc.byte_len && path_.capsules();
	const Result<AnswerCapsuleFields> capsule =
	    is_capsule ? read_capsule(receive, wc) : Result<AnswerCapsuleFields>(err::emsgsize);

	const RcuReader reader;
	post_again(receive);
	if (!is_capsule)
		return;
	if (capsule.ok())
		path_.on_immediate(*this, capsule->imm,
				   path_.new_keys() ? &capsule->rkey : nullptr);
	else
		on_malformed(capsule.error());
	has_invalidated_ = false;
}

// Under RcuReader.
inline void ClientConnection::post_again(const Receive &receive)
{
	if (path_.posting())
		if (const Status s = post(receive); !s.ok())
			path_.fail(s.error(), PathError::Post);
}

void ClientConnection::on_malformed(Error e)
{
	log_error_limited(path_.log_name(), "con %u: malformed answer: %d", cid(), e.code());
	path_.fail(e, PathError::Malformed);
}

[[gnu::always_inline]] inline ByteView ClientConnection::read(const Receive &receive,
							      const ib_wc &wc, u8 *copy) const
{
	messages_.sync_for_cpu(receive.offset(), kAnswerSize);
	memcpy(copy, messages_.data() + receive.offset(), kAnswerSize);
	messages_.sync_for_device(receive.offset(), kAnswerSize);
	return ByteView(copy, min_of<usize>(wc.byte_len, kAnswerSize));
}

// The RKEY_RSP that came with an immediate; the keys are whatever the server wrote there.
[[gnu::always_inline]] inline Result<Rkey> ClientConnection::read_key(const Receive &receive,
								      const ib_wc &wc) const
{
	[[gnu::uninitialized]] u8 copy[kAnswerSize];
	const Immediate imm = Immediate::from_network(wc.ex.imm_data);
	return parse_rkey_response(read(receive, wc, copy), response_slot(imm));
}

inline Result<AnswerCapsuleFields> ClientConnection::read_capsule(const Receive &receive,
								  const ib_wc &wc) const
{
	[[gnu::uninitialized]] u8 copy[kAnswerSize];
	return parse_answer_capsule(read(receive, wc, copy));
}

// ---- sends ----

void ClientConnection::on_send_done(const ib_wc &wc)
{
	count_completion();
	sent(wc);
}

[[gnu::always_inline]] inline void ClientConnection::sent(const ib_wc &wc)
{
	if (wc.status != IB_WC_SUCCESS) [[unlikely]] {
		on_broken(wc);
		return;
	}
	send_completed();
	if (!unsent_.empty())
		end_sent();
	if (awaits_completion()) {
		const RcuReader reader;
		post_waiting();
	}
}

// The device has let go of all that was posted up to here. In the batch of the answers as a rule,
// so that they end together; the list is empty if the completion came first.
[[gnu::always_inline]] inline void ClientConnection::end_sent()
{
	Requests answered;
	answered.take_all(unsent_);
	while (Request *request = answered.pop_front()) {
		if (covers(request->place))
			path_.end(*request, request->status);
		else
			unsent_.push_back(*request);
	}
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
	TRY(post_send(&wr, &wr, {.work_requests = 1, .invalidations = 1}, Signal::Always));
	await_sends_in_handler();
	return {};
}

// ---- batches of completions ----

// What most are is not called by its pointer.
[[gnu::always_inline]] inline void ClientConnection::dispatch(ib_wc &wc)
{
	if (Receive *receive = Receive::of(wc)) [[likely]]
		received(*receive, wc);
	else if (wc.wr_cqe == send_cqe())
		sent(wc);
	else
		complete(cq, wc);
}

// Block requests that end in one batch end together, in one call of the block layer's; whoever it
// is who polls a polled connection brings his own batch.
void ClientConnection::on_batch(rtrs_connection *base, ib_wc *completions, u32 count)
{
	auto *con = static_cast<ClientConnection *>(base);
	con->path_.stats().completed(count);
	io_comp_batch ended{};
	// A send and a receive, in that order, are mostly one request, which ends by itself.
	const bool together = count > 2 || (count == 2 && Receive::of(completions[0]));
	con->ending_ = together ? &ended : nullptr;
	con->batch_began_ = ktime_get_ns();
	for (u32 i = 0; i < count; i++)
		con->dispatch(completions[i]);
	con->batch_began_ = 0;
	con->ending_ = nullptr;
	if (ended.complete)
		ended.complete(&ended);
}

// Those that come in batches have been.
void ClientConnection::count_completion()
{
	if (!batch)
		path_.stats().completed();
}

int ClientConnection::poll(io_comp_batch *ended)
{
	if (test_and_set_bit_lock(0, &polling_))
		return 0;
	ending_ = ended;
	const int found = ib_process_cq_direct(cq, -1);
	ending_ = nullptr;
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
	drop_waiting();
}

void ClientConnection::release_queues()
{
	destroy_queues();
	chain_.reset();
	sges_.reset();
	messages_.reset();
	receives_.reset();
}

void ClientConnection::destroy()
{
	release_queues();
	// Waits for a running event handler; afterwards there are no more events.
	drop_id();
}

} // namespace rtrs::client
