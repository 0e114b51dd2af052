/* SPDX-License-Identifier: GPL-2.0 */
/* Between main.c, which has the module's parameters, and the C++ behind it. */
#ifndef RTRS_SERVER_ENTRY_H
#define RTRS_SERVER_ENTRY_H

#include <linux/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As the administrator gave them, not checked. */
struct rtrs_server_params {
	bool always_invalidate;
	int max_chunk_size;
	int sess_queue_depth;
};

/* 0 or a negative errno; after an error nothing is left. May sleep. */
int rtrs_server_start(const struct rtrs_server_params *params);
void rtrs_server_stop(void);

#ifdef __cplusplus
}
#endif
#endif
