// SPDX-License-Identifier: GPL-2.0
// What an object does before its machine goes down: a member of the object whose method runs before
// the kernel shuts devices down for a restart, a halt, or another kernel, while all of them work.
//
// The method may sleep, and holds the machine up as long as it runs. It runs once at most. The
// owner calls stop() before it dies.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/types.hh>

namespace cxxrt {

template <class T, void (T::*kMethod)()> class RebootNotifier {
public:
	explicit RebootNotifier(T *owner) : owner_(owner)
	{
		block_.notifier_call = run;
		// Before those of drivers that stop devices by themselves.
		block_.priority = INT_MAX;
	}
	RebootNotifier(const RebootNotifier &) = delete;
	RebootNotifier &operator=(const RebootNotifier &) = delete;

	// May sleep.
	void start()
	{
		// Fails for a block that is registered already, and for nothing else.
		WARN_ON(register_reboot_notifier(&block_));
		started_ = true;
	}
	// After this the method neither runs nor will. May sleep.
	void stop()
	{
		if (exchange(started_, false))
			unregister_reboot_notifier(&block_);
	}

private:
	static int run(notifier_block *block, unsigned long, void *)
	{
		RebootNotifier *self = container_of(block, RebootNotifier, block_);
		(self->owner_->*kMethod)();
		return NOTIFY_DONE;
	}

	notifier_block block_ = {};
	T *owner_;
	bool started_ = false;
};

} // namespace cxxrt
