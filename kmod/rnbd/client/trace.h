/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The border between the tracepoints of rnbd-client, which are C (events.h, events.c), and the C++
 * code, which calls them by trace.hh.
 */
#ifndef RNBD_CLIENT_TRACE_H
#define RNBD_CLIENT_TRACE_H

#include <linux/tracepoint-defs.h>
#include <linux/types.h>

#ifdef __cplusplus
extern "C" {
#endif

DECLARE_TRACEPOINT(rnbd_clt_io_begin);
DECLARE_TRACEPOINT(rnbd_clt_io_end);

struct rnbd_clt_io_event {
	const char *disk;   /* "rnbd0" */
	const char *device; /* "<device_path>@<session>" */
	u32 slot;
	int op;	   /* REQ_OP_... */
	u32 flags; /* as sent, protocol D.3; not of an end */
	u64 sector;
	u32 bytes;
	int error;	/* of an end: 0 or a negative errno */
	u64 latency_ns; /* of an end: since the disk took the request */
};

void rnbd_clt_trace_io_begin(const struct rnbd_clt_io_event *e);
void rnbd_clt_trace_io_end(const struct rnbd_clt_io_event *e);

#ifdef __cplusplus
}
#endif
#endif
