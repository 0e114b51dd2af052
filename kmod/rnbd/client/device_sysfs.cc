// SPDX-License-Identifier: GPL-2.0
#include <rnbd/client/device_sysfs.hh>

#include <cxxrt/log.hh>
#include <cxxrt/text.hh>
#include <rnbd/client/device.hh>
#include <rnbd/client/session.hh>

namespace rnbd::client {

using cxxrt::SysfsCall;
using cxxrt::SysfsText;

void DeviceDirectory::show_unmap(SysfsText &out)
{
	out.print("Usage: echo <normal|force> > unmap_device\n");
}

Status DeviceDirectory::store_unmap(TextView text, SysfsCall &call)
{
	Result<UnmapMode> mode = parse_unmap_mode(text);
	if (!mode.ok()) {
		log_error(device_.label(), "unmap_device takes normal or force");
		return mode.error();
	}
	// The directory goes, and this object with the device, unless somebody keeps it.
	Ref<Device> device = Ref<Device>::share(&device_);
	return device->unmap(*mode, call);
}

void DeviceDirectory::show_resize(SysfsText &out)
{
	out.print("Usage: echo <new size in sectors> > resize\n");
}

Status DeviceDirectory::store_resize(TextView text, SysfsCall &)
{
	return device_.resize({TRY(cxxrt::parse_u64(text))});
}

void DeviceDirectory::show_remap(SysfsText &out)
{
	out.print("Usage: echo <1> > remap_device\n");
}

Status DeviceDirectory::store_remap(TextView text, SysfsCall &)
{
	Status one = cxxrt::parse_one(text);
	if (!one.ok()) {
		log_error(device_.label(), "remap_device takes 1");
		return one;
	}
	return device_.remap();
}

void DeviceDirectory::show_path(SysfsText &out)
{
	const TextView path = device_.path();
	out.print("%.*s\n", static_cast<int>(path.size()), path.data());
}

void DeviceDirectory::show_session(SysfsText &out)
{
	out.print("%s\n", device_.session().name());
}

void DeviceDirectory::show_owner(SysfsText &out)
{
	out.print("%s\n", device_.owner());
}

void DeviceDirectory::show_access_mode(SysfsText &out)
{
	out.print("%s\n", to_text(device_.access_mode()));
}

void DeviceDirectory::show_poll_queues(SysfsText &out)
{
	out.print("%u\n", device_.session().wanted_poll_queues());
}

void DeviceDirectory::show_state(SysfsText &out)
{
	out.print("%s\n", to_sysfs(device_.state()));
}

void DeviceDirectory::show_wwid(SysfsText &out)
{
	const Wwid wwid = device_.session().with_link([&](Link &) { return device_.wwid(); });
	out.print("%s\n", wwid.c_str());
}

void DeviceDirectory::show_no_path_timeout(SysfsText &out)
{
	out.print("%d\n", device_.waiting().timeout());
}

Status DeviceDirectory::store_no_path_timeout(TextView text, SysfsCall &)
{
	device_.waiting().set_timeout(TRY(parse_no_path_timeout(text)));
	return {};
}

void DeviceDirectory::show_waiting(SysfsText &out)
{
	out.print("%u\n", device_.waiting().count());
}

void DeviceDirectory::show_oldest(SysfsText &out)
{
	out.print("%llu\n", static_cast<unsigned long long>(oldest_request_age(device_)));
}

void DeviceDirectory::show_slow(SysfsText &out)
{
	out.print("%d\n", device_.slow().told());
}

namespace {

using DirectoryFile = cxxrt::SysfsFile<DeviceDirectory>;
using D = DeviceDirectory;

// unmap_device is the last, so that nothing of the directory is missing when it can be used.
constinit const DirectoryFile kDirectoryFiles[] = {
    DirectoryFile::read_write("resize", &D::show_resize, &D::store_resize),
    DirectoryFile::read_write("remap_device", &D::show_remap, &D::store_remap),
    DirectoryFile::read_only("mapping_path", &D::show_path),
    DirectoryFile::read_only("session", &D::show_session),
    DirectoryFile::read_only("owner", &D::show_owner),
    DirectoryFile::read_only("access_mode", &D::show_access_mode),
    DirectoryFile::read_only("nr_poll_queues", &D::show_poll_queues),
    DirectoryFile::read_only("state", &D::show_state),
    DirectoryFile::read_only("wwid", &D::show_wwid),
    DirectoryFile::read_write("no_path_timeout", &D::show_no_path_timeout,
			      &D::store_no_path_timeout),
    DirectoryFile::read_only("waiting_requests", &D::show_waiting),
    DirectoryFile::read_only("oldest_request_ms", &D::show_oldest),
    DirectoryFile::read_only("slow", &D::show_slow),
    DirectoryFile::read_write("unmap_device", &D::show_unmap, &D::store_unmap),
};

} // namespace

Status DeviceDirectory::create(kobject *parent)
{
	dir_ = TRY(cxxrt::SysfsDir::create(parent, "rnbd", this, kDirectoryFiles));
	return device_.stats().create_files(dir_.kobj());
}

void DeviceDirectory::remove()
{
	device_.stats().remove_files();
	dir_.reset();
}

} // namespace rnbd::client
