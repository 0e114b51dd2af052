// SPDX-License-Identifier: GPL-2.0
// The way of an answer in (protocol A.6, A.8): from the immediate to the user's done(). Everything
// in it is checked: a response counts only for a request that waits for one, on the connection it
// went out on.
//
// All of it is in line where it is called, by the handlers of a connection, so that the answer to a
// request passes through one function; what is rare is in response.cc.
#pragma once

#include <rtrs/client/path.hh>
#include <rtrs/client/session.hh>
#include <rtrs/client/trace.hh>

namespace rtrs::client {

// The memory is out of the server's and the device's reach, and nobody else ends this request.
[[gnu::always_inline]] inline void Path::end(Request &r, int status)
{
	const rtrs_clt_request &in = r.in;
	if (in.nr_sg)
		ib_dma_unmap_sg(device_.ibdev(), in.sg, static_cast<int>(in.nr_sg),
				r.dma_direction());
	const u64 now = r.connection->now();
	stats_->finished(r.direction(), now - r.started_ns, r.cpu);
	if (status) [[unlikely]]
		stats_->error(PathError::Answer);
	trace::complete(*this, r, status);
	const auto done = in.done;
	void *const priv = in.priv;
	io_comp_batch *const batch = r.connection->ending();
	smp_store_release(&r.state, RequestState::Idle);
	done(priv, status, batch, now);
}

// Under the lock of the request, which is Posted or Passed.
[[gnu::always_inline]] inline Path::AnswerResult Path::take_awaited_answer(ClientConnection &con,
									   Request &r,
									   const ClientImm &m,
									   const Rkey *key)
{
	r.status = m.error;
	// Before the slot can be used again.
	if (key)
		remote_[m.slot.value].rkey = *key;
	r.state = RequestState::Answered;
	if (!r.registered)
		return r.sends_pages() && !con.covers(r.place) ? AnswerResult::Unsent
							       : AnswerResult::Ended;
	// Type 2 promises that a SEND_WITH_INV for the key came before; only if one came right
	// before, and not before the request began, the region is closed. What a server says early
	// or late counts for no other request of the slot, whose key may be the same. In all other
	// cases the region is closed here, and the request ends when that is done: not earlier, for
	// the memory is open, and not together with the post, for a write may be retransmitted
	// (protocol G.1-61). A write's own key was told to nobody, and its region must not end
	// before what is sent from it.
	if (!m.invalidated || !con.was_invalidated(r.region.rkey(), r.started_ns) ||
	    r.in.dir == RTRS_WRITE)
		return AnswerResult::Open;
	r.registered = false;
	return AnswerResult::Ended;
}

[[gnu::always_inline]] inline Path::AnswerResult Path::take_answer(ClientConnection &con,
								   Request &r, const ClientImm &m,
								   const Rkey *key)
{
	cxxrt::LockGuard<cxxrt::SpinLock> held(r.lock);
	if (r.connection != &con)
		return AnswerResult::Stray;
	if (r.state != RequestState::Posted) [[unlikely]]
		return take_other_answer(con, r, m, key);
	return take_awaited_answer(con, r, m, key);
}

// Under RcuReader, in a handler of `con`.
[[gnu::always_inline]] inline void Path::on_response(ClientConnection &con, const ClientImm &m,
						     const Rkey *key)
{
	Request &r = (*requests_)[m.slot];
	AnswerResult result = take_answer(con, r, m, key);
	if (result > AnswerResult::Unsent) [[unlikely]] {
		result = see_to_answer(con, r, m, key, result);
		if (result == AnswerResult::Stray)
			return;
	}
	if (result == AnswerResult::Open)
		con.invalidate(r);
	else if (result == AnswerResult::Unsent)
		con.await_sent(r);
	else
		end(r, r.status);
}

// Under RcuReader, in a handler of `con`.
[[gnu::always_inline]] inline void Path::on_immediate(ClientConnection &con, Immediate imm,
						      const Rkey *key)
{
	const Result<ClientImm> decoded = session_limits_->layout.decode_response(imm);
	if (decoded.ok()) [[likely]]
		on_response(con, decoded.value(), key);
	else
		on_other_immediate(con, imm);
}

} // namespace rtrs::client
