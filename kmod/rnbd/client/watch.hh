// SPDX-License-Identifier: GPL-2.0
// Looks every few seconds what became of the devices at the server (protocol D.5): one that grew or
// became read-only is followed, one that was closed there is said to be. The server has no way to
// speak first. Does nothing if the server does not know the message.
#pragma once

#include <cxxrt/work.hh>
#include <rnbd/client/messages.hh>
#include <rnbd/wire/units.hh>

namespace rnbd::client {

class Session;

class DeviceWatch {
public:
	explicit DeviceWatch(Session &session) : session_(session), work_(this) {}

	// Before all else. ENOMEM.
	Status prepare();
	// Once the session is open.
	void start();
	// Messages of the session fail already, so that a look that is under way ends. Sleeps.
	void stop() { work_.cancel_sync(); }

private:
	void run();
	Status look();

	Session &session_;
	MessageReserve reserve_;
	// The last answer that was acted upon in all that it says (protocol D.5), and its epoch.
	u32 followed_ = 0;
	u32 followed_epoch_ = 0;
	cxxrt::DelayedWork<DeviceWatch, &DeviceWatch::run> work_;
};

} // namespace rnbd::client
