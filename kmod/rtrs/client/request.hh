// SPDX-License-Identifier: GPL-2.0
// The slots of one path: what is in flight on it, and the memory that a request needs.
//
// A request of slot n uses entry n of whichever path it goes over. Life of an entry:
//
//	Idle --submit--> [Held -->] Posted or Passed --response--> Answered [--let go of]--> Idle
//
// where done() is called. It ends exactly once: by the handler that makes it Answered, under the
// entry's lock, or by the tear-down of the path, which begins when no handler can run any more.
// Held is who waits for company (send_batch.cc) or for his turn (throttle.hh). Answered is who
// still has something out of his hands: a region that the peer may reach, till its LOCAL_INV is
// done, or pages that the device may send, till a send completion covers them.
//
// submit() holds the lock from Posted until the work requests are in the queue; who was Held
// becomes Posted when they are, and a response that comes in between waits for that. Passed is
// Posted in all of this. So a response that comes early, which only a hostile server can send,
// finds either no request or a complete one: its region is then invalidated behind the
// registration, never before it.
#pragma once

#include <cxxrt/list.hh>
#include <cxxrt/lock.hh>
#include <cxxrt/memory.hh>
#include <rtrs/client/completion.hh>
#include <rtrs/client/limits.hh>
#include <rtrs/core/memory.hh>
#include <rtrs/rtrs.h>

namespace rtrs::client {

class ClientConnection;

enum class RequestState : u8 {
	Idle,
	Held,	  // on its connection's list, till its batch ends or its turn comes
	Posted,	  // the server's answer will come
	Passed,	  // likewise, and a throttle is to hear of it (throttle.hh)
	Answered, // it came; `status` is valid, the device may still have to let go of the memory
};

struct Request {
	Request() = default;

	Direction direction() const
	{
		return in.dir == RTRS_READ ? Direction::Read : Direction::Write;
	}
	dma_data_direction dma_direction() const
	{
		return in.dir == RTRS_READ ? DMA_FROM_DEVICE : DMA_TO_DEVICE;
	}
	bool needs_region() const { return mapped < 0; }
	// The device reads the caller's pages by the local key, until it knows that the server has
	// them.
	bool sends_pages() const { return mapped > 0 && in.dir == RTRS_WRITE; }
	// Entries of the message's gather list.
	u32 sges() const { return needs_region() ? kRegionSges : static_cast<u32>(mapped) + 1; }
	// Completion of LOCAL_INV; response.cc.
	void on_invalidated(const ib_wc &wc);

	cxxrt::SpinLock lock{cxxrt::lock_class<"rtrs_request">()};
	RequestState state = RequestState::Idle;
	// The key of the region may open memory: set before REG_MR is posted, cleared when it is
	// known to be invalid. A property of the region, not of the request (protocol G.1-60).
	bool registered = false;
	// Entries of the list that travel by themselves; -1: the region does.
	s16 mapped = 0;
	int status = 0;
	u64 place = 0; // in the send queue
	int cpu = 0;   // where it was submitted
	u64 started_ns = 0;
	ClientConnection *connection = nullptr;
	rtrs_clt_request in{}; // in.msg is behind `message`
	ChunkOffset offset{};  // of the message in the server's chunk
	u16 message_size = 0;  // in bytes, with header, and prefix if it is one of a
	bool by_capsule = false;

	MemoryRegion region;
	// Room for a capsule's prefix, then user message and header; sent from here or from behind
	// the prefix.
	u8 *message = nullptr;
	u64 message_dma = 0;
	DmaBuffer *message_page = nullptr;
	u32 message_offset = 0; // in its page
	CompletionEntry<Request, &Request::on_invalidated> invalidated{this};
	// On a list of its connection: Held; or Answered, for room to post its LOCAL_INV, or for
	// the completion that covers its pages.
	cxxrt::ListNode waiting;
};

class RequestTable {
public:
	// ENOMEM, or what the device says. May sleep.
	static Result<cxxrt::Box<RequestTable>> create(const PathDevice &device,
						       const DeviceLimits &limits,
						       QueueDepth depth);

	Request &operator[](Slot slot) const { return requests_[slot.value]; }
	// Those that are not Idle, in the order of submission. For the walk of the tear-down, when
	// nobody else changes them; the array is the caller's until the next call.
	struct InFlight {
		Request **first;
		u32 count;

		Request **begin() const { return first; }
		Request **end() const { return first + count; }
	};
	InFlight in_flight();
	Request *begin() const { return requests_.begin(); }
	Request *end() const { return requests_.end(); }

private:
	cxxrt::Array<DmaBuffer> pages_; // outlive the requests that point into them
	cxxrt::Array<Request> requests_;
	cxxrt::Array<Request *> order_; // of in_flight(), which must not need memory
};

} // namespace rtrs::client
