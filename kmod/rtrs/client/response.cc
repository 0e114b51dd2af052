// SPDX-License-Identifier: GPL-2.0
// What the server's immediates do (protocol A.6, A.8, B.3). Everything in them is checked: a
// response counts only for a request that waits for one, on the connection it went out on.
#include <cxxrt/log.hh>
#include <cxxrt/rcu.hh>
#include <rtrs/client/path.hh>
#include <rtrs/client/session.hh>
#include <rtrs/client/trace.hh>

using namespace cxxrt;

namespace rtrs::client {

// Under RcuReader, in a handler of `con`.
void Path::on_immediate(ClientConnection &con, Immediate imm, const Rkey *key)
{
	const Result<ClientImm> decoded =
	    session_limits_->layout.decode_at_client(imm, ConnectionId{con.cid()}, fences_);
	if (!decoded.ok()) {
		stats_->error(PathError::Stray);
		log_warning_limited(log_name(), "con %u: unknown immediate %#x, ignored", con.cid(),
				    imm.value());
		return;
	}
	const ClientImm &m = decoded.value();
	switch (m.kind) {
	case ClientImm::Kind::Heartbeat:
		if (!posting())
			break;
		// With a full queue the peer sees traffic anyway.
		if (const Status s = heartbeat_.on_message(con);
		    !s.ok() && !(s.error() == err::eagain))
			fail(s.error(), PathError::Post);
		break;
	case ClientImm::Kind::HeartbeatAck:
		heartbeat_.on_ack();
		break;
	case ClientImm::Kind::Response:
		on_response(con, m, key);
		break;
	case ClientImm::Kind::FenceDone:
		on_fence_done(m.serial);
		break;
	}
}

inline Path::Taken Path::take_answer(ClientConnection &con, Request &r, const ClientImm &m,
				     const Rkey *key)
{
	LockGuard<SpinLock> held(r.lock);
	if (r.connection != &con)
		return Taken::Stray;
	if (r.state != RequestState::Posted) [[unlikely]]
		return r.state == RequestState::Held ? Taken::Held : Taken::Stray;
	r.status = m.error;
	// Before the slot can be used again.
	if (key)
		remote_[m.slot.value].rkey = *key;
	r.state = RequestState::Answered;
	if (!r.registered)
		return r.sends_pages() && !con.covers(r.place) ? Taken::Unsent : Taken::Ended;
	// Type 2 promises that a SEND_WITH_INV for the key came before; only if it did, the region
	// is closed. In all other cases it is closed here, and the request ends when that is done:
	// not earlier, for the memory is open, and not together with the post, for a write may be
	// retransmitted (protocol G.1-61). A write's own key was told to nobody, and its region
	// must not end before what is sent from it.
	if (!m.invalidated || !con.take_invalidated(r.region.rkey()) || r.in.dir == RTRS_WRITE)
		return Taken::Open;
	r.registered = false;
	return Taken::Ended;
}

void Path::on_response(ClientConnection &con, const ClientImm &m, const Rkey *key)
{
	Request &r = (*requests_)[m.slot];
	Taken taken;
	for (bool waited = false;; waited = true) {
		taken = take_answer(con, r, m, key);
		if (taken != Taken::Held || waited) [[likely]]
			break;
		// It may be in the queue already, with the poster about to say so.
		con.await_poster();
	}
	if (taken == Taken::Stray || taken == Taken::Held) [[unlikely]] {
		stats_->error(PathError::Stray);
		log_warning_limited(log_name(),
				    "con %u: response for slot %u, which waits for none", con.cid(),
				    m.slot.value);
		return;
	}
	con.passed_gate(r);
	if (taken == Taken::Open)
		con.invalidate(r);
	else if (taken == Taken::Unsent)
		con.await_sent(r);
	else
		finish(r, r.status);
}

void Request::on_invalidated(const ib_wc &wc)
{
	ClientConnection &con = *connection;
	con.on_send_done(wc);
	// If it failed, the tear-down of the path ends the request.
	if (wc.status != IB_WC_SUCCESS)
		return;
	registered = false;
	con.path().finish(*this, status);
}

// The memory is out of the server's and the device's reach, and nobody else ends this request.
void Path::finish(Request &r, int status)
{
	const rtrs_clt_request &in = r.in;
	if (in.nr_sg)
		ib_dma_unmap_sg(device_.ibdev(), in.sg, static_cast<int>(in.nr_sg),
				r.dma_direction());
	stats_->finished(r.direction(), r.started_ns, r.cpu);
	if (status) [[unlikely]]
		stats_->error(PathError::Answer);
	trace::complete(*this, r, status);
	const auto done = in.done;
	void *const priv = in.priv;
	io_comp_batch *const batch = r.connection->ending();
	smp_store_release(&r.state, RequestState::Idle);
	done(priv, status, batch);
}

// ---- heartbeat ----

// The grace period of tear_down() lies between the end of Connected and the heartbeat's.
void Path::restart_heartbeat()
{
	const RcuReader reader;
	if (connected())
		heartbeat_.restart();
}

void Path::on_heartbeat_sent(const ib_wc &wc)
{
	connections_[0]->on_send_done(wc);
}

void Path::on_heartbeat_lost(void *path)
{
	auto *self = static_cast<Path *>(path);
	log_error(self->log_name(), "HB missed max reached.");
	self->fail(err::etimedout, PathError::Heartbeat);
}

} // namespace rtrs::client
