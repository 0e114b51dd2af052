// SPDX-License-Identifier: GPL-2.0
#include "device.hh"

using namespace cxxrt;

namespace fake {

constinit const u32 kGroups = 4096;

Device::~Device()
{
	// The connection warns of queues that were not destroyed.
	if (connection_)
		connection_->destroy_queues();
}

Result<Box<Device>> Device::create(const rtrs_queue_config &config)
{
	Box<Device> d = TRY(make_box<Device>(GFP_KERNEL));
	d->ibdev_ = TRY(make_box<ib_device>(GFP_KERNEL));
	d->ibdev_->ops.post_send = post_send;
	d->qp_.device = d->ibdev_.get();
	d->qp_.qp_context = d.get();
	d->groups_ = TRY(Array<u32>::create(kGroups));
	d->counters_ = TRY(PerCpu<rtrs::WrCounters>::create());
	d->connection_ = TRY(make_box<rtrs::Connection>(GFP_KERNEL, u16{0}, d->counters_));
	// The product's way to the queues ends below, where the one here is handed out.
	TRY(d->connection_->create_queues(reinterpret_cast<rtrs_device *>(d.get()), nullptr,
					  config));
	return d;
}

int Device::post_send(ib_qp *qp, const ib_send_wr *first, const ib_send_wr **bad)
{
	auto *self = static_cast<Device *>(qp->qp_context);
	LockGuard<SpinLock> held(self->lock_);
	if (self->refuse_with) {
		*bad = first;
		return self->refuse_with;
	}
	for (const ib_send_wr *wr = first; wr; wr = wr->next) {
		self->posted++;
		self->waiting++;
		self->open_wrs_++;
		if (wr->opcode == IB_WR_RDMA_WRITE_WITH_IMM)
			self->last_imm = be32_to_cpu(wr->ex.imm_data);
		if (wr->send_flags & IB_SEND_SIGNALED) {
			self->signaled++;
			self->groups_[self->end_group_++ % kGroups] =
			    exchange(self->open_wrs_, u32{0});
		}
	}
	self->most_waiting = max_of(self->most_waiting, self->waiting);
	return 0;
}

bool Device::complete_one()
{
	{
		LockGuard<SpinLock> held(lock_);
		if (first_group_ == end_group_)
			return false;
		waiting -= groups_[first_group_++ % kGroups];
	}
	connection_->send_completed();
	return true;
}

} // namespace fake

int rtrs_connection_create_queues(rtrs_connection *con, rtrs_device *device, rdma_cm_id *,
				  const rtrs_queue_config *)
{
	// Of a connection on other queues nothing is made here.
	if (device)
		con->qp = reinterpret_cast<fake::Device *>(device)->qp();
	return 0;
}

void rtrs_connection_drain(rtrs_connection *) {}

void rtrs_connection_destroy_queues(rtrs_connection *con)
{
	con->qp = nullptr;
}
