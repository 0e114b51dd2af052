// SPDX-License-Identifier: GPL-2.0
// Protection domains of paths.
#include <cxxrt/err_ptr.hh>
#include <cxxrt/kernel.hh>
#include <cxxrt/log.hh>
#include <cxxrt/memory.hh>
#include <rtrs/core/device.hh>

using namespace cxxrt;

namespace rtrs {
namespace {

Result<rtrs_device *> open_device(ib_device *ibdev)
{
	if (!(ibdev->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS)) {
		log_error(dev_name(&ibdev->dev), "device has no fast memory registration");
		return err::eopnotsupp;
	}
	Box<rtrs_device> device = TRY(make_box<rtrs_device>(GFP_KERNEL));
	device->ibdev = ibdev;
	const bool soft_roce = ibdev->ops.driver_id == RDMA_DRIVER_RXE;
	device->replays_local_wrs = soft_roce && rtrs_guard_registrations;
	device->gsi_fails_on_drop = soft_roce;
	device->pd = TRY(from_err_ptr(ib_alloc_pd(ibdev, 0)));
	return device.release();
}

} // namespace
} // namespace rtrs

CXXRT_FOR_C int rtrs_device_open(ib_device *ibdev, rtrs_device **device)
{
	Result<rtrs_device *> r = rtrs::open_device(ibdev);
	if (r.ok())
		*device = r.value();
	return r.code();
}

CXXRT_FOR_C void rtrs_device_close(rtrs_device *device)
{
	ib_dealloc_pd(device->pd);
	delete device;
}
