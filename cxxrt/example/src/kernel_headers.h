/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's headers that this project needs and cxxrt does not name. They come with
 * <cxxrt/kernel.hh>, and are prepared and compared as all others. Valid C, too.
 */
#include <linux/sched/loadavg.h>
