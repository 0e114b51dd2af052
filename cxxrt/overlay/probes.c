// SPDX-License-Identifier: GPL-2.0
/*
 * What C++ cannot ask the kernel's headers by `requires`: whether a macro or an enumerator exists,
 * and how many arguments a macro takes. build/probes.sh compiles this file as C, once for each
 * build tree, and defines in <cxxrt/probes.h>
 *
 *	CXXRT_PROBE_name	1 if the lines of PROBE(name, ...) compile, else 0
 *
 * Only headers of cxxrt use them (`make check`); they give modules one shape for all kernels, that
 * of the newest one. A probe with the same answer for all supported kernels goes, with its uses.
 * Each stands on one line, by which errors are found.
 */
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/device/class.h>
#include <linux/fs_struct.h>
#include <linux/mmzone.h>
#include <linux/workqueue.h>
#include <trace/stages/stage6_event_callback.h>

#define PROBE(name, ...) void probe_##name(void); void probe_##name(void) { (void)(__VA_ARGS__); }
/* Macros in the argument are expanded, so their arguments must be right, and no more. */
#define TEXT(...) TEXT_OF(__VA_ARGS__)
#define TEXT_OF(...) #__VA_ARGS__

/* Flags of a tree may silence the compiler. It has to take the first, and to refuse the second. */
#define CANARY PROBE
CANARY(right, linux_banner)
CANARY(wrong, cxxrt_no_such_function())

/* 6.8: MAX_PAGE_ORDER is the largest order; MAX_ORDER was one more. */
PROBE(max_page_order, MAX_PAGE_ORDER)

/* 6.4: class_create() takes the name alone. */
PROBE(class_create_by_name, class_create("name"))

/* 6.5: the modes of opens of block devices have a type of their own. */
PROBE(blk_mode, (blk_mode_t)BLK_OPEN_READ)

/* 6.5: BLK_STS_NEXUS is called so. */
PROBE(sts_resv_conflict, BLK_STS_RESV_CONFLICT)

/* 6.11: limits of a disk are set at once, and what were flags of its queue is among them. */
PROBE(limits_at_once, (struct queue_limits){ .features = BLK_FEAT_ROTATIONAL })

/* Until 6.13 requests are merged if a set of tags says so; since then always. */
PROBE(should_merge, BLK_MQ_F_SHOULD_MERGE)

/* 6.17, and later 6.12: a work queue that is not unbound says that it is per CPU. */
PROBE(wq_percpu, WQ_PERCPU)

/* By 7.3: threads of the kernel have no file system, unless they take that of programs. */
PROBE(init_fs, __override_init_fs())

/* 6.10: the source of a string in a trace event is named once, where the event is laid out. */
PROBE(assign_str_by_name, TEXT(__assign_str(name)))
