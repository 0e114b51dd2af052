// SPDX-License-Identifier: GPL-2.0
// Listening while there is an RDMA device.
#include <rtrs/server/listener.hh>

#include <cxxrt/err_ptr.hh>
#include <cxxrt/log.hh>
#include <rtrs/pure/address.hh>
#include <rtrs/server/server.hh>

using namespace cxxrt;

namespace rtrs::server {
namespace {

// The callbacks for a new device carry no context. There is one server per system, and this is set
// while it is registered.
constinit Listener *active = nullptr;

constexpr char kListenerSubject[] = "listener";

} // namespace

Status Listener::start(u16 port)
{
	port_ = port;
	active = this;
	client_.name = "rtrs_server";
	client_.add = device_added;
	client_.remove = device_removed;
	// Calls device_added() for each device that is there.
	if (const int code = ib_register_client(&client_)) {
		active = nullptr;
		return Error::from_code(code);
	}
	registered_ = true;
	// The registration does not tell what the callbacks returned.
	const int code = ids_.with([](const Ids &ids) { return ids.error; });
	if (code) {
		stop();
		return Error::from_code(code);
	}
	return {};
}

void Listener::stop()
{
	if (!exchange(registered_, false))
		return;
	// Calls device_removed() for each device: the last one ends the listening.
	ib_unregister_client(&client_);
	active = nullptr;
}

int Listener::device_added(ib_device *device)
{
	Listener *self = active;
	return self->ids_.with([&](Ids &ids) {
		if (!ids.devices) {
			const Status s = self->listen(ids);
			ids.error = s.code();
			if (!s.ok()) {
				log_error(kListenerSubject, "port %u: error %d", self->port_,
					  s.code());
				// No device_removed() will be called for this device.
				return s.code();
			}
		}
		ids.devices++;
		ib_set_client_data(device, &self->client_, self);
		return 0;
	});
}

void Listener::device_removed(ib_device *, void *listener)
{
	auto *self = static_cast<Listener *>(listener);
	self->ids_.with([&](Ids &ids) {
		if (!--ids.devices)
			self->unlisten(ids);
	});
	// The paths of the device get DEVICE_REMOVAL events for their own ids.
}

Result<rdma_cm_id *> Listener::listen_on(sockaddr *address, rdma_ucm_port_space space)
{
	rdma_cm_id *id =
	    TRY(from_err_ptr(rdma_create_id(&init_net, event, &server_, space, IB_QPT_RC)));
	int code = rdma_bind_addr(id, address);
	if (!code)
		code = rdma_listen(id, kListenBacklog);
	if (code) {
		rdma_destroy_id(id);
		return Error::from_code(code);
	}
	return id;
}

// Both or none.
Status Listener::listen(Ids &ids)
{
	// The IPv6 wildcard takes IPv4 too.
	sockaddr_in6 ip{};
	ip.sin6_family = AF_INET6;
	ip.sin6_port = cpu_to_be16(port_);
	ids.ip = TRY(listen_on(reinterpret_cast<sockaddr *>(&ip), RDMA_PS_TCP));

	sockaddr_ib ib{};
	ib.sib_family = AF_IB;
	ib.sib_pkey = cpu_to_be16(0xffff);
	ib.sib_sid = cpu_to_be64(service_id(AddressKind::Gid, port_));
	ib.sib_sid_mask = cpu_to_be64(~0ULL);
	Result<rdma_cm_id *> id = listen_on(reinterpret_cast<sockaddr *>(&ib), RDMA_PS_IB);
	if (!id.ok()) {
		rdma_destroy_id(exchange(ids.ip, static_cast<rdma_cm_id *>(nullptr)));
		return id.error();
	}
	ids.ib = id.value();
	return {};
}

// Waits for running handlers of connection requests.
void Listener::unlisten(Ids &ids)
{
	rdma_destroy_id(exchange(ids.ip, static_cast<rdma_cm_id *>(nullptr)));
	rdma_destroy_id(exchange(ids.ib, static_cast<rdma_cm_id *>(nullptr)));
}

// Events of the listening ids, and the first event of each id that they bring forth. A result that
// is not 0 lets the connection manager destroy the new id; a path that takes it over sets another
// handler and context.
int Listener::event(rdma_cm_id *id, rdma_cm_event *event)
{
	auto *server = static_cast<Server *>(id->context);
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		return server->connect_request(id, *event);
	log_warning_limited(kListenerSubject, "%s: status %d", rdma_event_msg(event->event),
			    event->status);
	return 0;
}

} // namespace rtrs::server
