/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tracepoints of rnbd-server; Documentation/tracing.md describes them. Names and fields of all
 * but the last two are those of in-tree (protocol F.6). Included once by events.c.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rnbd_srv

#if !defined(RNBD_SERVER_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define RNBD_SERVER_EVENTS_H

#include <linux/tracepoint.h>
#include <cxxrt/trace_string.h>
#include <rnbd/server/trace.h>

/* clang-format off */
/* The operation is a number, the flags are bits (protocol D.3). */
#define rnbd_srv_show_op(op) \
	__print_symbolic(op, { 0, "READ" }, { 1, "WRITE" }, { 2, "FLUSH" }, { 3, "DISCARD" }, \
			 { 4, "SECURE_ERASE" }, { 5, "WRITE_ZEROES" })
#define rnbd_srv_show_flags(f) \
	__print_flags(f, "|", { 1 << 8, "SYNC" }, { 1 << 9, "FUA" }, { 1 << 10, "PREFLUSH" }, \
		      { 1 << 11, "NOUNMAP" })

DECLARE_EVENT_CLASS(rnbd_srv_session,
	TP_PROTO(u32 qdepth, const char *sessname),
	TP_ARGS(qdepth, sessname),
	TP_STRUCT__entry(
		__field(int, qdepth)
		__string(sessname, sessname)
	),
	TP_fast_assign(
		__entry->qdepth = (int)qdepth;
		cxxrt_assign_str(sessname, sessname);
	),
	TP_printk("sessname=%s qdepth=%d", __get_str(sessname), __entry->qdepth)
);
DEFINE_EVENT(rnbd_srv_session, create_sess,
	TP_PROTO(u32 qdepth, const char *sessname), TP_ARGS(qdepth, sessname));
DEFINE_EVENT(rnbd_srv_session, destroy_sess,
	TP_PROTO(u32 qdepth, const char *sessname), TP_ARGS(qdepth, sessname));

TRACE_EVENT(process_rdma,
	TP_PROTO(const struct rnbd_srv_rdma_event *e),
	TP_ARGS(e),
	TP_STRUCT__entry(
		__string(sessname, e->sessname)
		__field(u8, dir)
		__field(u8, ver)
		__field(u32, device_id)
		__field(u64, sector)
		__field(u32, flags)
		__field(u32, bi_size)
		__field(u16, ioprio)
		__field(u32, datalen)
		__field(size_t, usrlen)
	),
	TP_fast_assign(
		cxxrt_assign_str(sessname, e->sessname);
		__entry->dir = e->write;
		__entry->ver = (u8)e->ver;
		__entry->device_id = e->device_id;
		__entry->sector = e->sector;
		__entry->flags = e->flags;
		__entry->bi_size = e->bi_size;
		__entry->ioprio = (u16)e->ioprio;
		__entry->datalen = e->datalen;
		__entry->usrlen = e->usrlen;
	),
	TP_printk("sessname=%s dir=%s ver=%d device_id=%u sector=%llu op=%s flags=%s bi_size=%u "
		"ioprio=%d datalen=%u usrlen=%zu",
		__get_str(sessname), __entry->dir ? "WRITE" : "READ", __entry->ver,
		__entry->device_id, __entry->sector, rnbd_srv_show_op(__entry->flags & 0xff),
		rnbd_srv_show_flags(__entry->flags & ~0xffu), __entry->bi_size, __entry->ioprio,
		__entry->datalen, __entry->usrlen)
);

TRACE_EVENT(process_msg_sess_info,
	TP_PROTO(u8 proto_ver, u8 clt_ver, u8 srv_ver, const char *sessname),
	TP_ARGS(proto_ver, clt_ver, srv_ver, sessname),
	TP_STRUCT__entry(
		__field(u8, proto_ver)
		__field(u8, clt_ver)
		__field(u8, srv_ver)
		__string(sessname, sessname)
	),
	TP_fast_assign(
		__entry->proto_ver = proto_ver;
		__entry->clt_ver = clt_ver;
		__entry->srv_ver = srv_ver;
		cxxrt_assign_str(sessname, sessname);
	),
	TP_printk("sessname=%s proto_ver=%d clt_ver=%d srv_ver=%d", __get_str(sessname),
		__entry->proto_ver, __entry->clt_ver, __entry->srv_ver)
);

TRACE_EVENT(process_msg_open,
	TP_PROTO(u8 access_mode, const char *sessname, const char *dev_name),
	TP_ARGS(access_mode, sessname, dev_name),
	TP_STRUCT__entry(
		__field(u8, access_mode)
		__string(sessname, sessname)
		__string(dev_name, dev_name)
	),
	TP_fast_assign(
		__entry->access_mode = access_mode;
		cxxrt_assign_str(sessname, sessname);
		cxxrt_assign_str(dev_name, dev_name);
	),
	TP_printk("sessname=%s access_mode=%s dev_name=%s", __get_str(sessname),
		__print_symbolic(__entry->access_mode, { 0, "ro" }, { 1, "rw" },
				 { 2, "migration" }, { 3, "shared" }),
		__get_str(dev_name))
);

TRACE_EVENT(process_msg_close,
	TP_PROTO(u32 device_id, const char *sessname),
	TP_ARGS(device_id, sessname),
	TP_STRUCT__entry(
		__field(u32, device_id)
		__string(sessname, sessname)
	),
	TP_fast_assign(
		__entry->device_id = device_id;
		cxxrt_assign_str(sessname, sessname);
	),
	TP_printk("sessname=%s device_id=%u", __get_str(sessname), __entry->device_id)
);

TRACE_EVENT(rnbd_srv_io_begin,
	TP_PROTO(const struct rnbd_srv_io_event *e),
	TP_ARGS(e),
	TP_STRUCT__entry(
		__string(sessname, e->sessname)
		__string(device, e->device)
		__field(int, op)
		__field(u64, sector)
		__field(u32, bytes)
	),
	TP_fast_assign(
		cxxrt_assign_str(sessname, e->sessname);
		cxxrt_assign_str(device, e->device);
		__entry->op = e->op;
		__entry->sector = e->sector;
		__entry->bytes = e->bytes;
	),
	TP_printk("sessname=%s device=%s op=%s sector=%llu bytes=%u", __get_str(sessname),
		__get_str(device), rnbd_srv_show_op(__entry->op), __entry->sector,
		__entry->bytes)
);

TRACE_EVENT(rnbd_srv_io_end,
	TP_PROTO(const struct rnbd_srv_io_event *e),
	TP_ARGS(e),
	TP_STRUCT__entry(
		__string(sessname, e->sessname)
		__string(device, e->device)
		__field(int, op)
		__field(u64, sector)
		__field(u32, bytes)
		__field(int, error)
		__field(u64, latency_ns)
	),
	TP_fast_assign(
		cxxrt_assign_str(sessname, e->sessname);
		cxxrt_assign_str(device, e->device);
		__entry->op = e->op;
		__entry->sector = e->sector;
		__entry->bytes = e->bytes;
		__entry->error = e->error;
		__entry->latency_ns = e->latency_ns;
	),
	TP_printk("sessname=%s device=%s op=%s sector=%llu bytes=%u error=%d latency_ns=%llu",
		__get_str(sessname), __get_str(device), rnbd_srv_show_op(__entry->op),
		__entry->sector, __entry->bytes, __entry->error, __entry->latency_ns)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH rnbd/server
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE events
#include <trace/define_trace.h>
/* clang-format on */
