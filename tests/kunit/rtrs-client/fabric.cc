// SPDX-License-Identifier: GPL-2.0
// The server, and the wire to it.
#include "fabric.hh"

#include "threads.hh"

#include <rtrs/wire/info.hh>

using namespace cxxrt;
using namespace rtrs;

namespace fake {

constinit Fabric *Fabric::now = nullptr;

namespace {

ImmLayout layout()
{
	return ImmLayout::create(QueueDepth{kDepth}, ByteCount{kChunk}).take();
}

} // namespace

Result<Box<Fabric>> Fabric::create()
{
	Box<Fabric> f = TRY(make_box<Fabric>(GFP_KERNEL));
	f->ibdev_ = TRY(make_box<ib_device>(GFP_KERNEL));
	f->pd_ = TRY(make_box<ib_pd>(GFP_KERNEL));
	ib_device &dev = *f->ibdev_;
	dev.dev.init_name = "kunit0";
	dev.ops.post_send = post_send;
	dev.ops.post_recv = post_recv;
	dev.num_comp_vectors = 1;
	dev.phys_port_cnt = kPaths;
	dev.attrs.max_send_sge = 4;
	dev.attrs.max_fast_reg_page_list_len = 32;
	dev.attrs.max_qp_wr = 4096;
	dev.attrs.page_size_cap = PAGE_SIZE;
	f->pd_->device = &dev;
	f->device.ibdev = &dev;
	f->device.pd = f->pd_.get();
	// The client waits for both on a queue that memory is reclaimed by.
	f->wire_queue_ = TRY(Workqueue::create_ordered("kunit_wire", WQ_MEM_RECLAIM));
	f->cm_queue_ = TRY(Workqueue::create_ordered("kunit_cm", WQ_MEM_RECLAIM));
	now = f.get();
	return f;
}

Fabric::~Fabric()
{
	wire_queue_.reset();
	cm_queue_.reset();
	now = nullptr;
}

void Fabric::settle()
{
	for (int i = 0; i < 4; i++) {
		cm_queue_.flush();
		wire_queue_.flush();
		kunit_testing::breathe();
	}
}

// ---- requests of the client ----

void Fabric::receive_request(Port &port, const ib_send_wr &wr)
{
	const Result<ServerImm> r = layout().decode_at_server(
	    Immediate::from_network(wr.ex.imm_data), ConnectionId{port.id->cid}, fences);
	if (r.ok() && r.value().kind == ServerImm::Kind::Fence)
		receive_fence(port, r.value().serial);
	if (!r.ok() || r.value().kind != ServerImm::Kind::Request)
		return;
	Arrived &a = arrived_[port.id->path][r.value().slot.value];
	a.port = &port;
	// The message comes last.
	const bool direct = wr.num_sge > 1 && wr.sg_list[0].lkey == pd_->local_dma_lkey;
	a.data = direct ? wr.sg_list[0].addr : 0;
	a.place = port.sends + 1;
	WRITE_ONCE(a.count, a.count + 1);
	requests_++;
}

void Fabric::receive_fence(Port &port, u32 serial)
{
	const u32 path = port.id->path;
	WRITE_ONCE(asked_[path], serial);
	if (!silent[path])
		send_to_client(port, Immediate(ImmType::FenceDone, serial).to_network());
}

bool Fabric::wait_asked(u32 path, u32 serial)
{
	return arrivals_changed_
	    .wait_for(kunit_testing::kLong, [&] { return asked(path) == serial; })
	    .ok();
}

bool Fabric::say_fenced(u32 path, u32 serial)
{
	return say(path, 0, Immediate(ImmType::FenceDone, serial).to_network());
}

bool Fabric::wait_arrival(u32 path, u32 slot, u32 count)
{
	return arrivals_changed_
	    .wait_for(kunit_testing::kLong, [&] { return arrivals(path, slot) >= count; })
	    .ok();
}

// The whole of the server's memory as one buffer.
void Fabric::receive_info(Port &port)
{
	if (port.receives.empty())
		return;
	const Port::Receive r = port.receives.pop();
	const InfoResponse header = make_info_response(1);
	const Descriptor all = Descriptor::from({{0x100000}, {7}, {kDepth * kChunk}});
	u8 *to = reinterpret_cast<u8 *>(r.address);
	memcpy(to, &header, sizeof(header));
	memcpy(to + sizeof(header), &all, sizeof(all));
	Completion c;
	c.wc.wr_cqe = r.cqe;
	c.wc.opcode = IB_WC_RECV;
	c.wc.byte_len = info_response_size(1);
	port.completions.push(c);
}

// ---- what the server sends; under lock_ ----

bool Fabric::send_to_client(Port &port, u32 immediate)
{
	if (port.broken || port.receives.empty())
		return false;
	const Port::Receive r = port.receives.pop();
	Completion c;
	c.wc.wr_cqe = r.cqe;
	c.wc.opcode = IB_WC_RECV_RDMA_WITH_IMM;
	c.wc.wc_flags = IB_WC_WITH_IMM;
	c.wc.ex.imm_data = immediate;
	port.completions.push(c);
	return true;
}

bool Fabric::answer(u32 path, u32 slot, int error, bool promise)
{
	bool sent = false;
	{
		LockGuard<SpinLock> held(lock_);
		if (Port *port = arrived_[path][slot].port)
			sent = send_to_client(
			    *port, response_imm(Slot{slot}, error, promise).to_network());
	}
	wire_.queue(wire_queue_);
	return sent;
}

Region *Fabric::region_over(const void *memory)
{
	const u64 at = reinterpret_cast<u64>(memory);
	for (Region *r : regions_)
		if (r && r->length && r->iova <= at && at < r->iova + r->length)
			return r;
	return nullptr;
}

bool Fabric::invalidate(u32 path, u32 slot, const void *memory)
{
	bool sent = false;
	{
		LockGuard<SpinLock> held(lock_);
		Port *const port = arrived_[path][slot].port;
		Region *const region = region_over(memory);
		if (port && region && !port->broken && !port->receives.empty()) {
			Completion c;
			c.wc.wr_cqe = port->receives.pop().cqe;
			c.wc.opcode = IB_WC_RECV;
			c.wc.wc_flags = IB_WC_WITH_INVALIDATE;
			c.wc.ex.invalidate_rkey = region->rkey;
			region->open = false;
			port->completions.push(c);
			sent = true;
		}
	}
	wire_.queue(wire_queue_);
	return sent;
}

u32 Fabric::answer_all(u32 path)
{
	u32 sent = 0;
	{
		LockGuard<SpinLock> held(lock_);
		for (u32 slot = 0; slot < kDepth; slot++)
			if (Port *port = arrived_[path][slot].port)
				sent += send_to_client(
				    *port, response_imm(Slot{slot}, 0, false).to_network());
	}
	wire_.queue(wire_queue_);
	return sent;
}

bool Fabric::answer_elsewhere(u32 path, u32 slot)
{
	u16 cid;
	{
		LockGuard<SpinLock> held(lock_);
		if (!arrived_[path][slot].port)
			return false;
		cid = arrived_[path][slot].port->id->cid ? 0 : 1;
	}
	return say(path, cid, response_imm(Slot{slot}, 0, false).to_network());
}

bool Fabric::say(u32 path, u16 cid, u32 immediate)
{
	bool sent = false;
	{
		LockGuard<SpinLock> held(lock_);
		if (Port *port = find_port(path, cid))
			sent = send_to_client(*port, immediate);
	}
	wire_.queue(wire_queue_);
	return sent;
}

void Fabric::kill(u32 path, bool back)
{
	auto made = make_box<CmEvent>(GFP_KERNEL);
	if (!made.ok())
		return;
	Box<CmEvent> event = made.take();
	event->type = RDMA_CM_EVENT_DISCONNECTED;
	{
		// As long as a connection has queues it has its id, and forget() runs this event.
		LockGuard<SpinLock> held(lock_);
		refuse[path] = !back;
		if (Port *port = find_port(path, 0)) {
			event->id = port->id;
			events_.push_back(*event.release());
		}
	}
	cm_.queue(cm_queue_);
}

void Fabric::tell_port(u32 path, ib_event_type type)
{
	ib_event event{};
	event.device = device.ibdev;
	event.event = type;
	event.element.port_num = path + 1;
	handler_->handler(handler_, &event);
}

void Fabric::pull(u32 path)
{
	out_[path] = true;
	tell_port(path, IB_EVENT_PORT_ERR);
}

void Fabric::push(u32 path)
{
	out_[path] = false;
	tell_port(path, IB_EVENT_PORT_ACTIVE);
}

void Fabric::release_held()
{
	{
		LockGuard<SpinLock> held(lock_);
		hold_invalidations = hold_sends = false;
		for (Port &port : ports_)
			while (!port.held.empty())
				complete_send(port, port.held.pop());
	}
	wire_.queue(wire_queue_);
}

// ---- handlers of the client ----

void Fabric::deliver(Port &port)
{
	constexpr u32 kBatch = 4;
	ib_wc found[kBatch];
	u32 count = 0;
	LockGuard<SpinLock> one(port.handling);
	{
		LockGuard<SpinLock> held(lock_);
		port.due = false;
		while (count < kBatch && !(port.sent.empty() && port.completions.empty())) {
			const Completion c =
			    (port.sent.empty() ? port.completions : port.sent).pop();
			if (c.closes && c.wc.status == IB_WC_SUCCESS)
				c.closes->open = false;
			if (c.place)
				port.sends_reported = c.place;
			found[count++] = c.wc;
		}
	}
	if (port.batch && count)
		port.batch(port.con, found, count);
	else
		for (u32 i = 0; i < count; i++)
			found[i].wr_cqe->done(nullptr, &found[i]);
	LockGuard<SpinLock> held(lock_);
	// Else the next poll follows at once.
	port.due |= count == kBatch && !port.sent.empty();
	if (port.quiet && static_cast<Connection *>(port.con)->awaits_sends()) {
		port.armed = port.sent.empty();
		port.due |= !port.armed;
	}
}

// Whoever frees a port waits for this to end.
void Fabric::run_wire()
{
	for (;;) {
		Port *port = nullptr;
		{
			LockGuard<SpinLock> held(lock_);
			for (Port &p : ports_)
				if (p.due || !p.completions.empty())
					port = &p;
		}
		if (!port)
			return;
		deliver(*port);
	}
}

} // namespace fake
