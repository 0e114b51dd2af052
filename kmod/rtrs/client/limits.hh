// SPDX-License-Identifier: GPL-2.0
// What a session offers its user, fixed when its first path reaches the server (protocol A.3), and
// what an RDMA device allows. A path whose server or device offers something else can't serve the
// session: permits, tags and block limits were made from these numbers (protocol G.1-33, G.3-15).
#pragma once

#include <cxxrt/kernel.hh>
#include <rtrs/client/permits.hh>
#include <rtrs/core/device.hh>
#include <rtrs/pure/geometry.hh>
#include <rtrs/rtrs.h>
#include <rtrs/wire/constants.hh>
#include <rtrs/wire/immediate.hh>
#include <rtrs/wire/io_header.hh>
#include <rtrs/wire/private_data.hh>

namespace rtrs::client {

// A write gathers up to this many ranges of data and the message in one work request: 64 KiB that
// begin anywhere in a page, and the message.
constexpr u32 kMaxSendSges = 18;
// Of a request whose data has a region: region and message.
constexpr u32 kRegionSges = 2;

// That wait on the service connection: two for the answer to each permit's message, and for a
// heartbeat, an answer to one and the end of a fence.
constexpr u32 kServiceReceives = 64;

struct DeviceLimits {
	u32 max_pages;	 // of a fast-registration region
	u32 queue_wrs;	 // in a send or receive queue, the drain marker left out
	u32 send_wrs;	 // in a send queue: as before, until one did not fit
	u32 send_sges;	 // of a work request of an I/O connection
	u32 max_message; // bytes that one work request moves
	ib_mr_type mr_type;
	bool port_active; // its cable was in when it was asked

	// EOPNOTSUPP if the device is too small for a request, EIO if the port can't be asked. May
	// sleep.
	static Result<DeviceLimits> of(const PathDevice &device, u32 port)
	{
		const ib_device_attr &a = device.attrs();
		// A region and a message in one work request; a region of data inside two pages.
		if (a.max_send_sge < 2 || a.max_fast_reg_page_list_len < 2 || a.max_qp_wr < 2)
			return err::eopnotsupp;
		// It would take another size for one of its own, and move other memory.
		if (!(a.page_size_cap & kClientSegmentSize))
			return err::eopnotsupp;
		ib_port_attr port_attr;
		if (ib_query_port(device.ibdev(), port, &port_attr))
			return err::eio;
		return DeviceLimits{
		    .max_pages = cxxrt::min_of(kClientMaxSegments, a.max_fast_reg_page_list_len),
		    .queue_wrs = static_cast<u32>(a.max_qp_wr) - 1,
		    .send_wrs = static_cast<u32>(a.max_qp_wr) - 1,
		    .send_sges = cxxrt::min_of(static_cast<u32>(a.max_send_sge), kMaxSendSges),
		    .max_message = port_attr.max_msg_sz,
		    .mr_type = a.kernel_cap_flags & IBK_SG_GAPS_REG ? IB_MR_TYPE_SG_GAPS
								    : IB_MR_TYPE_MEM_REG,
		    .port_active = port_attr.state != IB_PORT_DOWN,
		};
	}
};

struct SessionLimits {
	ConnectReplyFields reply; // new_rkey may differ between paths, the rest may not
	ImmLayout layout;	  // its depth is the session's: the server's, or fewer
	ByteCount chunk;
	u32 max_io_size;
	u32 max_segments;
	ConnectionSplit connections; // of each path, at most

	// Of the first path. `told` is the most that the session may have under way. EINVAL if no
	// request fits.
	static Result<SessionLimits> from(const ConnectReplyFields &reply, const DeviceLimits &dev,
					  const ConnectionSplit &connections, QueueDepth told)
	{
		// A region holds one page less than its size in data that begins inside a page.
		const u32 pages = dev.max_pages - 1;
		const u32 message = RTRS_MAX_USER_MSG + kMaxIoHeaderSize;
		u32 io = cxxrt::min_of(reply.max_io_size.value, pages * kClientSegmentSize);
		io = cxxrt::min_of(io, dev.max_message > message ? dev.max_message - message : 0);
		io &= ~(kClientSegmentSize - 1);
		if (!io)
			return err::einval;
		return SessionLimits{
		    .reply = reply,
		    .layout = TRY(ImmLayout::create(reply.queue_depth, reply.chunk_size()))
				  .limited_to(told),
		    .chunk = reply.chunk_size(),
		    .max_io_size = io,
		    .max_segments = dev.max_pages,
		    .connections = connections,
		};
	}
	// Slots of messages, the first ones. 0: there is none for data then.
	u32 permits() const { return permit_count(layout.queue_depth()); }
	bool same_server_geometry(const ConnectReplyFields &o) const
	{
		return reply.queue_depth == o.queue_depth && reply.max_io_size == o.max_io_size &&
		       reply.max_header_size == o.max_header_size;
	}
	bool within(const SessionLimits &other) const
	{
		return max_io_size <= other.max_io_size && max_segments <= other.max_segments;
	}
};

} // namespace rtrs::client
