// SPDX-License-Identifier: GPL-2.0
// A block request on its way through the server, in its slot's area from the request to the answer.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/list.hh>
#include <rnbd/server/trace_record.hh>
#include <rnbd/wire/operations.hh>
#include <rnbd/wire/units.hh>
#include <rtrs/rtrs.h>

namespace rnbd::server {

class Mapping;

struct IoJob {
	rtrs_srv_op *op;
	Mapping *mapping; // entered, unless it is held back
	u32 answer;	  // bytes that a read that succeeds has put into the chunk
	// What the bio asks for; the block layer changes what lies in the bio.
	blk_opf_t opf;
	Sectors sector;
	enum class Step : u8 {
		First,	// the bio is ready
		Again,	// it has to be made ready again: the disk had no room
		Durable // what it wrote has to be flushed before the answer
	} step;
	Operation operation; // for the counts of its client
	trace::IoRecord record;
	// Under the lock of the mapping's queue; before, of the thread that collects.
	cxxrt::ListNode node;
	// Of a thread's first job for the mapping in a batch: what DiskQueue collects them in.
	alignas(void *) cxxrt::u8 collector[56];
	bio_vec vector; // of no bytes if no data is carried
	bio io;		// ends in a flexible array
};

inline bool is_read(const IoJob &job)
{
	return (job.opf & REQ_OP_MASK) == REQ_OP_READ;
}

// The job has entered its mapping and its turn has come; may sleep.
void submit_waiting(IoJob &job);
// Ends a job that has entered and is not with the block layer. Any context.
void end_job(IoJob &job, int status);
// Ends a job that has not entered. Any context.
void drop_held(IoJob &job, int status);
// Likewise one of the line, which the gate counts.
void drop_waiting(IoJob &job, int status);

} // namespace rnbd::server
