// SPDX-License-Identifier: GPL-2.0
/* The tracepoints of rtrs-client. C++ calls these functions only where an event is enabled. */
#define CREATE_TRACE_POINTS
#include <rtrs/client/events.h>

void rtrs_clt_trace_reconnect_work(const struct rtrs_clt_recovery_event *e)
{
	trace_rtrs_clt_reconnect_work(e);
}

void rtrs_clt_trace_close_conns(const struct rtrs_clt_recovery_event *e)
{
	trace_rtrs_clt_close_conns(e);
}

void rtrs_clt_trace_error_recovery(const struct rtrs_clt_recovery_event *e)
{
	trace_rtrs_rdma_error_recovery(e);
}

void rtrs_clt_trace_state(const struct rtrs_clt_state_event *e)
{
	trace_rtrs_clt_path_state(e);
}

void rtrs_clt_trace_choice(const struct rtrs_clt_choice_event *e)
{
	trace_rtrs_clt_path_choice(e);
}

void rtrs_clt_trace_submit(const struct rtrs_clt_submit_event *e)
{
	trace_rtrs_clt_request_submit(e);
}

void rtrs_clt_trace_post(const struct rtrs_clt_post_event *e)
{
	trace_rtrs_clt_request_post(e);
}

void rtrs_clt_trace_complete(const struct rtrs_clt_complete_event *e)
{
	trace_rtrs_clt_request_complete(e);
}
