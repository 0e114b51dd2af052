// SPDX-License-Identifier: GPL-2.0
// The device: what rtrs-core and the RDMA core do for the client, under their names.
#include "fabric.hh"

#include <rtrs/wire/info.hh>

using namespace cxxrt;

namespace fake {

namespace {

template <class T> Status prepare(Port::Ring<T> &ring, u32 count)
{
	ring.items = TRY(Array<T>::create(count));
	return {};
}

} // namespace

Status Fabric::add_port(rtrs_connection *con, Id *id, const rtrs_queue_config &config)
{
	Box<Port> port = TRY(make_box<Port>(GFP_KERNEL));
	TRY(prepare(port->receives, config.recv_wrs));
	// As on a device: room for all that can be posted, else the queue breaks.
	TRY(prepare(port->completions, config.recv_wrs + config.send_wrs));
	TRY(prepare(port->held, config.send_wrs));
	port->quiet = config.batch && config.poll == IB_POLL_SOFTIRQ;
	if (port->quiet) {
		TRY(prepare(port->sent, config.send_wrs));
		con->send_cq = &port->send_cq;
	}
	port->id = id;
	port->con = con;
	port->batch = config.batch;
	port->qp.device = device.ibdev;
	port->qp.pd = device.pd;
	port->qp.qp_context = port.get();
	con->cm_id = id;
	con->qp = &port->qp;
	id->qp = con->qp;
	LockGuard<SpinLock> held(lock_);
	ports_.push_back(*port.release());
	return {};
}

// Everything that was posted completes, and all handlers have run.
void Fabric::drain(Port &port)
{
	{
		LockGuard<SpinLock> held(lock_);
		port.broken = true;
		for (auto &path : arrived_)
			for (Arrived &a : path)
				if (a.port == &port)
					a.port = nullptr;
		while (!port.held.empty()) {
			Completion c = port.held.pop();
			c.wc.status = IB_WC_WR_FLUSH_ERR;
			complete_send(port, c);
		}
		while (!port.receives.empty()) {
			Completion c;
			c.wc.wr_cqe = port.receives.pop().cqe;
			c.wc.status = IB_WC_WR_FLUSH_ERR;
			port.completions.push(c);
		}
	}
	wire_.queue(wire_queue_);
	wire_queue_.flush();
}

void Fabric::remove_port(rtrs_connection *con)
{
	auto *port = static_cast<Port *>(con->qp->qp_context);
	drain(*port);
	{
		LockGuard<SpinLock> held(lock_);
		ports_.remove(*port);
	}
	wire_queue_.flush();
	delete port;
	con->qp = nullptr;
	con->send_cq = nullptr;
}

Port *Fabric::find_port(u32 path, u16 cid)
{
	for (Port &port : ports_)
		if (port.id->path == path && port.id->cid == cid && !port.broken)
			return &port;
	return nullptr;
}

Region *Fabric::add_region(ib_pd *pd)
{
	auto made = make_box<Region>(GFP_KERNEL);
	if (!made.ok())
		return nullptr;
	Region *region = made.take().release();
	region->device = pd->device;
	region->pd = pd;
	LockGuard<SpinLock> held(lock_);
	region->lkey = region->rkey = next_key_++ << 8;
	for (Region *&place : regions_)
		if (!place) {
			place = region;
			return region;
		}
	WARN_ON(true);
	return region;
}

void Fabric::remove_region(Region *region)
{
	{
		LockGuard<SpinLock> held(lock_);
		for (Region *&place : regions_)
			if (place == region)
				place = nullptr;
	}
	delete region;
}

u32 Fabric::open_regions(const void *memory)
{
	const u64 at = reinterpret_cast<u64>(memory);
	u32 count = 0;
	LockGuard<SpinLock> held(lock_);
	for (const Region *r : regions_)
		if (r && r->open && (!memory || (r->iova <= at && at < r->iova + r->length)))
			count++;
	return count;
}

u32 Fabric::sending(const void *memory)
{
	u32 count = 0;
	LockGuard<SpinLock> held(lock_);
	for (const auto &path : arrived_)
		for (const Arrived &a : path)
			count += a.port && a.data == reinterpret_cast<u64>(memory) &&
				 a.port->sends_reported < a.place;
	return count;
}

u64 Fabric::sends_signaled(u32 path, u16 cid)
{
	LockGuard<SpinLock> held(lock_);
	const Port *port = find_port(path, cid);
	return port ? port->sends : 0;
}

// ---- work requests ----

void Fabric::wake(Port &port)
{
	WRITE_ONCE(wakes_, wakes_ + 1);
	if (!forgets)
		return;
	hold_sends = false;
	while (!port.held.empty())
		complete_send(port, port.held.pop());
}

void Fabric::complete_send(Port &port, const Completion &c)
{
	if (!port.quiet) {
		port.completions.push(c);
		return;
	}
	port.sent.push(c);
	port.due |= exchange(port.armed, false);
}

// Those that are there already interrupt at once.
void Fabric::arm_sends(Port &port)
{
	{
		LockGuard<SpinLock> held(lock_);
		port.armed = port.sent.empty();
		port.due |= !port.armed;
	}
	wire_.queue(wire_queue_);
}

void Fabric::execute(Port &port, const ib_send_wr &wr)
{
	Completion c;
	c.wc.wr_cqe = wr.wr_cqe;
	bool hold = hold_invalidations && wr.opcode == IB_WR_LOCAL_INV;
	switch (wr.opcode) {
	case IB_WR_REG_MR:
		static_cast<Region *>(container_of(&wr, const ib_reg_wr, wr)->mr)->open = true;
		break;
	case IB_WR_LOCAL_INV:
		for (Region *r : regions_)
			if (r && r->rkey == wr.ex.invalidate_rkey)
				c.closes = r;
		break;
	case IB_WR_SEND:
		receive_info(port);
		break;
	case IB_WR_RDMA_WRITE_WITH_IMM:
		receive_request(port, wr);
		break;
	case IB_WR_RDMA_WRITE:
		WARN_ON(wr.num_sge);
		// Who asks for life says where, in case a device looks.
		if (rdma_wr(&wr)->rkey)
			WRITE_ONCE(probes_, probes_ + 1);
		else
			wake(port);
		break;
	default:
		break;
	}
	if (wr.send_flags & IB_SEND_SIGNALED) {
		c.place = ++port.sends;
		if (hold || hold_sends || !port.held.empty())
			port.held.push(c);
		else
			complete_send(port, c);
	} else if (c.closes) {
		c.closes->open = false;
	}
}

int Fabric::post_send(ib_qp *qp, const ib_send_wr *first, const ib_send_wr **bad)
{
	auto *port = static_cast<Port *>(qp->qp_context);
	Fabric &f = *now;
	{
		LockGuard<SpinLock> held(f.lock_);
		if (port->broken) {
			*bad = first;
			return -ENOTCONN;
		}
		const u32 before = f.requests_;
		for (const ib_send_wr *wr = first; wr; wr = wr->next)
			f.execute(*port, *wr);
		WRITE_ONCE(f.posts_, f.posts_ + (f.requests_ != before));
	}
	f.arrivals_changed_.wake_all();
	f.wire_.queue(f.wire_queue_);
	return 0;
}

int Fabric::post_recv(ib_qp *qp, const ib_recv_wr *first, const ib_recv_wr **)
{
	auto *port = static_cast<Port *>(qp->qp_context);
	LockGuard<SpinLock> held(now->lock_);
	if (port->broken || port->receives.full())
		return -ENOMEM;
	const bool memory = first->num_sge > 0;
	port->receives.push({first->wr_cqe, memory ? first->sg_list->addr : 0,
			     memory ? first->sg_list->length : 0});
	return 0;
}

} // namespace fake

