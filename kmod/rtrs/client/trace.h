/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The border between the tracepoints of rtrs-client, which are C (events.h, events.c), and the C++
 * code, which calls them by trace.hh. An event takes a pointer to a structure that the caller has
 * filled in; it copies what it needs.
 */
#ifndef RTRS_CLIENT_TRACE_H
#define RTRS_CLIENT_TRACE_H

#include <linux/tracepoint-defs.h>
#include <linux/types.h>

#ifdef __cplusplus
extern "C" {
#endif

DECLARE_TRACEPOINT(rtrs_clt_reconnect_work);
DECLARE_TRACEPOINT(rtrs_clt_close_conns);
DECLARE_TRACEPOINT(rtrs_rdma_error_recovery);
DECLARE_TRACEPOINT(rtrs_clt_path_state);
DECLARE_TRACEPOINT(rtrs_clt_path_choice);
DECLARE_TRACEPOINT(rtrs_clt_request_submit);
DECLARE_TRACEPOINT(rtrs_clt_request_post);
DECLARE_TRACEPOINT(rtrs_clt_request_complete);

/* The life of a path, as in-tree tells it (protocol F.6). */
struct rtrs_clt_recovery_event {
	const char *path; /* "<session> <src@dst>" */
	int state;	  /* ClientPathState */
	int reconnect_attempts;
	int max_reconnect_attempts;
	u64 fail_cnt;
	u64 success_cnt;
};

struct rtrs_clt_state_event {
	const char *path;
	int from; /* ClientPathState */
	int to;
	int error; /* what the attempt has met so far, 0 or a negative errno */
};

struct rtrs_clt_choice_event {
	const char *session;
	const char *path; /* NULL: none is left */
	u32 slot;
	int policy; /* Policy */
	bool failover;
};

struct rtrs_clt_submit_event {
	const char *path;
	u32 slot;
	u32 con;
	bool write;
	u32 data_len;
	u32 usr_len;
	u32 sg_cnt;
};

struct rtrs_clt_post_event {
	const char *path;
	u32 slot;
	u32 con;
	u32 wr_cnt;
	bool registered;
	int result; /* 0 or a negative errno */
};

struct rtrs_clt_complete_event {
	const char *path;
	u32 slot;
	bool write;
	u32 data_len;
	int error; /* 0 or a negative errno */
	u64 latency_ns;
};

void rtrs_clt_trace_reconnect_work(const struct rtrs_clt_recovery_event *e);
void rtrs_clt_trace_close_conns(const struct rtrs_clt_recovery_event *e);
void rtrs_clt_trace_error_recovery(const struct rtrs_clt_recovery_event *e);
void rtrs_clt_trace_state(const struct rtrs_clt_state_event *e);
void rtrs_clt_trace_choice(const struct rtrs_clt_choice_event *e);
void rtrs_clt_trace_submit(const struct rtrs_clt_submit_event *e);
void rtrs_clt_trace_post(const struct rtrs_clt_post_event *e);
void rtrs_clt_trace_complete(const struct rtrs_clt_complete_event *e);

#ifdef __cplusplus
}
#endif
#endif
