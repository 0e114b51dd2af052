// SPDX-License-Identifier: GPL-2.0
// The connection manager: every step succeeds, by an event, unless the case refuses the path.
#include "fabric.hh"

using namespace cxxrt;
using namespace rtrs;

namespace fake {

int Fabric::tell(Id *id, rdma_cm_event_type type, int status, const ConnectReply *data)
{
	auto made = make_box<CmEvent>(GFP_ATOMIC);
	if (!made.ok())
		return -ENOMEM;
	CmEvent *event = made.take().release();
	event->id = id;
	event->type = type;
	event->status = status;
	if (data)
		event->data = *data;
	{
		LockGuard<SpinLock> held(lock_);
		events_.push_back(*event);
	}
	cm_.queue(cm_queue_);
	return 0;
}

void Fabric::run_cm()
{
	for (;;) {
		CmEvent *event;
		{
			LockGuard<SpinLock> held(lock_);
			event = events_.pop_front();
		}
		if (!event)
			return;
		const Box<CmEvent> own = Box<CmEvent>::adopt(event);
		rdma_cm_event out{};
		out.event = own->type;
		out.status = own->status;
		out.param.conn.private_data = &own->data;
		out.param.conn.private_data_len = sizeof(own->data);
		if (out.event == RDMA_CM_EVENT_ADDR_RESOLVED ||
		    out.event == RDMA_CM_EVENT_ADDR_ERROR)
			WRITE_ONCE(own->id->asking, false);
		if (out.event == RDMA_CM_EVENT_ESTABLISHED && own->id->cid)
			__atomic_sub_fetch(&open_requests_, 1u, __ATOMIC_SEQ_CST);
		if (!READ_ONCE(own->id->gone))
			own->id->event_handler(own->id, &out);
	}
}

// No event afterwards.
void Fabric::forget(Id *id)
{
	broken_off += READ_ONCE(id->asking);
	{
		LockGuard<SpinLock> held(lock_);
		for (Id *&place : asking_[id->path])
			place = place == id ? nullptr : place;
		if (unheard_[id->path] == id)
			unheard_[id->path] = nullptr;
		u32 &count = gathered_count_[id->path];
		for (u32 i = 0; i < count; i++)
			if (gathered_[id->path][i] == id)
				gathered_[id->path][i--] = gathered_[id->path][--count];
	}
	WRITE_ONCE(id->gone, true);
	cm_.queue(cm_queue_);
	cm_queue_.flush();
}

void Fabric::leave_unanswered(Id *id)
{
	LockGuard<SpinLock> held(lock_);
	for (Id *&place : asking_[id->path]) {
		if (!place) {
			place = id;
			return;
		}
	}
}

void Fabric::answer_question(u32 path)
{
	mute[path] = false;
	mute_behind[path] = ~0u;
	for (Id *&place : asking_[path]) {
		Id *id;
		{
			LockGuard<SpinLock> held(lock_);
			id = exchange(place, static_cast<Id *>(nullptr));
		}
		if (id)
			tell(id, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT);
	}
}

void Fabric::leave_unheard(Id *id)
{
	LockGuard<SpinLock> held(lock_);
	unheard_[id->path] = id;
	WRITE_ONCE(unheard[id->path], unheard[id->path] + 1);
}

// Of a service connection. False: it is gone. The id is alive as long as it is on the list, and its
// event is forgotten with it.
bool Fabric::answer_unheard(u32 path)
{
	auto made = make_box<CmEvent>(GFP_KERNEL);
	deaf[path] = false;
	if (!made.ok())
		return false;
	Box<CmEvent> event = made.take();
	event->type = RDMA_CM_EVENT_ESTABLISHED;
	{
		LockGuard<SpinLock> held(lock_);
		Id *const id = exchange(unheard_[path], static_cast<Id *>(nullptr));
		if (!id)
			return false;
		event->id = id;
		event->data = next_reply(path);
		events_.push_back(*event.release());
	}
	cm_.queue(cm_queue_);
	return true;
}

void Fabric::count_request()
{
	const u32 open = __atomic_add_fetch(&open_requests_, 1u, __ATOMIC_SEQ_CST);
	most_open = max_of(most_open, open);
}

int Fabric::gathered(Id *id)
{
	Id *all[kMany];
	u32 count;
	{
		LockGuard<SpinLock> held(lock_);
		count = ++gathered_count_[id->path];
		gathered_[id->path][count - 1] = id;
		if (count < gather && id->cid + 1 != id->connections)
			return 0;
		memcpy(all, gathered_[id->path], count * sizeof(*all));
		gathered_count_[id->path] = 0;
	}
	// The last one first: nobody is owed an order.
	while (count)
		(void)accept(all[--count]);
	return 0;
}

// Of a service connection, whose path gets another serial by it.
ConnectReply Fabric::next_reply(u32 path)
{
	serial[path] += 1 + path * 100;
	return reply_of(path);
}

ConnectReply Fabric::reply_of(u32 path) const
{
	return make_connect_reply({
	    .queue_depth = {kDepth},
	    .max_io_size = {kChunk - 4096},
	    .max_header_size = {4096},
	    .new_rkey = false,
	    .fences = fences,
	    .path_serial = serial[path],
	    .session_instance = instance,
	});
}

int Fabric::accept(Id *id)
{
	const ConnectReply reply = id->cid ? reply_of(id->path) : next_reply(id->path);
	return tell(id, RDMA_CM_EVENT_ESTABLISHED, 0, &reply);
}

} // namespace fake

