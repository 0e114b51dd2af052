/* SPDX-License-Identifier: GPL-2.0 */
/* The tracepoints of rnbd-client; Documentation/tracing.md describes them. Included by events.c. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rnbd_clt

#if !defined(RNBD_CLIENT_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define RNBD_CLIENT_EVENTS_H

#include <linux/blk_types.h>
#include <linux/tracepoint.h>
#include <cxxrt/trace_string.h>
#include <rnbd/client/trace.h>

/* clang-format off */
#define rnbd_clt_show_op(op) \
	__print_symbolic(op, { REQ_OP_READ, "READ" }, { REQ_OP_WRITE, "WRITE" }, \
			 { REQ_OP_FLUSH, "FLUSH" }, { REQ_OP_DISCARD, "DISCARD" }, \
			 { REQ_OP_SECURE_ERASE, "SECURE_ERASE" }, \
			 { REQ_OP_WRITE_ZEROES, "WRITE_ZEROES" })

TRACE_EVENT(rnbd_clt_io_begin,
	TP_PROTO(const struct rnbd_clt_io_event *e),
	TP_ARGS(e),
	TP_STRUCT__entry(
		__string(disk, e->disk)
		__string(device, e->device)
		__field(u32, slot)
		__field(int, op)
		__field(u32, flags)
		__field(u64, sector)
		__field(u32, bytes)
	),
	TP_fast_assign(
		cxxrt_assign_str(disk, e->disk);
		cxxrt_assign_str(device, e->device);
		__entry->slot = e->slot;
		__entry->op = e->op;
		__entry->flags = e->flags;
		__entry->sector = e->sector;
		__entry->bytes = e->bytes;
	),
	TP_printk("disk=%s slot=%u op=%s flags=%#x sector=%llu bytes=%u device=%s",
		__get_str(disk), __entry->slot, rnbd_clt_show_op(__entry->op), __entry->flags,
		__entry->sector, __entry->bytes, __get_str(device))
);

TRACE_EVENT(rnbd_clt_io_end,
	TP_PROTO(const struct rnbd_clt_io_event *e),
	TP_ARGS(e),
	TP_STRUCT__entry(
		__string(disk, e->disk)
		__string(device, e->device)
		__field(u32, slot)
		__field(int, op)
		__field(u64, sector)
		__field(u32, bytes)
		__field(int, error)
		__field(u64, latency_ns)
	),
	TP_fast_assign(
		cxxrt_assign_str(disk, e->disk);
		cxxrt_assign_str(device, e->device);
		__entry->slot = e->slot;
		__entry->op = e->op;
		__entry->sector = e->sector;
		__entry->bytes = e->bytes;
		__entry->error = e->error;
		__entry->latency_ns = e->latency_ns;
	),
	TP_printk("disk=%s slot=%u op=%s sector=%llu bytes=%u error=%d latency_ns=%llu device=%s",
		__get_str(disk), __entry->slot, rnbd_clt_show_op(__entry->op), __entry->sector,
		__entry->bytes, __entry->error, __entry->latency_ns, __get_str(device))
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH rnbd/client
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE events
#include <trace/define_trace.h>
/* clang-format on */
