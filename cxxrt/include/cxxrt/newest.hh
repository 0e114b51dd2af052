// SPDX-License-Identifier: GPL-2.0
// Constants that have been renamed, with the meaning that they have in the newest kernel.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/probes.h>

namespace cxxrt {

// The largest order of pages that the kernel allocates in one piece. It had a name whose value was
// the first order that is too large.
#if CXXRT_PROBE_max_page_order
constexpr int kMaxPageOrder = MAX_PAGE_ORDER;
#else
constexpr int kMaxPageOrder = MAX_ORDER - 1;
#endif

// Another host has the disk reserved. NEXUS before.
#if CXXRT_PROBE_sts_resv_conflict
constexpr blk_status_t kStsResvConflict = BLK_STS_RESV_CONFLICT;
#else
constexpr blk_status_t kStsResvConflict = BLK_STS_NEXUS;
#endif

// What operations of pr_ops return when others have the disk reserved (PR_STS_RESERVATION_CONFLICT;
// before there was that name, SCSI disks returned their status as it is, which is the same).
constexpr int kPrConflict = 0x18;

// How a block device is opened.
#if CXXRT_PROBE_blk_mode
using BlockMode = blk_mode_t;
constexpr BlockMode kBlockRead = BLK_OPEN_READ;
constexpr BlockMode kBlockWrite = BLK_OPEN_WRITE;
constexpr BlockMode kBlockExclusive = BLK_OPEN_EXCL;
#else
using BlockMode = fmode_t;
constexpr BlockMode kBlockRead = FMODE_READ;
constexpr BlockMode kBlockWrite = FMODE_WRITE;
constexpr BlockMode kBlockExclusive = FMODE_EXCL;
#endif

} // namespace cxxrt
