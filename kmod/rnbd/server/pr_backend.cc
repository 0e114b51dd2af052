// SPDX-License-Identifier: GPL-2.0
#include <rnbd/server/pr_backend.hh>

#include <cxxrt/block.hh>
#include <rnbd/server/sysfs_folder.hh>

namespace rnbd::server {

namespace {

const pr_ops &ops_of(const block_device *bdev)
{
	return *bdev->bd_disk->fops->pr_ops;
}

pr_type to_kernel(ReservationType type)
{
	return static_cast<pr_type>(type);
}

// What the operations of drivers return: an errno, or a positive status of SCSI, above which 6.1
// has a mark of its own, or of NVMe.
Status to_status(int result)
{
	constexpr int kScsiStatus = 0xff;
	constexpr int kNvmeStatus = 0x7ff; // without its flags
	constexpr int kNvmeConflict = 0x83;
	if (result == -EAGAIN) // of dm, while it is suspended
		return err::ebusy;
	if (result <= 0)
		return Status::from_code(result);
	if ((result & kScsiStatus) == cxxrt::kPrConflict || (result & kNvmeStatus) == kNvmeConflict)
		return err::ebade;
	return err::eio;
}

} // namespace

const char *no_reservations(block_device *bdev)
{
	if (bdev_is_partition(bdev))
		return "it is a partition, and reservations are the whole disk's";
	const pr_ops *ops = bdev->bd_disk->fops->pr_ops;
	if (!ops || !ops->pr_register || !ops->pr_reserve || !ops->pr_release || !ops->pr_preempt)
		return "its driver knows none";
	// multipath-tools mark their maps so; whatever else device mapper makes may be a part of a
	// disk, or of several.
	char text[SysfsFolder::kLongest];
	const SysfsFolder folder{disk_devt(bdev->bd_disk)};
	if (!folder.read("dm/name", text).empty() &&
	    !folder.read("dm/uuid", text).starts_with("mpath-"))
		return "it is a volume of device mapper, which may be a part of a disk, and no "
		       "multipath map";
	return nullptr;
}

// The key may be there from an earlier life: then it takes that registration over, with what was
// reserved by it. A conflict does not always show as one, as device mapper of 6.1 turns all errors
// into one; and where that meets a key which is there, it has removed it when it says so.
Status PrBackend::enrol(block_device *bdev, u64 key)
{
	const pr_ops &ops = ops_of(bdev);
	bool conflict = false;
	bool again = false;
	const u64 known[] = {0, key, 0};
	for (const u64 old : known) {
		const Status s = to_status(ops.pr_register(bdev, old, key, 0));
		if (s.ok()) {
			registered_ = true;
			uncertain_ = false;
			break;
		}
		// Of a command that was lost, or given up by its timeout.
		uncertain_ |= s.error() != err::ebade && s.error() != err::eopnotsupp;
		if (s.error() == err::ebusy || s.error() == err::enomem)
			return s;
		conflict |= s.error() == err::ebade;
		again = true;
	}
	if (!registered_)
		return conflict ? err::ebade : err::eopnotsupp;
	if (!again)
		return {};
	// It is of either type; the other one is an error, or nothing.
	constexpr ReservationType kEither[] = {ReservationType::WriteExclusiveRegistrants,
					       ReservationType::ExclusiveAccessRegistrants};
	for (const ReservationType old : kEither)
		ops.pr_release(bdev, key, to_kernel(old));
	return {};
}

Status PrBackend::change_type(block_device *bdev, u64 key, ReservationType type)
{
	const pr_ops &ops = ops_of(bdev);
	int result;
	if (type == ReservationType::None)
		result = ops.pr_release(bdev, key, to_kernel(type_));
	else if (type_ == ReservationType::None)
		result = ops.pr_reserve(bdev, key, to_kernel(type), 0);
	else
		// Its own: nobody gets in between.
		result = ops.pr_preempt(bdev, key, key, to_kernel(type), false);
	TRY(to_status(result));
	type_ = type;
	return {};
}

Status PrBackend::follow(block_device *bdev, u64 key, const Wanted &wanted)
{
	if (wanted.registered && !registered_)
		TRY(enrol(bdev, key));
	if (wanted.type != type_)
		TRY(change_type(bdev, key, wanted.type));
	if (!wanted.registered && may_be_registered()) {
		const Status left = to_status(ops_of(bdev).pr_register(bdev, key, 0, 0));
		// A conflict says that there is no such registration.
		if (!left.ok() && (registered_ || left.error() != err::ebade))
			return left;
		registered_ = uncertain_ = false;
	}
	return {};
}

} // namespace rnbd::server
