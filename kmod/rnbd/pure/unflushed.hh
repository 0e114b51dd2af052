// SPDX-License-Identifier: GPL-2.0
// Writes that a server acknowledged and no flush has made durable yet, and what becomes of them
// when the server starts anew. Pure.
//
// A server that lost power has lost what was in its disk's volatile cache. It takes the next flush
// and reports success, for it knows nothing of those writes; so the client must not believe it.
// From then on every flush fails, not only the next one: file systems on several partitions each
// have to learn of it. It ends when nobody has the disk open any more, or with the mapping.
#pragma once

#include <rnbd/wire/units.hh>

namespace rnbd {

// Any context, no lock.
class UnflushedWrites {
public:
	// A write was acknowledged that is not durable by itself. Before its user hears of it.
	void wrote()
	{
		if (!__atomic_load_n(&unflushed_, __ATOMIC_RELAXED))
			__atomic_store_n(&unflushed_, true, __ATOMIC_RELAXED);
	}
	// A flush is about to be sent: it covers what was acknowledged so far. False if it has to
	// fail instead.
	bool begin_flush()
	{
		if (__atomic_load_n(&lost_, __ATOMIC_ACQUIRE))
			return false;
		// What is acknowledged from here on is not covered.
		__atomic_store_n(&unflushed_, false, __ATOMIC_SEQ_CST);
		return true;
	}
	// It did not succeed, or was not sent. Before anything else is made of that.
	void flush_failed() { __atomic_store_n(&unflushed_, true, __ATOMIC_SEQ_CST); }

	// The server may have lost its volatile caches. `ended`: no request is with it, else a
	// write may be among those that is acknowledged only now. True if that concerns writes of
	// this device, and is not known yet.
	bool server_restarted(bool in_use, bool ended)
	{
		const bool unflushed = __atomic_exchange_n(&unflushed_, false, __ATOMIC_SEQ_CST);
		if (!in_use || (ended && !unflushed))
			return false;
		return !__atomic_exchange_n(&lost_, true, __ATOMIC_SEQ_CST);
	}
	// The last opener has closed the disk.
	void forget() { __atomic_store_n(&lost_, false, __ATOMIC_RELEASE); }
	bool lost() const { return __atomic_load_n(&lost_, __ATOMIC_ACQUIRE); }

private:
	bool unflushed_ = false;
	bool lost_ = false;
};

} // namespace rnbd
