// SPDX-License-Identifier: GPL-2.0
#include <rnbd/client/watch.hh>

#include <cxxrt/log.hh>
#include <cxxrt/noio.hh>
#include <rnbd/client/module.hh>
#include <rnbd/client/session.hh>
#include <rnbd/wire/extension.hh>

namespace rnbd::client {

namespace {
constexpr unsigned int kIntervalMs = 5'000;
}

Status DeviceWatch::prepare()
{
	return reserve_.create(session_, kMaxDeviceStatesSize);
}

void DeviceWatch::start()
{
	work_.queue_after(session_.workqueue(), msecs_to_jiffies(kIntervalMs));
}

void DeviceWatch::run()
{
	const cxxrt::NoIoScope noio;
	Status s = look();
	if (!s.ok() && s.error() != err::econnreset && s.error() != err::econnaborted)
		log_warning_limited(session_.name(), "Cannot learn of changes of devices: %d",
				    s.code());
	// Has no effect while stop() waits.
	start();
}

Status DeviceWatch::look()
{
	u32 epoch = 0;
	Device::StatesScope scope{};
	const bool known = session_.with_link([&](Link &link) {
		epoch = link.epoch;
		// Of devices that are opened from now on the answer need not know.
		scope.opens = link.opens;
		scope.cache = link.extension.has(feature::device_cache);
		return link.extension.has(feature::device_states);
	});
	if (!known)
		return {};
	if (epoch != followed_epoch_)
		followed_ = 0;
	followed_epoch_ = epoch;
	bool all = scope.cache;
	u32 last = 0;
	while (scope.first != kNoMoreDevices) {
		const DeviceStates question = make_device_states(scope.first, followed_);
		// Others end before `followed`.
		const usize size = scope.cache ? sizeof(question) : kDeviceStatesSizeV1;
		Ref<Message> message =
		    TRY(Message::exchange(session_, {&question, size, kMaxDeviceStatesSize},
					  {.epoch = &epoch, .reserve = &reserve_}));
		DeviceStatesView states =
		    TRY(DeviceStatesView::parse(message->answer(), scope.first));
		session_.with_link([&](Link &link) {
			u32 taken = 0;
			if (link.epoch == epoch)
				for (Device &device : link.devices)
					taken += device.take_state(states, scope);
			// One that is being opened, or unmapped, took nothing.
			all = all && taken == states.count();
		});
		last = states.serial();
		scope.first = states.next();
	}
	if (all)
		followed_ = last;
	return {};
}

} // namespace rnbd::client