using fake::Fabric;

constinit bool rtrs_wake_stalled = true;

int rtrs_device_open(ib_device *, rtrs_device **device)
{
	*device = &Fabric::now->device;
	return 0;
}

void rtrs_device_close(rtrs_device *) {}

int rtrs_connection_create_queues(rtrs_connection *con, rtrs_device *, rdma_cm_id *id,
				  const rtrs_queue_config *config)
{
	Fabric &f = *Fabric::now;
	if (config->send_wrs > f.send_room)
		return -ENOMEM;
	f.longest_queue = max_of(f.longest_queue, config->send_wrs);
	return f.add_port(con, static_cast<fake::Id *>(id), *config).code();
}

void rtrs_connection_drain(rtrs_connection *con)
{
	if (con->qp)
		Fabric::now->drain(*static_cast<fake::Port *>(con->qp->qp_context));
}

void rtrs_connection_arm_sends(rtrs_connection *con)
{
	if (con->qp)
		Fabric::now->arm_sends(*static_cast<fake::Port *>(con->qp->qp_context));
}

void rtrs_connection_destroy_queues(rtrs_connection *con)
{
	if (con->qp)
		Fabric::now->remove_port(con);
}

ib_mr *ib_alloc_mr(ib_pd *pd, ib_mr_type, u32)
{
	ib_mr *mr = Fabric::now->add_region(pd);
	return mr ?: static_cast<ib_mr *>(ERR_PTR(-ENOMEM));
}

int ib_dereg_mr_user(ib_mr *mr, ib_udata *)
{
	Fabric::now->remove_region(static_cast<fake::Region *>(mr));
	return 0;
}

int ib_map_mr_sg(ib_mr *mr, scatterlist *sg, int nents, unsigned int *, unsigned int page_size)
{
	Fabric &f = *Fabric::now;
	if (!(f.device.ibdev->attrs.page_size_cap & page_size)) {
		f.unknown_pages++;
		return -EINVAL;
	}
	mr->iova = sg_dma_address(sg);
	mr->length = 0;
	for (int i = 0; i < nents; i++, sg = sg_next(sg))
		mr->length += sg_dma_len(sg);
	return nents;
}

int ib_query_port(ib_device *, u32 port, ib_port_attr *attr)
{
	*attr = {};
	attr->state = Fabric::now->is_out(port) ? IB_PORT_DOWN : IB_PORT_ACTIVE;
	attr->max_msg_sz = 1 << 30;
	return 0;
}

// ---- events of the device's ports ----

int ib_register_client(ib_client *client)
{
	return client->add(Fabric::now->device.ibdev);
}

void ib_unregister_client(ib_client *client)
{
	client->remove(Fabric::now->device.ibdev, Fabric::now->client_data);
}

void ib_set_client_data(ib_device *, ib_client *, void *data)
{
	Fabric::now->client_data = data;
}

void ib_register_event_handler(ib_event_handler *handler)
{
	Fabric::now->listen(handler);
}

void ib_unregister_event_handler(ib_event_handler *)
{
	Fabric::now->listen(nullptr);
}

// No test here proves anything: there is no key.
int rtrs_key_read(const char *, u32, u8 *, rtrs_key_identity *)
{
	return -ENOKEY;
}

int rtrs_key_latest(const char *, u32, u32 *)
{
	return -ENOKEY;
}
