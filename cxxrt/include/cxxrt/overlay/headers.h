/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every kernel header that C++ code sees, in one list, but for those that the project names itself.
 * It must be valid C too: the C compiler reads it to find the empty structs, and to compare the
 * layout of each type with the one of C++.
 */
#ifdef CXXRT_CANARY
/* Whoever looks for empty structs by the compiler's warnings has to find this one. */
struct cxxrt_canary {
};
#endif

#include <linux/module.h>
#include <linux/moduleparam.h>

#include <crypto/algapi.h>
#include <crypto/blake2s.h>
#include <crypto/hash.h>
#include <keys/user-type.h>

#include <linux/bitfield.h>
#include <linux/bitmap.h>
#include <linux/bio.h>
#include <linux/blk-mq.h>
#include <linux/blkdev.h>
#include <linux/cleanup.h>
#include <linux/completion.h>
#include <linux/configfs.h>
#include <linux/cpumask.h>
#include <linux/ctype.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/fs_struct.h>
#include <linux/hdreg.h>
#include <linux/idr.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/inet.h>
#include <linux/interrupt.h>
#include <linux/jump_label.h>
#include <linux/key.h>
#include <linux/kernel_stat.h>
#include <linux/kobject.h>
#include <linux/kref.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/lockdep.h>
#include <linux/mempool.h>
#include <linux/mount.h>
#include <linux/mutex.h>
#include <linux/namei.h>
#include <linux/nsproxy.h>
#include <linux/numa.h>
#include <linux/parser.h>
#include <linux/path.h>
#include <linux/percpu-refcount.h>
#include <linux/percpu.h>
#include <linux/pr.h>
#include <linux/preempt.h>
#include <linux/random.h>
#include <linux/ratelimit.h>
#include <linux/rculist.h>
#include <linux/rcupdate.h>
#include <linux/reboot.h>
#include <linux/refcount.h>
#include <linux/rwsem.h>
#include <linux/sbitmap.h>
#include <linux/scatterlist.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/socket.h>
#include <linux/sort.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/timer.h>
#include <linux/topology.h>
#include <linux/tracepoint-defs.h>
#include <linux/uaccess.h>
#include <linux/utsname.h>
#include <linux/uuid.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#if __has_include(<linux/unaligned.h>)
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#include <net/addrconf.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>

/* What cxxrt-headers of the project's Kbuild names. */
#include <cxxrt/project.h>
