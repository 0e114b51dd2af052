// SPDX-License-Identifier: GPL-2.0
#include <rnbd/server/io.hh>

#include <cxxrt/log.hh>
#include <cxxrt/rcu.hh>
#include <rnbd/server/io_job.hh>
#include <rnbd/server/request.hh>
#include <rnbd/server/session.hh>
#include <rnbd/server/trace.hh>
#include <rnbd/wire/operations.hh>

namespace rnbd::server {

namespace {

using Admission = DiskQueue::Admission;

// What the client's block layer lets through is not for ours to throttle as background writeback:
// that would put the thread to sleep.
constexpr blk_opf_t kWrite = REQ_OP_WRITE | REQ_SYNC | REQ_IDLE;

constexpr blk_opf_t kBlockOperation[kOperations] = {
    REQ_OP_READ,	 kWrite, kWrite | REQ_PREFLUSH, REQ_OP_DISCARD, REQ_OP_SECURE_ERASE,
    REQ_OP_WRITE_ZEROES,
};

[[gnu::always_inline]] inline blk_opf_t block_operation(const CheckedIo &io)
{
	blk_opf_t opf = kBlockOperation[static_cast<u8>(io.operation)];
	// A write is synchronous anyway.
	u32 flags = io.flags;
	if (io.operation == Operation::Write)
		flags &= ~io_flag::sync;
	// Of reads, most have it.
	if (flags & io_flag::sync)
		opf |= REQ_SYNC;
	if (!(flags & ~io_flag::sync)) [[likely]]
		return opf;
	if (flags & io_flag::fua)
		opf |= REQ_FUA;
	if (flags & io_flag::preflush)
		opf |= REQ_PREFLUSH;
	if (flags & io_flag::nounmap)
		opf |= REQ_NOUNMAP;
	return opf;
}

// A request that has changed the device, which may have done so in its cache only.
bool may_be_volatile(const IoJob &job)
{
	const bool plain = (job.opf & REQ_OP_MASK) == REQ_OP_WRITE;
	return (!plain || job.vector.bv_len) && job.step != IoJob::Step::Durable &&
	       !(job.io.bi_opf & REQ_FUA);
}

// See end_job().
[[gnu::always_inline]] inline void answer(IoJob &job, int status)
{
	rtrs_srv_op *op = job.op;
	Mapping &mapping = *job.mapping;
	const u32 produced = status ? 0 : job.answer;
	trace::io_end(mapping, job.record, status);

	// What comes last may be what the removal of the module waits for. The code of a module
	// stays until a grace period later: for those, too, who were preempted in here.
	cxxrt::RcuReader until_the_end;
	mapping.queue().leave();
	// With the answer the area is no longer ours.
	rtrs_srv_respond(op, status, produced);
}

// Any context, hard interrupts included: nothing here sleeps.
void io_done(bio *done)
{
	IoJob *job = container_of(done, IoJob, io);
	Mapping &mapping = *job->mapping;
	bio_uninit(done);
	if (done->bi_status) [[unlikely]] {
		// Not supported is REQ_NOWAIT, perhaps: a driver may withdraw it.
		if ((done->bi_status == BLK_STS_AGAIN || done->bi_status == BLK_STS_NOTSUPP) &&
		    (done->bi_opf & REQ_NOWAIT)) {
			// All parts of it have ended, if it was split.
			job->step = IoJob::Step::Again;
			mapping.queue().line_up(*job);
			return;
		}
		mapping.counts().failed(job->operation);
		answer(*job, blk_status_to_errno(done->bi_status));
		return;
	}
	// The client will not flush for a cache that it does not know.
	if (op_is_write(job->opf) && mapping.hides_cache() && may_be_volatile(*job)) [[unlikely]] {
		job->step = IoJob::Step::Durable;
		mapping.queue().line_up(*job);
		return;
	}
	mapping.counts().done(job->operation, job->vector.bv_len);
	answer(*job, 0);
}

// `request.area` becomes the job. Any context.
[[gnu::always_inline]] inline IoJob *prepare(Mapping &mapping, const CheckedIo &io,
					     const rtrs_srv_request &request)
{
	IoJob *job = new (request.area) IoJob;
	job->op = request.op;
	job->mapping = &mapping;
	job->answer = io.operation == Operation::Read ? io.bytes : 0;
	job->opf = block_operation(io);
	job->sector = io.sector;
	job->step = IoJob::Step::First;
	job->operation = io.operation;
	bio_init(&job->io, mapping.device(), &job->vector, 1, job->opf);
	job->io.bi_iter.bi_sector = io.sector.value;
	job->io.bi_ioprio = sanitize_priority(io.priority, false);
	job->io.bi_end_io = io_done;
	if (carries_data(io.operation)) {
		// The memory of a chunk is contiguous, so one vector covers it, over many pages.
		job->vector = {.bv_page = request.pages, .bv_len = io.bytes, .bv_offset = 0};
		job->io.bi_vcnt = 1;
	} else {
		job->vector.bv_len = 0;
	}
	job->io.bi_iter.bi_size = io.bytes;
	trace::io_begin(mapping, io, job->record);
	return job;
}

// As prepare() has left it, or for a flush.
void prepare_again(IoJob &job)
{
	const bool flush = job.step == IoJob::Step::Durable;
	const u16 priority = job.io.bi_ioprio;
	bio_init(&job.io, job.mapping->device(), &job.vector, 1,
		 flush ? kWrite | REQ_PREFLUSH : job.opf);
	job.io.bi_ioprio = priority;
	job.io.bi_end_io = io_done;
	if (flush)
		return;
	job.io.bi_iter.bi_sector = job.sector.value;
	if (job.vector.bv_len) {
		job.io.bi_vcnt = 1;
		job.io.bi_iter.bi_size = job.vector.bv_len;
	}
}

// It need not be flushed afterwards if the device does it by itself.
inline void make_durable(const Mapping &mapping, IoJob &job)
{
	if ((job.opf & REQ_OP_MASK) == REQ_OP_WRITE && job.vector.bv_len && mapping.hides_cache())
		job.io.bi_opf |= REQ_FUA;
}

// Ranges are split, which takes memory; and a flush takes the disk longer than the hop does.
inline bool may_sleep(const Mapping &mapping, const IoJob &job)
{
	if ((job.opf & REQ_OP_MASK) > REQ_OP_WRITE || !mapping.never_sleeps())
		return true;
	return (job.opf & REQ_PREFLUSH) && mapping.has_cache();
}

inline void submit_io(Mapping &mapping, IoJob &job)
{
	if (!mapping.queue().lined_up() && !may_sleep(mapping, job)) [[likely]] {
		make_durable(mapping, job);
		job.io.bi_opf |= REQ_NOWAIT;
		submit_bio(&job.io);
		return;
	}
	mapping.queue().line_up_in_batch(job);
}

// What is rare parses the message once more, which is a private copy, so that the common way can
// keep what it has found in registers.
noinline __cold void log_refusal(const Session &session, const rtrs_srv_request &request,
				 Error error)
{
	const Result<IoFields> fields = parse_io(message_of(request), session.version());
	if (fields.ok())
		log_warning_limited(session.name(),
				    "Refused operation %#x at sector %llu, %u bytes, device %u: "
				    "error %d",
				    fields->rw, fields->sector.value, fields->size,
				    fields->device.value, error.code());
}

[[gnu::always_inline]] inline Status check(const Session &session, const IoFields &fields,
					   const rtrs_srv_request &request, const Mapping &mapping,
					   CheckedIo &io)
{
	const Status s =
	    check_io(fields, transfer_of(request), mapping.limits(request.dir == RTRS_WRITE), io);
	if (!s.ok()) [[unlikely]] {
		log_refusal(session, request, s.error());
		return s;
	}
	if (mapping.refuses(io.operation == Operation::Read)) [[unlikely]]
		return err::ebade;
	return {};
}

// The mapping of this request, entered; null if the job is held back; or an error.
noinline __cold Result<Mapping *> admit(Session &session, const rtrs_srv_request &request)
{
	const IoFields fields = TRY(parse_io(message_of(request), session.version()));
	// The memory of a mapping stays for a grace period after it has left the table.
	cxxrt::RcuReader reader;
	Mapping *mapping = session.find(fields.device);
	if (!mapping)
		return err::enotconn;
	Status checked;
	const Admission admission = mapping->queue().admit([&]() -> IoJob * {
		CheckedIo io;
		checked = check(session, fields, request, *mapping, io);
		return checked.ok() ? prepare(*mapping, io, request) : nullptr;
	});
	if (admission == Admission::Refused)
		return err::enotconn;
	TRY(cxxrt::move(checked));
	return admission == Admission::Entered ? mapping : nullptr;
}

// The error is the answer.
[[gnu::always_inline]] inline Status check_and_submit(Session &session,
						      const rtrs_srv_request &request)
{
	[[gnu::uninitialized]] IoFields fields;
	TRY(parse_io(message_of(request), session.version(), fields));
	trace::rdma(session, fields, request);
	// Heartbeats and fences wait for nothing that a disk has a part in (protocol D).
	if (request.service) [[unlikely]] {
		log_refusal(session, request, err::einval);
		return err::einval;
	}
	Mapping *mapping = session.enter(fields.device);
	if (!mapping) [[unlikely]] {
		mapping = TRY(admit(session, request));
		if (!mapping)
			return {};
	}
	[[gnu::uninitialized]] CheckedIo io;
	const Status s = check(session, fields, request, *mapping, io);
	if (!s.ok()) [[unlikely]] {
		mapping->queue().leave();
		return s.error();
	}
	submit_io(*mapping, *prepare(*mapping, io, request));
	return {};
}

} // namespace

void submit_waiting(IoJob &job)
{
	if (job.step != IoJob::Step::First)
		prepare_again(job);
	if (job.step != IoJob::Step::Durable)
		make_durable(*job.mapping, job);
	submit_bio(&job.io);
}

void end_job(IoJob &job, int status)
{
	answer(job, status);
}

void drop_waiting(IoJob &job, int status)
{
	// The device has carried it out: a flush was all that it lacked.
	if (job.step == IoJob::Step::Durable)
		job.mapping->counts().done(job.operation, job.vector.bv_len);
	bio_uninit(&job.io);
	end_job(job, status);
}

void drop_held(IoJob &job, int status)
{
	bio_uninit(&job.io);
	rtrs_srv_respond(job.op, status, 0);
}

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

} // namespace rnbd::server
