// SPDX-License-Identifier: GPL-2.0
// The transport's user: opens a session over the fabric, submits requests, and counts how they end.
#pragma once

#include "fabric.hh"

#include <rtrs/rtrs.h>

namespace fake {

// One request of one slot, with a page of data.
struct Io {
	// `read`: the server writes to the page.
	void prepare(u32 slot, bool read);
	// A message alone.
	void prepare_empty(u32 slot);
	// `more`: others follow, or a commit.
	int submit(rtrs_clt *session, bool more = false);
	static void done(void *priv, int status, io_comp_batch *batch, u64 now);
	cxxrt::Status wait();
	u32 ends() const { return __atomic_load_n(&ended, __ATOMIC_SEQ_CST); }

	rtrs_clt_request request{};
	u64 message = 0;
	scatterlist sg[1];
	u32 submitted = 0;
	u32 ended = 0;
	int status = 1;
	u32 open_at_end = 0; // the server could still reach the page when it ended
	u32 sent_at_end = 0; // the device could still send the page then
	u32 together = 0;    // ends in a batch of several
	// Called at the end, before the end counts.
	void (*at_end)(Io &io) = nullptr;
	void *priv = nullptr;
	cxxrt::WaitQueue changed{cxxrt::lock_class<"kunit io">()};
	u8 page[4096] = {};
};

// Fabric, module and session of one case.
class Client {
public:
	struct Options {
		bool fences = false; // the server offers them
		u32 queue = 4096;    // work requests that a queue of the device holds
		u64 max_mr_size = 1ull << 32;
		u64 page_sizes = 4096;	// of regions, a bit for each that the device knows
		bool soft_roce = false; // local work is done twice
		u32 reconnect_delay = 1;
		u32 send_room = ~0u; // work requests of a send queue that fits the device
		u32 queues = 0;	     // connections beside the service connection; 0: as CPUs are
		u32 gather = 0;	     // Fabric::gather
	};
	static cxxrt::Result<cxxrt::Box<Client>> create(u32 paths = 1)
	{
		return create(paths, Options());
	}
	static cxxrt::Result<cxxrt::Box<Client>> create(u32 paths, const Options &options);
	~Client();

	Io &io(u32 slot) { return *ios_[slot]; }
	// Of the slots that are the user's own.
	u32 first_slot() const { return attrs.first_io_slot; }
	// Ends the session; requests that are in flight end in it.
	void close();
	// Writes to a file of the session, below /sys/class/rtrs-client/kunit/. Bytes or errno.
	long write(const char *file, const char *text);
	// Events of the link.
	u32 links_lost = 0;
	u32 links_back = 0;

	cxxrt::Box<Fabric> fabric;
	rtrs_clt *session = nullptr;
	rtrs_clt_attrs attrs{};

private:
	static void link_event(void *priv, rtrs_clt_event event);

	bool started_ = false;
	cxxrt::Box<Io> ios_[kDepth];
};

} // namespace fake
