// SPDX-License-Identifier: GPL-2.0
// From an open device to what user space sees: disk, attributes, link.
#include <cxxrt/log.hh>
#include <rnbd/client/device.hh>
#include <rnbd/client/disk.hh>
#include <rnbd/client/module.hh>
#include <rnbd/client/session.hh>

namespace rnbd::client {

Status Device::publish(int no_path_timeout)
{
	cxxrt::LockGuard building(building_);
	TRY(add_to_system());
	TRY(create_link());
	// Not before: who maps the device reads its partitions, and nothing could end that wait.
	waiting_.set_timeout(no_path_timeout);
	// Last, since from here on the device can be unmapped.
	TRY(directory_.create(&disk_to_dev(disk_)->kobj));
	// When the event comes, all that it is about is there.
	session_->with_link([&](Link &) {
		if (state() == DeviceState::Mapped)
			events_.add(DeviceEvent::Online);
	});
	log_info(label(), "Device mapped as %s (nsectors: %llu, logical_block_size: %u, %s)",
		 disk_->disk_name, static_cast<unsigned long long>(get_capacity(disk_)),
		 properties_.logical_block_size, to_text(mode_));
	return {};
}

Status Device::add_to_system()
{
	DeviceProperties properties;
	DeviceTopology topology;
	session_->with_link([&](Link &) {
		properties = properties_;
		topology = topology_;
	});
	const cxxrt::DiskLimits limits = disk_limits(properties, topology);
	gendisk *disk = TRY(create_disk(*this, properties, limits));
	get(); // for the disk, until free_disk()
	if (const int code = device_add_disk(nullptr, disk, disk_attributes())) {
		put_disk(disk);
		put();
		return cxxrt::Error::from_code(code);
	}
	set_read_ahead(disk, session_->attributes().max_io_size);
	session_->with_link([&](Link &) {
		disk_ = disk;
		published_ = true;
		// The link may have been lost, and more, while nobody could touch the disk.
		disk_limits_ = limits;
		follow_limits();
		change_capacity();
	});
	return {};
}

Status Device::create_link()
{
	char name[kLinkNameSize];
	cxxrt::TextWriter out(name, sizeof(name));
	TRY(write_link_name(out, path(), session_->name_view()));
	// "a/b" and "a!b" have one name; that is an error, but no bug of the kernel to warn of.
	TRY(Status::from_code(
	    sysfs_create_link_nowarn(module_.devices_kobj(), &disk_to_dev(disk_)->kobj, name)));
	linked_ = true;
	return {};
}

void Device::remove_link()
{
	if (!linked_)
		return;
	char name[kLinkNameSize];
	cxxrt::TextWriter out(name, sizeof(name));
	if (write_link_name(out, path(), session_->name_view()).ok())
		sysfs_remove_link(module_.devices_kobj(), name);
	linked_ = false;
}

} // namespace rnbd::client
