/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The border between the tracepoints of rtrs-server, which are C (events.h, events.c), and the C++
 * code, which calls them by trace.hh. An event takes a pointer to a structure that the caller has
 * filled in; it copies what it needs.
 */
#ifndef RTRS_SERVER_TRACE_H
#define RTRS_SERVER_TRACE_H

#include <linux/tracepoint-defs.h>
#include <linux/types.h>

#ifdef __cplusplus
extern "C" {
#endif

DECLARE_TRACEPOINT(send_io_resp_imm);
DECLARE_TRACEPOINT(rtrs_srv_request);
DECLARE_TRACEPOINT(rtrs_srv_path_state);
DECLARE_TRACEPOINT(rtrs_srv_refusal);

/* An answer was posted, as in-tree tells it (protocol F.6). */
struct rtrs_srv_response_event {
	const char *path; /* "<src@dst>" */
	bool write;	  /* the request's direction */
	bool need_inval;
	bool always_invalidate;
	u32 msg_id; /* slot */
	u32 wr_cnt; /* work requests of this answer */
	u32 signal_interval;
	int state; /* ServerPathState */
	int error; /* 0 or a negative errno, as answered */
};

struct rtrs_srv_request_event {
	const char *path;
	u32 slot;
	bool write;
	u32 data_len;
	u32 usr_len;
};

struct rtrs_srv_state_event {
	const char *path;
	int from; /* ServerPathState */
	int to;
};

struct rtrs_srv_refusal_event {
	const char *path; /* of a connection request: its addresses */
	const char *kind; /* as in debugfs */
	int error;	  /* 0 or a negative errno */
};

void rtrs_srv_trace_response(const struct rtrs_srv_response_event *e);
void rtrs_srv_trace_request(const struct rtrs_srv_request_event *e);
void rtrs_srv_trace_state(const struct rtrs_srv_state_event *e);
void rtrs_srv_trace_refusal(const struct rtrs_srv_refusal_event *e);

#ifdef __cplusplus
}
#endif
#endif
