// SPDX-License-Identifier: GPL-2.0
#include <rnbd/server/device_look.hh>

#include <rnbd/server/block_device.hh>
#include <rnbd/server/identity.hh>

namespace rnbd::server {

using cxxrt::Ref;

DeviceLook::DeviceLook(DeviceLooks &looks, dev_t number)
    : looks_(looks), number_(number), work_(this)
{
}

void DeviceLook::run()
{
	{
		const Result<BlockDevice> device = BlockDevice::open(number_, false);
		if (device.ok() && device->capacity().value)
			wwid_ = identify_device(device->get(), looks_.server_id_);
	}
	ended_at_ = jiffies;
	smp_store_release(&ended_, true);
	looks_.ended_.wake_all();
}

Status DeviceLooks::create()
{
	queue_ =
	    TRY(cxxrt::Workqueue::create("rnbd_server_looks", WQ_UNBOUND, WQ_UNBOUND_MAX_ACTIVE));
	return {};
}

DeviceLooks::~DeviceLooks()
{
	queue_.reset();
	looks_.with([](List &looks) {
		while (DeviceLook *look = looks.pop_front())
			look->put();
	});
}

// One that ended a while ago says nothing of now: another disk may have that number.
Result<Ref<DeviceLook>> DeviceLooks::look_at(dev_t number)
{
	constexpr unsigned long kKeep = 30 * HZ;
	return looks_.with([&](List &looks) -> Result<Ref<DeviceLook>> {
		for (DeviceLook &look : looks) {
			if (look.number() != number)
				continue;
			if (!look.ended() || time_before(jiffies, look.ended_at() + kKeep))
				return Ref<DeviceLook>::share(&look);
			looks.remove(look);
			look.put();
			break;
		}
		DeviceLook *look = new (GFP_KERNEL) DeviceLook(*this, number);
		if (!look)
			return err::enomem;
		looks.push_back(*look);
		look->start(queue_);
		return Ref<DeviceLook>::share(look);
	});
}

void DeviceLooks::forget(DeviceLook &look)
{
	looks_.with([&](List &looks) {
		if (!look.node.linked())
			return;
		looks.remove(look);
		look.put();
	});
}

Result<Wwid> DeviceLooks::identify(dev_t number, unsigned int patience_ms)
{
	Ref<DeviceLook> look = TRY(look_at(number));
	const unsigned long until = look->began() + msecs_to_jiffies(patience_ms);
	const unsigned long now = jiffies;
	// One that hangs already has had its time.
	TRY(ended_.wait_for(time_before(now, until) ? until - now : 0,
			    [&] { return look->ended(); }));
	forget(*look);
	return look->wwid();
}

} // namespace rnbd::server
