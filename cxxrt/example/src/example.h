/* SPDX-License-Identifier: GPL-2.0 */
/* What the C side of the module calls in C++, and what it hands over. */
#pragma once

struct example_params {
	unsigned int interval_ms;
	unsigned int keep;
};

#ifdef __cplusplus
extern "C" {
#endif

/* 0, or a negative errno: then nothing is left of the module. */
int example_start(const struct example_params *params);
/* May sleep. After it no code of the module runs. */
void example_stop(void);

#ifdef __cplusplus
}
#endif
