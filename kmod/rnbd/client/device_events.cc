// SPDX-License-Identifier: GPL-2.0
#include <rnbd/client/device_events.hh>

#include <cxxrt/print.hh>
#include <rnbd/client/device.hh>
#include <rnbd/client/module.hh>
#include <rnbd/client/session.hh>

namespace rnbd::client {

namespace {

kobject_action action_of(DeviceEvent event)
{
	switch (event) {
	case DeviceEvent::Offline:
		return KOBJ_OFFLINE;
	case DeviceEvent::Online:
		return KOBJ_ONLINE;
	default:
		return KOBJ_CHANGE;
	}
}

const char *text_of(DeviceEvent event)
{
	switch (event) {
	case DeviceEvent::Resized:
		return "RESIZE=1";
	case DeviceEvent::Slow:
		return "RNBD_EVENT=slow";
	case DeviceEvent::Answers:
		return "RNBD_EVENT=answers";
	default:
		return nullptr;
	}
}

} // namespace

DeviceEvents::DeviceEvents(Device &device)
    : device_(device), pending_(cxxrt::lock_class<"rnbd_client events">())
{
}

void DeviceEvents::add(DeviceEvent event)
{
	pending_.with([&](Pending &p) { p.add(event); });
	work_.queue(device_.session().module().background());
}

void DeviceEvents::run()
{
	DeviceEvent event;
	while (pending_.with([&](Pending &p) { return p.take(event); }))
		send(event);
}

// With what udev and multipath need to tell the disk, in the event itself.
void DeviceEvents::send(DeviceEvent event)
{
	gendisk *disk = device_.disk();
	if (event == DeviceEvent::ReadOnly) {
		set_disk_ro(disk, device_.read_only());
		return;
	}
	const Wwid wwid = device_.session().with_link([&](Link &) { return device_.wwid(); });
	cxxrt::TextBuffer<sizeof("ID_SERIAL=") + kWwidSize> serial;
	cxxrt::TextBuffer<sizeof("RNBD_SESSION=") + 256> session;
	cxxrt::TextBuffer<sizeof("RNBD_EVENT=answers")> what;
	serial.print("ID_SERIAL=%s", wwid.c_str());
	session.print("RNBD_SESSION=%s", device_.session().name());
	char *environment[4] = {session.data()};
	u32 count = 1;
	if (!wwid.empty())
		environment[count++] = serial.data();
	if (const char *text = text_of(event)) {
		what.print("%s", text);
		environment[count++] = what.data();
	}
	kobject_uevent_env(&disk_to_dev(disk)->kobj, action_of(event), environment);
}

} // namespace rnbd::client
