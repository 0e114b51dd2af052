/* SPDX-License-Identifier: GPL-2.0 */
/* The border between the C stub and the C++ code of rnbd-client. */
#ifndef RNBD_CLIENT_H
#define RNBD_CLIENT_H

#include <linux/types.h>

#ifdef __cplusplus
extern "C" {
#endif

int rnbd_client_start(void);
void rnbd_client_stop(void);

/* Module parameter, see main.c. Constant after loading. */
extern bool rnbd_client_trust_write_zeroes;

#ifdef __cplusplus
}
#endif
#endif
