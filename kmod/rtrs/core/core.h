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
/* Likewise, and it may change. */
extern bool rtrs_wake_stalled;

/* core/main.c calls them. 0 or a negative errno; after an error nothing is left. May sleep. */
int rtrs_core_start(void);
void rtrs_core_stop(void);

/*
 * core/keys.cc: the keys of protocol J.3, which root puts into a keyring of this module. Process
 * context, and no lock is held: may sleep, without I/O where the caller's scope says so. Errors:
 * ENOKEY, EKEYEXPIRED, EKEYREVOKED, EINVAL for a secret that is none, EOPNOTSUPP where the kernel
 * has no keyrings or no HMAC-SHA-256.
 */
/* Whether there is any key, and the algorithm. Any context; may be out of date at once. */
bool rtrs_keys_able(void);
/*
 * Which key it was, whatever its description says. A key that comes back under the name and
 * generation of another differs from it, and so does one whose secret was exchanged.
 */
struct rtrs_key_identity {
	s32 serial; /* of the kernel */
	u64 print;  /* of the secret, under a key that lives as long as the module */
};

/* `secret` has 32 bytes, which the caller wipes; `identity` may be null. */
int rtrs_key_read(const char *name, u32 generation, u8 *secret, struct rtrs_key_identity *identity);
/* The latest generation that is valid; `known`: one that was, or 0 (pure/key_search.hh). */
int rtrs_key_latest(const char *name, u32 known, u32 *generation);

/* core/device.cc: a protection domain of an RDMA device. Both may sleep. */
int rtrs_device_open(struct ib_device *ibdev, struct rtrs_device **device);
/* Its queue pairs and memory regions are gone. */
void rtrs_device_close(struct rtrs_device *device);

/* core/connection.cc */
int rtrs_connection_create_queues(struct rtrs_connection *con, struct rtrs_device *device,
				  struct rdma_cm_id *id, const struct rtrs_queue_config *config);
void rtrs_connection_drain(struct rtrs_connection *con);
/* Quiet sends: the next completion of one interrupts, and so do those that are there. Any context.
 */
void rtrs_connection_arm_sends(struct rtrs_connection *con);
void rtrs_connection_destroy_queues(struct rtrs_connection *con);

#ifdef __cplusplus
}
#endif
#endif
