/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What rtrs-core exports to rtrs-client and rtrs-server, with C prototypes for symbol versions.
 * C++ code uses the classes of the headers beside this one, which call these.
 */
#ifndef RTRS_CORE_H
#define RTRS_CORE_H

#include <linux/types.h>
#include <rtrs/rtrs.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ib_device;
struct rdma_cm_id;
struct rtrs_device;
struct rtrs_connection;
struct rtrs_queue_config;

/* A parameter of the module, fixed once it is loaded. */
extern bool rtrs_guard_registrations;

/* core/device.cc: a protection domain of an RDMA device. Both may sleep. */
int rtrs_device_open(struct ib_device *ibdev, struct rtrs_device **device);
/* Its queue pairs and memory regions are gone. */
void rtrs_device_close(struct rtrs_device *device);

/* core/connection.cc */
int rtrs_connection_create_queues(struct rtrs_connection *con, struct rtrs_device *device,
				  struct rdma_cm_id *id, const struct rtrs_queue_config *config);
void rtrs_connection_drain(struct rtrs_connection *con);
void rtrs_connection_destroy_queues(struct rtrs_connection *con);

#ifdef __cplusplus
}
#endif
#endif
