// SPDX-License-Identifier: GPL-2.0
// What is rare among the server's immediates (protocol A.6, A.8, B.3), beside responses, which are
// in response.hh; and ends of requests that no answer brings.
#include <cxxrt/log.hh>
#include <cxxrt/rcu.hh>
#include <rtrs/client/path.hh>
#include <rtrs/client/response.hh>
#include <rtrs/client/session.hh>
#include <rtrs/client/trace.hh>

using namespace cxxrt;

namespace rtrs::client {

// Under RcuReader, in a handler of `con`. All that is no response to a request.
noinline void Path::on_other_immediate(ClientConnection &con, Immediate imm)
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
		break;
	case ClientImm::Kind::FenceDone:
		on_fence_done(m.serial);
		break;
	}
}

// Under the request's lock, as take_answer().
noinline Path::AnswerResult Path::take_other_answer(ClientConnection &con, Request &r,
						    const ClientImm &m, const Rkey *key)
{
	if (r.state != RequestState::Passed)
		return r.state == RequestState::Held ? AnswerResult::Held : AnswerResult::Stray;
	// It has a region: there is nothing else that a throttle lets in.
	return take_awaited_answer(con, r, m, key) == AnswerResult::Open
		   ? AnswerResult::PassedOpen
		   : AnswerResult::PassedEnded;
}

// What is not just Ended, Open or Unsent: it is afterwards, or Stray, which has been seen to.
noinline Path::AnswerResult Path::see_to_answer(ClientConnection &con, Request &r,
						const ClientImm &m, const Rkey *key,
						AnswerResult result)
{
	if (result == AnswerResult::Held) {
		// It may be in the queue already, with the poster about to say so.
		con.await_poster();
		result = take_answer(con, r, m, key);
	}
	switch (result) {
	case AnswerResult::Ended:
	case AnswerResult::Open:
	case AnswerResult::Unsent:
		break;
	case AnswerResult::PassedEnded:
		con.answer_passed(r);
		return AnswerResult::Ended;
	case AnswerResult::PassedOpen:
		con.answer_passed(r);
		return AnswerResult::Open;
	case AnswerResult::Held:
	case AnswerResult::Stray:
		on_stray_response(con, m.slot);
		return AnswerResult::Stray;
	}
	return result;
}

noinline void Path::on_stray_response(ClientConnection &con, Slot slot)
{
	stats_->error(PathError::Stray);
	log_warning_limited(log_name(), "con %u: response for slot %u, which waits for none",
			    con.cid(), slot.value);
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

void Path::finish(Request &r, int status)
{
	end(r, status);
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
