// SPDX-License-Identifier: GPL-2.0
/* The tracepoints of rnbd-server. C++ calls these functions only where an event is enabled. */
#define CREATE_TRACE_POINTS
#include <rnbd/server/events.h>

void rnbd_srv_trace_create_sess(u32 qdepth, const char *sessname)
{
	trace_create_sess(qdepth, sessname);
}

void rnbd_srv_trace_destroy_sess(u32 qdepth, const char *sessname)
{
	trace_destroy_sess(qdepth, sessname);
}

void rnbd_srv_trace_rdma(const struct rnbd_srv_rdma_event *e)
{
	trace_process_rdma(e);
}

void rnbd_srv_trace_sess_info(u8 proto_ver, u8 clt_ver, u8 srv_ver, const char *sessname)
{
	trace_process_msg_sess_info(proto_ver, clt_ver, srv_ver, sessname);
}

void rnbd_srv_trace_open(u8 access_mode, const char *sessname, const char *dev_name)
{
	trace_process_msg_open(access_mode, sessname, dev_name);
}

void rnbd_srv_trace_close(u32 device_id, const char *sessname)
{
	trace_process_msg_close(device_id, sessname);
}

void rnbd_srv_trace_io_begin(const struct rnbd_srv_io_event *e)
{
	trace_rnbd_srv_io_begin(e);
}

void rnbd_srv_trace_io_end(const struct rnbd_srv_io_event *e)
{
	trace_rnbd_srv_io_end(e);
}
