// SPDX-License-Identifier: GPL-2.0
// The tracepoints of rtrs-server for C++. Each function is, while its event is off, a branch that
// the kernel patches in and out (a static key): it takes references, and computes what the event
// shows only behind the branch, out of line. Any context, hard interrupts included.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/print.hh>
#include <rtrs/core/connection.hh>
#include <rtrs/pure/server_path_state.hh>
#include <rtrs/rtrs.h>
#include <rtrs/server/refusals.hh>
#include <rtrs/server/trace.h>
#include <rtrs/wire/io_header.hh>

namespace rtrs::server::trace {

// What events.h prints for each number.
static_assert(static_cast<int>(ServerPathState::Connected) == 1 &&
	      static_cast<int>(ServerPathState::Closing) == 2 &&
	      static_cast<int>(ServerPathState::Closed) == 3 &&
	      static_cast<int>(ServerPathState::Applying) == 4);

namespace detail {

inline noinline __cold void state(const char *path, ServerPathState from, ServerPathState to)
{
	const rtrs_srv_state_event e{
	    .path = path,
	    .from = static_cast<int>(from),
	    .to = static_cast<int>(to),
	};
	rtrs_srv_trace_state(&e);
}

inline noinline __cold void refusal(const char *path, Refusal kind, int error)
{
	const rtrs_srv_refusal_event e{
	    .path = path,
	    .kind = to_text(kind),
	    .error = error,
	};
	rtrs_srv_trace_refusal(&e);
}

inline noinline __cold void request(const char *path, Slot slot, const IoHeader &header)
{
	const rtrs_srv_request_event e{
	    .path = path,
	    .slot = slot.value,
	    .write = header.direction == Direction::Write,
	    .data_len = header.data_len.value,
	    .usr_len = header.usr_len.value,
	};
	rtrs_srv_trace_request(&e);
}

template <class Path>
inline noinline __cold void response(const Path &path, const Connection &con, const ChainCost &cost,
				     const rtrs_srv_response_event &answer)
{
	rtrs_srv_response_event e = answer;
	e.path = path.name();
	e.wr_cnt = cost.total();
	e.signal_interval = con.signaled_one_in();
	e.state = static_cast<int>(path.state());
	rtrs_srv_trace_response(&e);
}

} // namespace detail

// `Path` is a parameter for the tests, whose paths are of another type.
template <class Path> inline void state(const Path &path, ServerPathState from, ServerPathState to)
{
	if (tracepoint_enabled(rtrs_srv_path_state))
		detail::state(path.name(), from, to);
}

template <class Path> inline void refusal(const Path &path, Refusal kind, int error = 0)
{
	if (tracepoint_enabled(rtrs_srv_refusal))
		detail::refusal(path.name(), kind, error);
}

// A connection request, which has no path.
inline void refusal(const cxxrt::TextBuffer<RTRS_PAIR_TEXT> &addresses, Refusal kind, int error)
{
	if (tracepoint_enabled(rtrs_srv_refusal))
		detail::refusal(addresses.c_str(), kind, error);
}

// A checked request goes to the user.
template <class Path> inline void request(const Path &path, Slot slot, const IoHeader &header)
{
	if (tracepoint_enabled(rtrs_srv_request))
		detail::request(path.name(), slot, header);
}

// Whether response() shows anything.
inline bool shows_responses()
{
	return tracepoint_enabled(send_io_resp_imm);
}

// An answer was posted. answer() says what the caller has at hand; the rest is filled in here.
template <class Path, class Answer>
inline void response(const Path &path, const Connection &con, const ChainCost &cost,
		     const Answer &answer)
{
	if (tracepoint_enabled(send_io_resp_imm))
		detail::response(path, con, cost, answer());
}

} // namespace rtrs::server::trace
