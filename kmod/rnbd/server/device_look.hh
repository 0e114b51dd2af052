// SPDX-License-Identifier: GPL-2.0
// What devices are that nobody has open, found out by work items that open them.
//
// An open takes as long as the driver likes. Who asks waits for a while and goes on; the item
// stays, at most one for each device, and nobody waits for that one again as long as it hangs. What
// it finds out late is for who asks next.
#pragma once

#include <cxxrt/guarded.hh>
#include <cxxrt/kernel.hh>
#include <cxxrt/list.hh>
#include <cxxrt/lock.hh>
#include <cxxrt/ref.hh>
#include <cxxrt/result.hh>
#include <cxxrt/wait.hh>
#include <cxxrt/work.hh>
#include <rnbd/wire/units.hh>
#include <rnbd/wire/wwid.hh>

namespace rnbd::server {

class DeviceLooks;

// One look at one device.
class DeviceLook : public cxxrt::RefCounted<DeviceLook> {
public:
	DeviceLook(DeviceLooks &looks, dev_t number);

	dev_t number() const { return number_; }
	void start(const cxxrt::Workqueue &queue) { work_.queue(queue); }
	// Jiffies.
	unsigned long began() const { return began_; }
	bool ended() const { return smp_load_acquire(&ended_); }
	// Both once it has ended. Jiffies; of a medium that is there, else empty.
	unsigned long ended_at() const { return ended_at_; }
	const Wwid &wwid() const { return wwid_; }

	cxxrt::ListNode node;

private:
	void run();

	DeviceLooks &looks_;
	const dev_t number_;
	const unsigned long began_ = jiffies;
	unsigned long ended_at_ = 0;
	Wwid wwid_;
	bool ended_ = false;
	cxxrt::RefWork<DeviceLook, &DeviceLook::run> work_;
};

class DeviceLooks {
public:
	// The identity of this machine outlives it.
	explicit DeviceLooks(const char *server_id) : server_id_(server_id) {}
	// Waits for looks that are under way.
	~DeviceLooks();
	// ENOMEM. May sleep.
	Status create();

	// What identify_device() says of it. ETIMEDOUT if a look that may have begun before takes
	// longer than that, ENOMEM. Sleeps.
	Result<Wwid> identify(dev_t number, unsigned int patience_ms);

private:
	friend class DeviceLook;
	using List = cxxrt::List<DeviceLook, &DeviceLook::node>;

	Result<cxxrt::Ref<DeviceLook>> look_at(dev_t number);
	void forget(DeviceLook &look);

	const char *const server_id_;
	cxxrt::WaitQueue ended_{cxxrt::lock_class<"rnbd-server looks ended">()};
	// Each of them with a reference. Under way, or ended after the patience of who asked.
	cxxrt::Guarded<List, cxxrt::Mutex> looks_{cxxrt::lock_class<"rnbd-server looks">()};
	cxxrt::Workqueue queue_;
};

} // namespace rnbd::server
