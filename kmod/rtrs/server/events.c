// SPDX-License-Identifier: GPL-2.0
/* The tracepoints of rtrs-server. C++ calls these functions only where an event is enabled. */
#define CREATE_TRACE_POINTS
#include <rtrs/server/events.h>

void rtrs_srv_trace_response(const struct rtrs_srv_response_event *e)
{
	trace_send_io_resp_imm(e);
}

void rtrs_srv_trace_request(const struct rtrs_srv_request_event *e)
{
	trace_rtrs_srv_request(e);
}

void rtrs_srv_trace_state(const struct rtrs_srv_state_event *e)
{
	trace_rtrs_srv_path_state(e);
}

void rtrs_srv_trace_refusal(const struct rtrs_srv_refusal_event *e)
{
	trace_rtrs_srv_refusal(e);
}
