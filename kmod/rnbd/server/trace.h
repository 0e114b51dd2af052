/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The border between the tracepoints of rnbd-server, which are C (events.h, events.c), and the C++
 * code, which calls them by trace.hh. `sessname` is the client's session everywhere.
 */
#ifndef RNBD_SERVER_TRACE_H
#define RNBD_SERVER_TRACE_H

#include <linux/tracepoint-defs.h>
#include <linux/types.h>

#ifdef __cplusplus
extern "C" {
#endif

DECLARE_TRACEPOINT(create_sess);
DECLARE_TRACEPOINT(destroy_sess);
DECLARE_TRACEPOINT(process_rdma);
DECLARE_TRACEPOINT(process_msg_sess_info);
DECLARE_TRACEPOINT(process_msg_open);
DECLARE_TRACEPOINT(process_msg_close);
DECLARE_TRACEPOINT(rnbd_srv_io_begin);
DECLARE_TRACEPOINT(rnbd_srv_io_end);

/* A message of type IO as the client sent it; nothing of it is checked yet (protocol D.1). */
struct rnbd_srv_rdma_event {
	const char *sessname;
	bool write; /* direction of the transport */
	u32 ver;
	u32 device_id;
	u64 sector;
	u32 flags; /* "rw" of the message: operation and flags */
	u32 bi_size;
	u32 ioprio;
	u32 datalen;
	u32 usrlen;
};

/* The checked request at the block device. */
struct rnbd_srv_io_event {
	const char *sessname;
	const char *device; /* "nullb0" */
	int op;		    /* as on the wire, protocol D.3 */
	u64 sector;
	u32 bytes;
	int error;	/* of an end: 0 or a negative errno */
	u64 latency_ns; /* of an end */
};

void rnbd_srv_trace_create_sess(u32 qdepth, const char *sessname);
void rnbd_srv_trace_destroy_sess(u32 qdepth, const char *sessname);
void rnbd_srv_trace_rdma(const struct rnbd_srv_rdma_event *e);
void rnbd_srv_trace_sess_info(u8 proto_ver, u8 clt_ver, u8 srv_ver, const char *sessname);
void rnbd_srv_trace_open(u8 access_mode, const char *sessname, const char *dev_name);
void rnbd_srv_trace_close(u32 device_id, const char *sessname);
void rnbd_srv_trace_io_begin(const struct rnbd_srv_io_event *e);
void rnbd_srv_trace_io_end(const struct rnbd_srv_io_event *e);

#ifdef __cplusplus
}
#endif
#endif
