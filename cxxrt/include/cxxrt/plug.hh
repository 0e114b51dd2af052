// SPDX-License-Identifier: GPL-2.0
// The block layer's plug as a scope: what the thread submits inside goes to the disks' drivers
// together, at the end of the scope or when the thread goes to sleep.
//
// Who collects something else along with it must not keep that while the thread sleeps either:
// after watch(), `sleeping` is called once, when the thread is about to. It may not sleep.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/types.hh>

namespace cxxrt {

class [[nodiscard]] Plug {
public:
	// In process context.
	Plug(void (*sleeping)(void *data), void *data) : data_(data), sleeping_(sleeping)
	{
		blk_start_plug(&plug_);
		callback_.callback = flushed;
		// Inside of another plug this one is none, and is not told of sleep.
		watching_ = current->plug != &plug_;
	}
	// Without anything to collect along.
	Plug() : Plug(nullptr, nullptr) {}
	Plug(const Plug &) = delete;
	Plug &operator=(const Plug &) = delete;
	// What was held back is submitted now, and may end before this returns.
	~Plug() { blk_finish_plug(&plug_); }

	// By the thread itself, as often as it likes.
	void watch()
	{
		if (!watching_) [[unlikely]]
			begin_to_watch();
	}

private:
	// Out of line: most calls come while it watches.
	noinline void begin_to_watch()
	{
		watching_ = true;
		list_add(&callback_.list, &plug_.cb_list);
	}
	// The block layer has taken the callback off its list.
	static void flushed(blk_plug_cb *callback, bool going_to_sleep)
	{
		Plug *self = container_of(callback, Plug, callback_);
		self->watching_ = false;
		if (going_to_sleep)
			self->sleeping_(self->data_);
	}

	blk_plug plug_;
	blk_plug_cb callback_;
	void *const data_;
	void (*const sleeping_)(void *data);
	bool watching_;
};

} // namespace cxxrt
