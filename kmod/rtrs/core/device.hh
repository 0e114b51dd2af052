// SPDX-License-Identifier: GPL-2.0
// An RDMA device as RTRS uses it: one protection domain for all sessions, shared by reference.
//
// Owner: the registry of rtrs-core, which forgets a device when its last user puts it. The users
// are paths; a path puts its device only after its queue pairs and memory regions are gone.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/list.hh>
#include <cxxrt/result.hh>
#include <rtrs/core/core.h>

// Plain data behind the exported functions; see rtrs::DeviceRef.
struct rtrs_device {
	ib_device *ibdev;
	ib_pd *pd;
	u32 users; // under the registry's lock, like the next
	cxxrt::ListNode registry;
};

namespace rtrs {

// Holds one reference. Creation and destruction may sleep.
class DeviceRef {
public:
	constexpr DeviceRef() = default;
	// EOPNOTSUPP for a device without fast registration, ENOMEM.
	static cxxrt::Result<DeviceRef> find(ib_device *ibdev)
	{
		rtrs_device *device = nullptr;
		TRY(cxxrt::Status::from_code(rtrs_device_find(ibdev, &device)));
		return DeviceRef(device);
	}
	DeviceRef(DeviceRef &&o)
	    : device_(cxxrt::exchange(o.device_, static_cast<rtrs_device *>(nullptr)))
	{
	}
	DeviceRef &operator=(DeviceRef &&o)
	{
		if (this != &o) {
			reset();
			device_ = cxxrt::exchange(o.device_, static_cast<rtrs_device *>(nullptr));
		}
		return *this;
	}
	~DeviceRef() { reset(); }

	void reset()
	{
		if (rtrs_device *d = cxxrt::exchange(device_, static_cast<rtrs_device *>(nullptr)))
			rtrs_device_put(d);
	}
	rtrs_device *get() const { return device_; }
	ib_device *ibdev() const { return device_->ibdev; }
	ib_pd *pd() const { return device_->pd; }
	const ib_device_attr &attrs() const { return device_->ibdev->attrs; }
	// Soft-RoCE of 6.1 sends again from the oldest work request that is not acknowledged, and
	// that executes the local ones behind it a second time, also when its timer only came too
	// early. So registering a region must be right when it is done twice (Registration).
	bool repeats_local_work() const { return device_->ibdev->ops.driver_id == RDMA_DRIVER_RXE; }
	explicit operator bool() const { return device_ != nullptr; }

private:
	explicit DeviceRef(rtrs_device *device) : device_(device) {}

	rtrs_device *device_ = nullptr;
};

} // namespace rtrs
