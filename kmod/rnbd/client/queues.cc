// SPDX-License-Identifier: GPL-2.0
#include <rnbd/client/queues.hh>

#include <cxxrt/block.hh>
#include <cxxrt/memory.hh>
#include <cxxrt/types.hh>
#include <rnbd/client/io.hh>
#include <rnbd/pure/queue_map.hh>

namespace rnbd::client {

namespace err = cxxrt::err;
using cxxrt::min_of;

constinit const blk_mq_ops TagSet::kOps = [] {
	blk_mq_ops ops{};
	ops.queue_rq = queue_rq;
	ops.commit_rqs = commit_rqs;
	ops.complete = complete_rq;
	ops.timeout = report_slow_rq;
	ops.poll = poll_queue;
	ops.map_queues = map_queues;
	cxxrt::set_request_operation<TagSet>(ops);
	return ops;
}();

Status TagSet::create(const rtrs_clt_attrs &attrs, u32 queues, u32 poll_queues)
{
	if (attrs.queue_depth <= attrs.first_io_slot)
		return err::einval;
	first_slot_ = attrs.first_io_slot;
	max_segments_ = attrs.max_segments;
	default_queues_ = queues;
	poll_queues_ = poll_queues;

	set_.ops = &kOps;
	set_.driver_data = this;
	set_.numa_node = NUMA_NO_NODE;
	set_.queue_depth = min_of<u32>(attrs.queue_depth - attrs.first_io_slot, BLK_MQ_MAX_DEPTH);
	set_.nr_hw_queues = default_queues_ + poll_queues_;
	set_.nr_maps = poll_queues_ ? HCTX_MAX_TYPES : 1;
	set_.cmd_size = IoRequest::size_for(max_segments_);
	// Requests are ordered where the disk is, so no scheduler unless somebody asks for one:
	// shared tags would make the block layer choose mq-deadline.
	// A CPU that goes offline does not wait for the requests of its hardware queue, for they
	// may wait for a path. It would for the sake of interrupts that end with the CPU; ours are
	// the transport's, whose queues know no hardware queue.
	set_.flags = BLK_MQ_F_TAG_HCTX_SHARED | BLK_MQ_F_NO_SCHED_BY_DEFAULT | BLK_MQ_F_STACKING;
	TRY(cxxrt::allocate_tags(set_));
	created_ = true;
	idle_ = TRY(cxxrt::make_idle_queue(&set_));
	return {};
}

TagSet::~TagSet()
{
	if (idle_) {
		blk_mq_destroy_queue(idle_);
		blk_put_queue(idle_);
	}
	if (created_)
		blk_mq_free_tag_set(&set_);
}

namespace {

int compare_places(const void *a, const void *b)
{
	return is_nearer(*static_cast<const CpuPlace *>(a), *static_cast<const CpuPlace *>(b)) ? -1
											       : 1;
}

CpuPlace place_of(u32 cpu)
{
	// Of a CPU that goes offline meanwhile no thread may be known.
	const u32 core = cpumask_first(topology_sibling_cpumask(static_cast<int>(cpu)));
	return {.cpu = cpu,
		.node = static_cast<u32>(cpu_to_node(static_cast<int>(cpu))),
		.core = core < nr_cpu_ids ? core : cpu};
}

// There are as many queues as CPUs that are online, or fewer, so each of those queues is
// somebody's: who is offline, as every second thread where these are switched off, takes none of
// them away. The block layer's own way divides all that are present, or deals queues out like
// cards, before 6.3. False: it is to be taken all the same, for want of memory.
bool map_to_neighbours(blk_mq_queue_map &map)
{
	auto places = cxxrt::Array<CpuPlace>::create(num_present_cpus());
	if (!places.ok())
		return false;
	u32 count = 0;
	unsigned int cpu;
	for_each_possible_cpu(cpu) map.mq_map[cpu] = map.queue_offset + cpu % map.nr_queues;
	for_each_online_cpu(cpu) if (count < places->size())(*places)[count++] = place_of(cpu);
	sort(places->data(), count, sizeof(CpuPlace), compare_places, nullptr);
	for (u32 rank = 0; rank < count; rank++)
		map.mq_map[(*places)[rank].cpu] =
		    map.queue_offset + queue_of_rank(rank, count, map.nr_queues);
	return true;
}

} // namespace

// Reads share the queues of everything else; polled requests have queues of their own behind them.
void TagSet::map_queues(blk_mq_tag_set *set)
{
	const auto *self = static_cast<const TagSet *>(set->driver_data);
	if (set->nr_maps == HCTX_MAX_TYPES) {
		set->map[HCTX_TYPE_DEFAULT].nr_queues = self->default_queues_;
		set->map[HCTX_TYPE_DEFAULT].queue_offset = 0;
		set->map[HCTX_TYPE_READ].nr_queues = self->default_queues_;
		set->map[HCTX_TYPE_READ].queue_offset = 0;
		set->map[HCTX_TYPE_POLL].nr_queues = self->poll_queues_;
		set->map[HCTX_TYPE_POLL].queue_offset = self->default_queues_;
	}
	for (u32 i = 0; i < set->nr_maps; i++) {
		blk_mq_queue_map &map = set->map[i];
		const bool shared = map.nr_queues && map.nr_queues < num_present_cpus();
		if (!shared || !map_to_neighbours(map))
			blk_mq_map_queues(&map);
	}
}

void TagSet::set_up_request(blk_mq_tag_set *set, request *rq)
{
	const auto *self = static_cast<const TagSet *>(set->driver_data);
	new (blk_mq_rq_to_pdu(rq)) IoRequest;
	sg_init_table(IoRequest::of(rq)->list(), self->max_segments_);
}

} // namespace rnbd::client
