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

// A base of what is collected for one owner while the thread is plugged. T::plug_ended() is called
// once, when the plug ends or the thread goes to sleep; T may go in there. It may not sleep. All of
// it is for the thread itself, in process context.
template <class T> class PlugCollector {
public:
	static bool plugged() { return current->plug != nullptr; }
	// The collector of this owner in the present plug, which there is; null if there is none.
	static T *of_plug(const void *owner)
	{
		for (list_head *at = current->plug->cb_list.next; at != &current->plug->cb_list;
		     at = at->next) {
			blk_plug_cb *cb = list_entry(at, blk_plug_cb, list);
			if (cb->callback == ended && cb->data == owner)
				return of(cb);
		}
		return nullptr;
	}

protected:
	// Joins the present plug, which there is.
	explicit PlugCollector(void *owner)
	{
		callback_.callback = ended;
		callback_.data = owner;
		list_add(&callback_.list, &current->plug->cb_list);
	}

private:
	static T *of(blk_plug_cb *cb)
	{
		return static_cast<T *>(container_of(cb, PlugCollector, callback_));
	}
	// The block layer has taken the callback off its list.
	static void ended(blk_plug_cb *cb, bool) { of(cb)->plug_ended(); }

	blk_plug_cb callback_;
};

} // namespace cxxrt
