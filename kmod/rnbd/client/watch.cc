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
	work_.queue_after(session_.module().workqueue(), msecs_to_jiffies(kIntervalMs));
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
	u32 epoch = 0, opens = 0;
	const bool known = session_.with_link([&](Link &link) {
		epoch = link.epoch;
		// Of devices that are opened from now on the answer need not know.
		opens = link.opens;
		return link.extension.has(feature::device_states);
	});
	if (!known)
		return {};
	u32 first = 0;
	while (first != kNoMoreDevices) {
		const DeviceStates question = make_device_states(first, 0);
		Ref<Message> message = TRY(
		    Message::exchange(session_, {&question, sizeof(question), kMaxDeviceStatesSize},
				      {.epoch = &epoch, .reserve = &reserve_}));
		DeviceStatesView states = TRY(DeviceStatesView::parse(message->answer(), first));
		session_.with_link([&](Link &link) {
			if (link.epoch != epoch)
				return;
			for (Device &device : link.devices)
				device.take_state(states, {.first = first, .opens = opens});
		});
		first = states.next();
	}
	return {};
}

} // namespace rnbd::client
