/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tracepoints of rtrs-server; Documentation/tracing.md describes them. Name and fields of the
 * first one are those of in-tree (protocol F.6). Included once by events.c.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rtrs_srv

#if !defined(RTRS_SERVER_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define RTRS_SERVER_EVENTS_H

#include <linux/string.h>
#include <linux/tracepoint.h>
#include <cxxrt/trace_string.h>
#include <rtrs/server/trace.h>

/* clang-format off */
/* As ServerPathState; trace.hh compares. */
#define rtrs_srv_show_state(s) \
	__print_symbolic(s, { 0, "CONNECTING" }, { 1, "CONNECTED" }, { 2, "CLOSING" }, \
			 { 3, "CLOSED" }, { 4, "APPLYING" })

TRACE_EVENT(send_io_resp_imm,
	TP_PROTO(const struct rtrs_srv_response_event *e),
	TP_ARGS(e),
	TP_STRUCT__entry(
		__field(u8, dir)
		__field(bool, need_inval)
		__field(bool, always_invalidate)
		__field(u32, msg_id)
		__field(int, wr_cnt)
		__field(u32, signal_interval)
		__field(int, state)
		__field(int, errno)
		__array(char, sessname, 255)
	),
	TP_fast_assign(
		__entry->dir = e->write;
		__entry->need_inval = e->need_inval;
		__entry->always_invalidate = e->always_invalidate;
		__entry->msg_id = e->msg_id;
		__entry->wr_cnt = (int)e->wr_cnt;
		__entry->signal_interval = e->signal_interval;
		__entry->state = e->state;
		__entry->errno = e->error;
		strscpy_pad(__entry->sessname, e->path, sizeof(__entry->sessname));
	),
	TP_printk("sessname=%s state=%s dir=%s err=%d need_inval=%d always_invalidate=%d "
		"msg_id=%u wr_cnt=%d signal_interval=%u",
		__entry->sessname, rtrs_srv_show_state(__entry->state),
		__entry->dir ? "WRITE" : "READ", __entry->errno, __entry->need_inval,
		__entry->always_invalidate, __entry->msg_id, __entry->wr_cnt,
		__entry->signal_interval)
);

TRACE_EVENT(rtrs_srv_request,
	TP_PROTO(const struct rtrs_srv_request_event *e),
	TP_ARGS(e),
	TP_STRUCT__entry(
		__string(path, e->path)
		__field(u32, slot)
		__field(bool, write)
		__field(u32, data_len)
		__field(u32, usr_len)
	),
	TP_fast_assign(
		cxxrt_assign_str(path, e->path);
		__entry->slot = e->slot;
		__entry->write = e->write;
		__entry->data_len = e->data_len;
		__entry->usr_len = e->usr_len;
	),
	TP_printk("path=%s slot=%u dir=%s data_len=%u usr_len=%u", __get_str(path),
		__entry->slot, __entry->write ? "WRITE" : "READ", __entry->data_len,
		__entry->usr_len)
);

TRACE_EVENT(rtrs_srv_path_state,
	TP_PROTO(const struct rtrs_srv_state_event *e),
	TP_ARGS(e),
	TP_STRUCT__entry(
		__string(path, e->path)
		__field(int, from)
		__field(int, to)
	),
	TP_fast_assign(
		cxxrt_assign_str(path, e->path);
		__entry->from = e->from;
		__entry->to = e->to;
	),
	TP_printk("path=%s from=%s to=%s", __get_str(path), rtrs_srv_show_state(__entry->from),
		rtrs_srv_show_state(__entry->to))
);

TRACE_EVENT(rtrs_srv_refusal,
	TP_PROTO(const struct rtrs_srv_refusal_event *e),
	TP_ARGS(e),
	TP_STRUCT__entry(
		__string(path, e->path)
		__string(kind, e->kind)
		__field(int, error)
	),
	TP_fast_assign(
		cxxrt_assign_str(path, e->path);
		cxxrt_assign_str(kind, e->kind);
		__entry->error = e->error;
	),
	TP_printk("path=%s kind=%s error=%d", __get_str(path), __get_str(kind), __entry->error)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH rtrs/server
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE events
#include <trace/define_trace.h>
/* clang-format on */
