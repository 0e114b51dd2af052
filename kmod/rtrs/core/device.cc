// SPDX-License-Identifier: GPL-2.0
// The registry of RDMA devices in use.
//
// A device is on the list while its count is not zero; both change together under the lock, so a
// find either takes a reference or makes a new entry, and the protection domain is freed outside
// of the lock, when nobody can find the entry any more.
#include <cxxrt/err_ptr.hh>
#include <cxxrt/guarded.hh>
#include <cxxrt/memory.hh>
#include <rtrs/core/device.hh>
#include <rtrs/core/module.hh>

using namespace cxxrt;

namespace rtrs {
namespace {

Result<Box<rtrs_device>> create_device(ib_device *ibdev)
{
	if (!(ibdev->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS)) {
		log_error(dev_name(&ibdev->dev), "device has no fast memory registration");
		return err::eopnotsupp;
	}
	Box<rtrs_device> device = TRY(make_box<rtrs_device>(GFP_KERNEL));
	device->ibdev = ibdev;
	device->users = 1;
	device->pd = TRY(from_err_ptr(ib_alloc_pd(ibdev, 0)));
	return device;
}

} // namespace

rtrs_device *DeviceRegistry::find_locked(List &list, ib_device *ibdev)
{
	for (rtrs_device &device : list) {
		// Identity of the registered device, not its address alone: an address can be used
		// again, but not while an entry holds a protection domain of the old one.
		if (device.ibdev == ibdev) {
			device.users++;
			return &device;
		}
	}
	return nullptr;
}

Result<rtrs_device *> DeviceRegistry::find(ib_device *ibdev)
{
	if (rtrs_device *known = list_.with([&](List &l) { return find_locked(l, ibdev); }))
		return known;

	// Made outside of the lock: it sleeps and talks to the device. Another path may have been
	// faster; then its entry is taken and this one is thrown away.
	Box<rtrs_device> fresh = TRY(create_device(ibdev));
	rtrs_device *device = list_.with([&](List &l) {
		rtrs_device *other = find_locked(l, ibdev);
		if (!other)
			l.push_back(*fresh);
		return other;
	});
	if (!device)
		return fresh.release();
	ib_dealloc_pd(fresh->pd);
	return device;
}

void DeviceRegistry::put(rtrs_device *device)
{
	const bool last = list_.with([&](List &l) {
		if (--device->users)
			return false;
		l.remove(*device);
		return true;
	});
	if (!last)
		return;
	ib_dealloc_pd(device->pd);
	delete device;
}

} // namespace rtrs

int rtrs_device_find(ib_device *ibdev, rtrs_device **device)
{
	Result<rtrs_device *> r = rtrs::module_->devices.find(ibdev);
	if (r.ok())
		*device = r.value();
	return r.code();
}

void rtrs_device_put(rtrs_device *device)
{
	rtrs::module_->devices.put(device);
}
