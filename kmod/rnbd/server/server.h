/* SPDX-License-Identifier: GPL-2.0 */
/* Between the C stub of rnbd-server and its C++. */
#ifndef RNBD_SERVER_H
#define RNBD_SERVER_H

#include <linux/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Storage of the search path, terminator included: protocol F.5. */
#define RNBD_SERVER_PATH_SIZE 4096

/* Length of what `text` sets dev_search_path to, always its beginning; or -EINVAL. */
int rnbd_server_check_search_path(const char *text);

struct rnbd_server_settings {
	/* Terminated, and outlive the module's run. */
	const char *search_path;
	bool exports_only;
	/* Else nobody is served until ctl/serving says so. */
	bool serving;
	/* 0: that of this boot. */
	u64 instance;
	/* Null or empty if the administrator says nothing, or the machine has none. */
	const char *server_id;
	const char *board_uuid;
};

/* 0 or a negative errno. May sleep. */
int rnbd_server_start(u16 port, const struct rnbd_server_settings *settings);
void rnbd_server_stop(void);

/*
 * Memory of that size which is there until the machine starts again, whatever becomes of the
 * module: as the last load has left it, or zero. NULL: none. *of_others: another size was there,
 * and is lost. One at a time. May sleep.
 */
void *rnbd_server_boot_record(size_t size, bool *of_others);
/* Gives it back. May sleep. */
void rnbd_server_drop_boot_record(void);

#ifdef __cplusplus
}
#endif
#endif
