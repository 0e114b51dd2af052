// SPDX-License-Identifier: GPL-2.0
// The tracepoints of rnbd-server for C++. Each function is, while its event is off, a branch that
// the kernel patches in and out (a static key): it takes references, and computes what the event
// shows only behind the branch, out of line. Any context, hard interrupts included.
#pragma once

#include <cxxrt/kernel.hh>
#include <rnbd/server/request.hh>
#include <rnbd/server/session.hh>
#include <rnbd/server/trace.h>
#include <rnbd/server/trace_record.hh>
#include <rnbd/wire/operations.hh>

namespace rnbd::server::trace {

// What is small goes there by value: the caller keeps it in registers while the event is off.
namespace detail {

inline noinline __cold rnbd_srv_io_event event_of(const Mapping &mapping, const CheckedIo &io)
{
	return {
	    .sessname = mapping.session().name(),
	    .device = mapping.device()->bd_disk->disk_name,
	    .op = static_cast<int>(io.operation),
	    .sector = io.sector.value,
	    .bytes = io.bytes,
	};
}

inline noinline __cold void rdma(const Session &session, IoFields fields,
				 const rtrs_srv_request &request)
{
	const rnbd_srv_rdma_event e{
	    .sessname = session.name(),
	    .write = request.dir == RTRS_WRITE,
	    .ver = session.version(),
	    .device_id = fields.device.value,
	    .sector = fields.sector.value,
	    .flags = fields.rw,
	    .bi_size = fields.size,
	    .ioprio = fields.priority,
	    .datalen = request.data_len,
	    .usrlen = request.msg_len,
	};
	rnbd_srv_trace_rdma(&e);
}

inline noinline __cold void session_info(const Session &session, const rtrs_srv_request &request,
					 u8 agreed)
{
	Result<SessionInfo> proposed = message_of(request).read<SessionInfo>();
	rnbd_srv_trace_sess_info(agreed, proposed.ok() ? proposed->version : 0, kProtocolMajor,
				 session.name());
}

inline noinline __cold void io_begin(const Mapping &mapping, CheckedIo io)
{
	const rnbd_srv_io_event e = event_of(mapping, io);
	rnbd_srv_trace_io_begin(&e);
}

inline noinline __cold void io_end(const Mapping &mapping, const IoRecord &record, int error)
{
	if (!record.began_ns)
		return;
	rnbd_srv_io_event e = event_of(mapping, record.io);
	e.error = error;
	e.latency_ns = ktime_get_ns() - record.began_ns;
	rnbd_srv_trace_io_end(&e);
}

} // namespace detail

inline void create_session(const Session &session)
{
	if (tracepoint_enabled(create_sess))
		rnbd_srv_trace_create_sess(session.queue_depth(), session.name());
}

inline void destroy_session(const Session &session)
{
	if (tracepoint_enabled(destroy_sess))
		rnbd_srv_trace_destroy_sess(session.queue_depth(), session.name());
}

// SESS_INFO was parsed.
inline void session_info(const Session &session, const rtrs_srv_request &request, u8 agreed)
{
	if (tracepoint_enabled(process_msg_sess_info))
		detail::session_info(session, request, agreed);
}

inline void open(const Session &session, const OpenRequest &want)
{
	if (tracepoint_enabled(process_msg_open))
		rnbd_srv_trace_open(static_cast<u8>(want.access_mode), session.name(),
				    want.name.c_str());
}

inline void close(const Session &session, DeviceId id)
{
	if (tracepoint_enabled(process_msg_close))
		rnbd_srv_trace_close(id.value, session.name());
}

// An IO message, before it is checked.
inline void rdma(const Session &session, const IoFields &fields, const rtrs_srv_request &request)
{
	if (tracepoint_enabled(process_rdma))
		detail::rdma(session, fields, request);
}

// The request goes to the block device. `record` is for io_end().
inline void io_begin(const Mapping &mapping, const CheckedIo &io, IoRecord &record)
{
	if (tracepoint_enabled(rnbd_srv_io_begin))
		detail::io_begin(mapping, io);
	if (tracepoint_enabled(rnbd_srv_io_end))
		record = {ktime_get_ns(), io};
}

// It has come back; the mapping is still entered.
inline void io_end(const Mapping &mapping, const IoRecord &record, int error)
{
	if (tracepoint_enabled(rnbd_srv_io_end))
		detail::io_end(mapping, record, error);
}

} // namespace rnbd::server::trace
