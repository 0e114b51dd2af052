// SPDX-License-Identifier: GPL-2.0
// The tracepoints of rtrs-client for C++. Each function is, while its event is off, a branch that
// the kernel patches in and out (a static key): it takes references, and computes what the event
// shows only behind the branch, out of line. Any context.
#pragma once

#include <cxxrt/kernel.hh>
#include <rtrs/client/path.hh>
#include <rtrs/client/session.hh>
#include <rtrs/client/trace.h>

namespace rtrs::client::trace {

// What events.h prints for each number.
static_assert(static_cast<int>(ClientPathState::ConnectingError) == 2 &&
	      static_cast<int>(ClientPathState::Reconnecting) == 3 &&
	      static_cast<int>(ClientPathState::Dead) == 6 && kClientPathStates == 7);
static_assert(static_cast<int>(Policy::MinLatency) == 2 && kPolicies == 3);

namespace detail {

inline noinline __cold rtrs_clt_recovery_event recovery_of(Path &path)
{
	return {
	    .path = path.log_name(),
	    .state = static_cast<int>(path.state()),
	    .reconnect_attempts = static_cast<int>(path.reconnect_attempts()),
	    .max_reconnect_attempts = path.session().max_reconnects(),
	    .fail_cnt = path.stats().reconnect_failures(),
	    .success_cnt = path.stats().reconnects(),
	};
}

inline noinline __cold void state(const Path &path, ClientPathState from, ClientPathState to,
				  int error)
{
	const rtrs_clt_state_event e{
	    .path = path.log_name(),
	    .from = static_cast<int>(from),
	    .to = static_cast<int>(to),
	    .error = error,
	};
	rtrs_clt_trace_state(&e);
}

inline noinline __cold void choice(const Session &session, const Path *path,
				   const rtrs_clt_request &request, SubmitKind kind)
{
	const rtrs_clt_choice_event e{
	    .session = session.name(),
	    .path = path ? path->log_name() : nullptr,
	    .slot = request.slot,
	    .policy = static_cast<int>(session.policy()),
	    .failover = kind == SubmitKind::FailOver,
	};
	rtrs_clt_trace_choice(&e);
}

inline noinline __cold void submit(const Path &path, const Request &r)
{
	const rtrs_clt_submit_event e{
	    .path = path.log_name(),
	    .slot = r.in.slot,
	    .con = r.connection->cid(),
	    .write = r.in.dir == RTRS_WRITE,
	    .data_len = r.in.data_len,
	    .usr_len = static_cast<u32>(r.in.msg_len),
	    .sg_cnt = r.in.nr_sg,
	};
	rtrs_clt_trace_submit(&e);
}

inline noinline __cold void post(const Path &path, const Request &r, const ChainCost &cost,
				 const Status &result)
{
	const rtrs_clt_post_event e{
	    .path = path.log_name(),
	    .slot = r.in.slot,
	    .con = r.connection->cid(),
	    .wr_cnt = cost.total(),
	    .registered = r.registered,
	    .result = result.code(),
	};
	rtrs_clt_trace_post(&e);
}

inline noinline __cold void complete(const Path &path, const Request &r, int status)
{
	const rtrs_clt_complete_event e{
	    .path = path.log_name(),
	    .slot = r.in.slot,
	    .write = r.in.dir == RTRS_WRITE,
	    .data_len = r.in.data_len,
	    .error = status,
	    .latency_ns = ktime_get_ns() - r.started_ns,
	};
	rtrs_clt_trace_complete(&e);
}

} // namespace detail

// An automatic attempt to connect begins.
inline void reconnect_work(Path &path)
{
	if (tracepoint_enabled(rtrs_clt_reconnect_work)) {
		const rtrs_clt_recovery_event e = detail::recovery_of(path);
		rtrs_clt_trace_reconnect_work(&e);
	}
}

// A path that is to stay down drops its connections.
inline void close_conns(Path &path)
{
	if (tracepoint_enabled(rtrs_clt_close_conns)) {
		const rtrs_clt_recovery_event e = detail::recovery_of(path);
		rtrs_clt_trace_close_conns(&e);
	}
}

// A connected path has met an error, and will connect anew.
inline void error_recovery(Path &path)
{
	if (tracepoint_enabled(rtrs_rdma_error_recovery)) {
		const rtrs_clt_recovery_event e = detail::recovery_of(path);
		rtrs_clt_trace_error_recovery(&e);
	}
}

inline void state(const Path &path, ClientPathState from, ClientPathState to, int error)
{
	if (tracepoint_enabled(rtrs_clt_path_state))
		detail::state(path, from, to, error);
}

// nullptr: no path is left to try.
inline void choice(const Session &session, const Path *path, const rtrs_clt_request &request,
		   SubmitKind kind)
{
	if (tracepoint_enabled(rtrs_clt_path_choice))
		detail::choice(session, path, request, kind);
}

// The request is mapped and will be posted.
inline void submit(const Path &path, const Request &r)
{
	if (tracepoint_enabled(rtrs_clt_request_submit))
		detail::submit(path, r);
}

// Under the request's lock: afterwards it may end.
inline void post(const Path &path, const Request &r, const ChainCost &cost, const Status &result)
{
	if (tracepoint_enabled(rtrs_clt_request_post))
		detail::post(path, r, cost, result);
}

// Before its user hears of it.
inline void complete(const Path &path, const Request &r, int status)
{
	if (tracepoint_enabled(rtrs_clt_request_complete))
		detail::complete(path, r, status);
}

} // namespace rtrs::client::trace
