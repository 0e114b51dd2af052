// SPDX-License-Identifier: GPL-2.0
/* The tracepoints of rnbd-client. C++ calls these functions only where an event is enabled. */
#define CREATE_TRACE_POINTS
#include <rnbd/client/events.h>

void rnbd_clt_trace_io_begin(const struct rnbd_clt_io_event *e)
{
	trace_rnbd_clt_io_begin(e);
}

void rnbd_clt_trace_io_end(const struct rnbd_clt_io_event *e)
{
	trace_rnbd_clt_io_end(e);
}
