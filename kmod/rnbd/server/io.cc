// SPDX-License-Identifier: GPL-2.0
#include <rnbd/server/io.hh>

#include <cxxrt/log.hh>
#include <cxxrt/rcu.hh>
#include <rnbd/server/request.hh>
#include <rnbd/server/session.hh>
#include <rnbd/server/trace.hh>
#include <rnbd/wire/operations.hh>

namespace rnbd {

namespace {

// In the slot's area from the request to its answer.
struct IoJob {
	rtrs_srv_op *op;
	Mapping *mapping; // entered
	u32 answer;	  // bytes that a read that succeeds has put into the chunk
	trace::IoRecord record;
	bio_vec vector;
	bio io; // ends in a flexible array
};

blk_opf_t block_operation(const CheckedIo &io)
{
	blk_opf_t opf = REQ_OP_READ;
	switch (io.operation) {
	case Operation::Read:
		opf = REQ_OP_READ;
		break;
	case Operation::Write:
		opf = REQ_OP_WRITE;
		break;
	case Operation::Flush:
		opf = REQ_OP_WRITE | REQ_PREFLUSH;
		break;
	case Operation::Discard:
		opf = REQ_OP_DISCARD;
		break;
	case Operation::SecureErase:
		opf = REQ_OP_SECURE_ERASE;
		break;
	case Operation::WriteZeroes:
		opf = REQ_OP_WRITE_ZEROES;
		break;
	}
	if (io.flags & io_flag::sync)
		opf |= REQ_SYNC;
	if (io.flags & io_flag::fua)
		opf |= REQ_FUA;
	if (io.flags & io_flag::preflush)
		opf |= REQ_PREFLUSH;
	if (io.flags & io_flag::nounmap)
		opf |= REQ_NOUNMAP;
	return opf;
}

// Any context, hard interrupts included: nothing here sleeps.
void io_done(bio *done)
{
	IoJob *job = container_of(done, IoJob, io);
	rtrs_srv_op *op = job->op;
	Mapping *mapping = job->mapping;
	const int status = blk_status_to_errno(done->bi_status);
	const u32 produced = status ? 0 : job->answer;
	trace::io_end(*mapping, job->record, status);
	bio_uninit(done);

	// What comes last may be what the removal of the module waits for. The code of a module
	// stays until a grace period later: for those, too, who were preempted in here.
	cxxrt::RcuReader until_the_end;
	mapping->leave();
	// With the answer the area is no longer ours.
	rtrs_srv_respond(op, status, produced);
}

void submit(Mapping &mapping, const CheckedIo &io, const rtrs_srv_request &request)
{
	IoJob *job = new (request.area) IoJob;
	job->op = request.op;
	job->mapping = &mapping;
	job->answer = io.operation == Operation::Read ? io.bytes : 0;
	bio_init(&job->io, mapping.device(), &job->vector, 1, block_operation(io));
	job->io.bi_iter.bi_sector = io.sector.value;
	job->io.bi_ioprio = sanitize_priority(io.priority, false);
	job->io.bi_end_io = io_done;
	if (carries_data(io.operation)) {
		// The memory of a chunk is contiguous, so one vector covers it, over many pages.
		__bio_add_page(&job->io, virt_to_page(request.data), io.bytes,
			       offset_in_page(request.data));
	} else {
		job->io.bi_iter.bi_size = io.bytes;
	}
	trace::io_begin(mapping, io, job->record);
	submit_bio(&job->io);
}

// The error is the answer.
Status check_and_submit(Session &session, const rtrs_srv_request &request)
{
	const IoFields fields = TRY(parse_io(message_of(request), session.version()));
	trace::rdma(session, fields, request);
	Mapping *mapping = session.enter(fields.device);
	if (!mapping)
		return err::enotconn;
	Result<CheckedIo> io = check_io(fields, transfer_of(request), mapping->limits());
	if (!io.ok()) {
		mapping->leave();
		log_warning_limited(session.name(),
				    "Refused operation %#x at sector %llu, %u bytes, device %u: "
				    "error %d",
				    fields.rw, fields.sector.value, fields.size,
				    fields.device.value, io.code());
		return io.error();
	}
	submit(*mapping, io.value(), request);
	return {};
}

} // namespace

usize io_area_size()
{
	return sizeof(IoJob);
}

void start_io(Session &session, const rtrs_srv_request &request)
{
	Status s = check_and_submit(session, request);
	if (!s.ok())
		rtrs_srv_respond(request.op, s.code(), 0);
}

} // namespace rnbd
