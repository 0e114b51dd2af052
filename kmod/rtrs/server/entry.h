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
	bool capsules;
};

/*
 * What clients may hold; 0 is no limit, for max_pinned_mb and max_memory_mb three quarters of the
 * memory, for max_memory_per_host_mb three quarters of max_memory_mb. Any value will do, at any
 * time: it holds for what is asked for from then on.
 */
struct rtrs_server_limits {
	unsigned int max_sessions;
	unsigned int max_sessions_per_host;
	unsigned int max_paths;
	unsigned int max_paths_per_host;
	unsigned int max_connections;
	unsigned int max_connections_per_host;
	unsigned int max_connections_per_path;
	unsigned int max_pinned_mb;
	unsigned int max_memory_mb;
	unsigned int max_memory_per_host_mb;
};

/*
 * Who has to prove who he is (protocol J.3): "off", "optional" or "required"; it holds for paths
 * that connect from then on. -EINVAL for other text. Any context, also before the start.
 */
int rtrs_server_set_auth(const char *text);
const char *rtrs_server_get_auth(void);

/* 0 or a negative errno; after an error nothing is left. May sleep. */
int rtrs_server_start(const struct rtrs_server_params *params,
		      const struct rtrs_server_limits *limits);

/*
 * Where connections are taken (rtrs/pure/listen_rules.hh): whether a list would do, at any time;
 * and one for what comes from then on, between start and stop, one at a time. -EINVAL, -ENOMEM, and
 * nothing has changed. May sleep.
 */
#define RTRS_SERVER_LISTEN_SIZE 512
int rtrs_server_check_listen(const char *text);
int rtrs_server_set_listen(const char *text);
void rtrs_server_stop(void);

#ifdef __cplusplus
}
#endif
#endif
