/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The tracepoints of rtrs-client; Documentation/tracing.md describes them. Names and fields of the
 * first three are those of in-tree (protocol F.6). Included once by events.c.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM rtrs_clt

#if !defined(RTRS_CLIENT_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define RTRS_CLIENT_EVENTS_H

#include <linux/string.h>
#include <linux/tracepoint.h>
#include <cxxrt/trace_string.h>
#include <rtrs/client/trace.h>

/* clang-format off */
/* As ClientPathState; trace.hh compares. */
#define rtrs_clt_show_state(s) \
	__print_symbolic(s, { 0, "CONNECTING" }, { 1, "CONNECTED" }, { 2, "CONNECTING_ERR" }, \
			 { 3, "RECONNECTING" }, { 4, "CLOSING" }, { 5, "CLOSED" }, { 6, "DEAD" })
#define rtrs_clt_show_policy(p) \
	__print_symbolic(p, { 0, "round-robin" }, { 1, "min-inflight" }, { 2, "min-latency" })

DECLARE_EVENT_CLASS(rtrs_clt_recovery,
	TP_PROTO(const struct rtrs_clt_recovery_event *e),
	TP_ARGS(e),
	TP_STRUCT__entry(
		__field(int, state)
		__field(int, reconnect_attempts)
		__field(int, max_reconnect_attempts)
		__field(int, fail_cnt)
		__field(int, success_cnt)
		__array(char, sessname, 255)
	),
	TP_fast_assign(
		__entry->state = e->state;
		__entry->reconnect_attempts = e->reconnect_attempts;
		__entry->max_reconnect_attempts = e->max_reconnect_attempts;
		__entry->fail_cnt = (int)e->fail_cnt;
		__entry->success_cnt = (int)e->success_cnt;
		strscpy_pad(__entry->sessname, e->path, sizeof(__entry->sessname));
	),
	TP_printk("sessname=%s state=%s reconnect_attempts=%d max_reconnect_attempts=%d "
		"fail_cnt=%d success_cnt=%d",
		__entry->sessname, rtrs_clt_show_state(__entry->state),
		__entry->reconnect_attempts, __entry->max_reconnect_attempts, __entry->fail_cnt,
		__entry->success_cnt)
);
DEFINE_EVENT(rtrs_clt_recovery, rtrs_clt_reconnect_work,
	TP_PROTO(const struct rtrs_clt_recovery_event *e), TP_ARGS(e));
DEFINE_EVENT(rtrs_clt_recovery, rtrs_clt_close_conns,
	TP_PROTO(const struct rtrs_clt_recovery_event *e), TP_ARGS(e));
DEFINE_EVENT(rtrs_clt_recovery, rtrs_rdma_error_recovery,
	TP_PROTO(const struct rtrs_clt_recovery_event *e), TP_ARGS(e));

TRACE_EVENT(rtrs_clt_path_state,
	TP_PROTO(const struct rtrs_clt_state_event *e),
	TP_ARGS(e),
	TP_STRUCT__entry(
		__string(path, e->path)
		__field(int, from)
		__field(int, to)
		__field(int, error)
	),
	TP_fast_assign(
		cxxrt_assign_str(path, e->path);
		__entry->from = e->from;
		__entry->to = e->to;
		__entry->error = e->error;
	),
	TP_printk("path=%s from=%s to=%s error=%d", __get_str(path),
		rtrs_clt_show_state(__entry->from), rtrs_clt_show_state(__entry->to),
		__entry->error)
);

TRACE_EVENT(rtrs_clt_path_choice,
	TP_PROTO(const struct rtrs_clt_choice_event *e),
	TP_ARGS(e),
	TP_STRUCT__entry(
		__string(session, e->session)
		__string(path, e->path ? e->path : "none")
		__field(u32, slot)
		__field(int, policy)
		__field(bool, failover)
	),
	TP_fast_assign(
		cxxrt_assign_str(session, e->session);
		cxxrt_assign_str(path, e->path ? e->path : "none");
		__entry->slot = e->slot;
		__entry->policy = e->policy;
		__entry->failover = e->failover;
	),
	TP_printk("session=%s slot=%u policy=%s failover=%d path=%s", __get_str(session),
		__entry->slot, rtrs_clt_show_policy(__entry->policy), __entry->failover,
		__get_str(path))
);

TRACE_EVENT(rtrs_clt_request_submit,
	TP_PROTO(const struct rtrs_clt_submit_event *e),
	TP_ARGS(e),
	TP_STRUCT__entry(
		__string(path, e->path)
		__field(u32, slot)
		__field(u32, con)
		__field(bool, write)
		__field(u32, data_len)
		__field(u32, usr_len)
		__field(u32, sg_cnt)
	),
	TP_fast_assign(
		cxxrt_assign_str(path, e->path);
		__entry->slot = e->slot;
		__entry->con = e->con;
		__entry->write = e->write;
		__entry->data_len = e->data_len;
		__entry->usr_len = e->usr_len;
		__entry->sg_cnt = e->sg_cnt;
	),
	TP_printk("path=%s slot=%u con=%u dir=%s data_len=%u usr_len=%u sg_cnt=%u",
		__get_str(path), __entry->slot, __entry->con, __entry->write ? "WRITE" : "READ",
		__entry->data_len, __entry->usr_len, __entry->sg_cnt)
);

TRACE_EVENT(rtrs_clt_request_post,
	TP_PROTO(const struct rtrs_clt_post_event *e),
	TP_ARGS(e),
	TP_STRUCT__entry(
		__string(path, e->path)
		__field(u32, slot)
		__field(u32, con)
		__field(u32, wr_cnt)
		__field(bool, registered)
		__field(int, result)
	),
	TP_fast_assign(
		cxxrt_assign_str(path, e->path);
		__entry->slot = e->slot;
		__entry->con = e->con;
		__entry->wr_cnt = e->wr_cnt;
		__entry->registered = e->registered;
		__entry->result = e->result;
	),
	TP_printk("path=%s slot=%u con=%u wr_cnt=%u registered=%d result=%d", __get_str(path),
		__entry->slot, __entry->con, __entry->wr_cnt, __entry->registered,
		__entry->result)
);

TRACE_EVENT(rtrs_clt_request_complete,
	TP_PROTO(const struct rtrs_clt_complete_event *e),
	TP_ARGS(e),
	TP_STRUCT__entry(
		__string(path, e->path)
		__field(u32, slot)
		__field(bool, write)
		__field(u32, data_len)
		__field(int, error)
		__field(u64, latency_ns)
	),
	TP_fast_assign(
		cxxrt_assign_str(path, e->path);
		__entry->slot = e->slot;
		__entry->write = e->write;
		__entry->data_len = e->data_len;
		__entry->error = e->error;
		__entry->latency_ns = e->latency_ns;
	),
	TP_printk("path=%s slot=%u dir=%s data_len=%u error=%d latency_ns=%llu", __get_str(path),
		__entry->slot, __entry->write ? "WRITE" : "READ", __entry->data_len,
		__entry->error, __entry->latency_ns)
);
#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH rtrs/client
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE events
#include <trace/define_trace.h>
/* clang-format on */
