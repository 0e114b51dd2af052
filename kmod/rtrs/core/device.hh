// SPDX-License-Identifier: GPL-2.0
// An RDMA device as one path uses it: with a protection domain of its own, so that the keys of one
// path open nothing to another one's queue pairs, be they of the same session or of a stranger's.
//
// Owner: the path, which closes it only after its queue pairs and memory regions are gone. Nothing
// here keeps the device registered; the path's CM ids do, and they go last.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/result.hh>
#include <rtrs/core/core.h>

// Plain data behind the exported functions; see rtrs::PathDevice.
struct rtrs_device {
	ib_device *ibdev;
	ib_pd *pd;
	bool replays_local_wrs;
	bool gsi_fails_on_drop;
};

namespace rtrs {

// Owns the protection domain. Creation and destruction may sleep.
class PathDevice {
public:
	constexpr PathDevice() = default;
	// EOPNOTSUPP for a device without fast registration, ENOMEM.
	static cxxrt::Result<PathDevice> open(ib_device *ibdev)
	{
		rtrs_device *device = nullptr;
		TRY(cxxrt::Status::from_code(rtrs_device_open(ibdev, &device)));
		return PathDevice(device);
	}
	PathDevice(PathDevice &&o)
	    : device_(cxxrt::exchange(o.device_, static_cast<rtrs_device *>(nullptr)))
	{
	}
	PathDevice &operator=(PathDevice &&o)
	{
		if (this != &o) {
			reset();
			device_ = cxxrt::exchange(o.device_, static_cast<rtrs_device *>(nullptr));
		}
		return *this;
	}
	~PathDevice() { reset(); }

	void reset()
	{
		if (rtrs_device *d = cxxrt::exchange(device_, static_cast<rtrs_device *>(nullptr)))
			rtrs_device_close(d);
	}
	rtrs_device *get() const { return device_; }
	ib_device *ibdev() const { return device_->ibdev; }
	ib_pd *pd() const { return device_->pd; }
	const ib_device_attr &attrs() const { return device_->ibdev->attrs; }
	// Soft-RoCE of 6.1 sends again from the oldest work request that is not acknowledged, and
	// that executes the local ones behind it a second time, also when its timer only came too
	// early. So registering a region must be right when it is done twice (Registration). No
	// where the administrator wants soft-RoCE to be treated like hardware.
	bool replays_local_wrs() const { return device_->replays_local_wrs; }
	// A packet that the network layer drops may break the queue pair of the connection manager
	// for good: soft-RoCE since 6.12 (DelayedDreq).
	bool gsi_fails_on_drop() const { return device_->gsi_fails_on_drop; }
	explicit operator bool() const { return device_ != nullptr; }

private:
	explicit PathDevice(rtrs_device *device) : device_(device) {}

	rtrs_device *device_ = nullptr;
};

} // namespace rtrs
