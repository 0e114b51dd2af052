// SPDX-License-Identifier: GPL-2.0
// Events of RDMA ports. The cable of this machine is told by its own port, at once: a path that
// loses it need not wait for heartbeats, and one that waits for it need not wait for the end of a
// pause. Of the peer's cable nobody tells.
#include <cxxrt/log.hh>
#include <cxxrt/rcu.hh>
#include <rtrs/client/module.hh>
#include <rtrs/client/ports.hh>

using namespace cxxrt;

namespace rtrs::client {

namespace {

void tell_sessions(const ib_device &device, u32 port, PortEvent event)
{
	const TextView name = TextView::of(dev_name(&device.dev));
	module_->sessions.with([&](ClientModule::Sessions &list) {
		for (Session &session : list)
			session.on_port_event(name, port, event);
	});
}

} // namespace

// ---- devices ----

struct PortWatch::Device {
	ib_event_handler handler;
};

Status PortWatch::start()
{
	client_.name = "rtrs_client";
	client_.add = added;
	client_.remove = removed;
	TRY(Status::from_code(ib_register_client(&client_)));
	registered_ = true;
	return {};
}

PortWatch::~PortWatch()
{
	if (registered_)
		ib_unregister_client(&client_);
}

int PortWatch::added(ib_device *device)
{
	auto made = make_box<Device>(GFP_KERNEL);
	if (!made.ok())
		return made.code();
	Device *d = made.take().release();
	INIT_IB_EVENT_HANDLER(&d->handler, device, on_event);
	ib_set_client_data(device, &module_->ports.client_, d);
	ib_register_event_handler(&d->handler);
	for (u32 port = rdma_start_port(device); port <= rdma_end_port(device); port++)
		tell_sessions(*device, port, PortEvent::Changed);
	return 0;
}

void PortWatch::removed(ib_device *, void *data)
{
	const Box<Device> d = Box<Device>::adopt(static_cast<Device *>(data));
	// Waits for a running handler.
	ib_unregister_event_handler(&d->handler);
}

// On a work queue of ib_core.
void PortWatch::on_event(ib_event_handler *, ib_event *event)
{
	const u32 port = event->element.port_num;
	switch (event->event) {
	case IB_EVENT_PORT_ERR:
		tell_sessions(*event->device, port, PortEvent::Down);
		break;
	case IB_EVENT_PORT_ACTIVE:
		tell_sessions(*event->device, port, PortEvent::Up);
		break;
	case IB_EVENT_GID_CHANGE:
	case IB_EVENT_LID_CHANGE:
	case IB_EVENT_SM_CHANGE:
		tell_sessions(*event->device, port, PortEvent::Changed);
		break;
	default:
		break;
	}
}

// ---- paths ----

void Session::on_port_event(TextView device, u32 port, PortEvent event)
{
	LockGuard<Mutex> held(paths_lock_);
	for (Path &path : paths_)
		if (path.uses_port(device, port))
			path.on_port_event(event);
	leave_dead_ports();
}

// A path whose port is down goes at once if another one is there to take its requests. The last
// one is left to its heartbeats: a cable that is back within a few seconds costs it nothing, and
// without it requests could only be given up.
void Session::leave_dead_ports()
{
	const RcuReader reader;
	bool elsewhere = false;
	for (Path &path : paths_)
		elsewhere |= path.connected() && !path.port_down();
	if (!elsewhere)
		return;
	for (Path &path : paths_) {
		if (!path.connected() || !path.port_down())
			continue;
		log_warning(path.log_name(), "its port is down, other paths go on");
		path.fail(err::ehostunreach, PathError::Disconnected);
	}
}

bool Path::uses_port(TextView device, u32 port)
{
	LockGuard<Mutex> held(info_lock_);
	return hca_port_ == port && TextView::of(hca_name_.c_str()) == device;
}

void Path::on_port_event(PortEvent event)
{
	const bool in_vain = port_down() && !READ_ONCE(resolving_);
	if (event != PortEvent::Changed)
		WRITE_ONCE(port_down_, event == PortEvent::Down);
	PortReaction reaction;
	bool failed = false;
	{
		LockGuard<SpinLock> held(state_lock_);
		reaction = rtrs::on_port_event(state_, event, in_vain, READ_ONCE(was_up_));
		if (reaction != PortReaction::None)
			hurry_ = true;
		// Here, so that it meets the attempt and not the path that this becomes.
		if (reaction == PortReaction::Restart)
			failed = note_failure(err::econnaborted, PathError::Connect);
	}
	if (failed)
		tell_failure();
	else if (reaction == PortReaction::Hurry)
		kick();
}

} // namespace rtrs::client
