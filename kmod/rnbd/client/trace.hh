// SPDX-License-Identifier: GPL-2.0
// The tracepoints of rnbd-client for C++. Each function is, while its event is off, a branch that
// the kernel patches in and out (a static key): it takes references, and computes what the event
// shows only behind the branch, out of line. Any context.
#pragma once

#include <cxxrt/kernel.hh>
#include <rnbd/client/device.hh>
#include <rnbd/client/io.hh>
#include <rnbd/client/session.hh>
#include <rnbd/client/trace.h>
#include <rnbd/wire/operations.hh>

namespace rnbd::client::trace {

namespace detail {

inline noinline __cold rnbd_clt_io_event event_of(const Device &device, const request *rq)
{
	return {
	    .disk = rq->q->disk ? rq->q->disk->disk_name : "",
	    .device = device.label(),
	    .slot = device.session().tags().slot_of(rq),
	    .op = static_cast<int>(req_op(rq)),
	    .sector = req_op(rq) == REQ_OP_FLUSH ? 0 : u64{blk_rq_pos(rq)},
	    .bytes = req_op(rq) == REQ_OP_FLUSH ? 0 : blk_rq_bytes(rq),
	};
}

inline noinline __cold void io_begin(const Device &device, const request *rq, const Io &message)
{
	rnbd_clt_io_event e = event_of(device, rq);
	e.flags = message.rw.get() & ~kOperationMask;
	rnbd_clt_trace_io_begin(&e);
}

inline noinline __cold void io_end(const Device &device, request *rq)
{
	rnbd_clt_io_event e = event_of(device, rq);
	e.error = IoRequest::of(rq)->status;
	e.latency_ns = ktime_get_ns() - IoRequest::of(rq)->began_ns;
	rnbd_clt_trace_io_end(&e);
}

} // namespace detail

// The request goes to the transport: each time, should it be refused or lost and come again.
inline void io_begin(const Device &device, const request *rq, const Io &message)
{
	if (tracepoint_enabled(rnbd_clt_io_begin))
		detail::io_begin(device, rq, message);
}

// It is given back to the block layer, after the transport had it.
inline void io_end(const Device &device, request *rq)
{
	if (tracepoint_enabled(rnbd_clt_io_end))
		detail::io_end(device, rq);
}

} // namespace rnbd::client::trace