using fake::Fabric;
using fake::Id;

rdma_cm_id *__rdma_create_kernel_id(net *, rdma_cm_event_handler handler, void *context,
				    rdma_ucm_port_space ps, ib_qp_type type, const char *)
{
	auto made = make_box<Id>(GFP_KERNEL);
	if (!made.ok())
		return static_cast<rdma_cm_id *>(ERR_PTR(-ENOMEM));
	Id *id = made.take().release();
	id->event_handler = handler;
	id->context = context;
	id->ps = ps;
	id->qp_type = type;
	return id;
}

void rdma_destroy_id(rdma_cm_id *id)
{
	Fabric::now->forget(static_cast<Id *>(id));
	delete static_cast<Id *>(id);
}

int rdma_set_reuseaddr(rdma_cm_id *, int)
{
	return 0;
}

void rdma_set_service_type(rdma_cm_id *, int) {}

int rdma_resolve_addr(rdma_cm_id *base, sockaddr *, const sockaddr *dst, unsigned long timeout_ms)
{
	auto *id = static_cast<Id *>(base);
	const auto &to = *reinterpret_cast<const sockaddr_in *>(dst);
	const u32 host = be32_to_cpu(to.sin_addr.s_addr) & 0xff;
	if (host < 1 || host > fake::kPaths)
		return -EHOSTUNREACH;
	id->path = host - 1;
	Fabric &f = *Fabric::now;
	WRITE_ONCE(id->asking, true);
	f.longest_question = max_of(f.longest_question, static_cast<u32>(timeout_ms));
	WRITE_ONCE(f.questions[id->path], f.questions[id->path] + 1);
	if (f.mute[id->path] || f.questions[id->path] > f.mute_behind[id->path]) {
		f.leave_unanswered(id);
		return 0;
	}
	// The time is not waited for.
	if (f.lost_questions[id->path]) {
		f.lost_questions[id->path]--;
		return f.tell(id, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT);
	}
	id->device = f.device.ibdev;
	id->port_num = id->path + 1;
	auto &src = reinterpret_cast<sockaddr_in &>(id->route.addr.src_addr);
	src.sin_family = AF_INET;
	src.sin_addr.s_addr = cpu_to_be32(0x0a000064 + host);
	memcpy(&id->route.addr.dst_addr, dst, sizeof(to));
	return f.tell(id, RDMA_CM_EVENT_ADDR_RESOLVED);
}

int rdma_resolve_route(rdma_cm_id *id, unsigned long)
{
	return Fabric::now->tell(static_cast<Id *>(id), RDMA_CM_EVENT_ROUTE_RESOLVED);
}

int rdma_connect(rdma_cm_id *base, rdma_conn_param *param)
{
	auto *id = static_cast<Id *>(base);
	const Result<ConnectRequestFields> request =
	    parse_connect_request(ByteView(param->private_data, sizeof(ConnectRequest)));
	if (!request.ok() || Fabric::now->refuse[id->path] ||
	    (request.value().cid.value && request.value().cid.value == Fabric::now->refuse_cid)) {
		WRITE_ONCE(Fabric::now->refused[id->path], Fabric::now->refused[id->path] + 1);
		return Fabric::now->tell(id, RDMA_CM_EVENT_REJECTED);
	}
	if (Fabric::now->deaf[id->path]) {
		id->connections = request.value().connection_count;
		Fabric::now->leave_unheard(id);
		return 0;
	}
	id->cid = request.value().cid.value;
	id->connections = request.value().connection_count;
	if (id->cid)
		Fabric::now->count_request();
	return Fabric::now->gather && id->cid ? Fabric::now->gathered(id) : Fabric::now->accept(id);
}

int rdma_disconnect(rdma_cm_id *)
{
	return 0;
}

const void *rdma_consumer_reject_data(rdma_cm_id *, rdma_cm_event *, u8 *)
{
	return nullptr;
}

// The real one asks the device what kind it is.
const char *rdma_reject_msg(rdma_cm_id *, int)
{
	return "refused";
}
