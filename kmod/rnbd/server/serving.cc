// SPDX-License-Identifier: GPL-2.0
// When the server serves, and what its clients may conclude from a time when it did not.
//
// A client that had writes acknowledged which no flush covered lets no flush succeed once the
// server's instance is another one (protocol D.5). So the instance stays as long as nothing can
// have been lost: while this boot lasts, whatever becomes of the module, and over an orderly
// restart of the machine. That is: the server stops serving, each disk is flushed as it is closed,
// and then ctl/instance tells the number for the next load of the module.
#include <rnbd/server/module.hh>

#include <cxxrt/file.hh>
#include <cxxrt/text.hh>
#include <rnbd/pure/instance.hh>
#include <rnbd/server/session.hh>

namespace rnbd::server {

namespace {

int session_up(rtrs_srv_sess *transport, void **priv)
{
	Result<Session *> session = Session::create(*module_, transport);
	if (!session.ok())
		return session.code();
	*priv = session.value();
	return 0;
}

int path_up(void *priv, const sockaddr_storage *client)
{
	return static_cast<Session *>(priv)->path_up(*client).code();
}

void path_closing(void *priv)
{
	static_cast<Session *>(priv)->path_closing();
}

void path_down(void *priv, const sockaddr_storage *client)
{
	static_cast<Session *>(priv)->path_down(*client);
}

void session_down(void *priv)
{
	static_cast<Session *>(priv)->down();
}

void handle_request(void *priv, const rtrs_srv_request *request)
{
	static_cast<Session *>(priv)->handle(*request);
}

} // namespace

u64 Module::boot_instance()
{
	char id[40];
	const usize size = cxxrt::read_file("/proc/sys/kernel/random/boot_id", id, sizeof(id));
	// Without it each load of the module counts as a restart.
	return instance_of_boot(TextView(id, size)) ?: get_random_u64() | 1;
}

Status Module::start(Serving &s)
{
	rtrs_srv_ops ops{};
	ops.op_size = Session::area_size();
	ops.session_up = session_up;
	ops.path_up = path_up;
	ops.path_closing = path_closing;
	ops.path_down = path_down;
	ops.session_down = session_down;
	ops.request = handle_request;
	TRY(Status::from_code(rtrs_srv_open(&ops, s.port, &s.server)));
	smp_store_release(&server_, s.server);
	return {};
}

// No request is answered any more from some time within on, so that clients take them to another
// path or wait; every disk was flushed and closed when it returns. EINTR if a fatal signal ended
// the wait for that.
Status Module::stop(Serving &s)
{
	if (s.server) {
		smp_store_release(&server_, nullptr);
		rtrs_srv_close(cxxrt::exchange(s.server, static_cast<rtrs_srv *>(nullptr)));
	}
	return exports_.wait_killable([&] { return exports_.none_alive(); });
}

Status Module::open(u16 port, bool serving)
{
	TRY(serving_.with([&](Serving &s) -> Status {
		s.port = port;
		return serving ? start(s) : Status();
	}));
	// Nothing can fail afterwards: a tree in which an administrator has made something stays.
	return configured_.create();
}

Module::~Module()
{
	serving_.with([&](Serving &s) {
		if (!stop(s).ok())
			exports_.wait_idle([&] { return exports_.none_alive(); });
		// The files are there until the members of this object go.
		s.ending = true;
	});
	// No mapping is left. Without the lock, which `serving` takes.
	if (disks_)
		disks_->end();
}

Result<u32> Module::max_io_bytes() const
{
	const rtrs_srv *server = smp_load_acquire(&server_);
	if (!server)
		return err::enotconn;
	return rtrs_srv_max_io_size(server);
}

Result<cxxrt::ClassDevice> Module::create_ctl()
{
	using File = cxxrt::DeviceFile<Module>;
	static constexpr File kFiles[] = {
	    File::read_write("serving", &Module::show_serving, &Module::store_serving),
	    File::read_only("instance", &Module::show_instance),
	    File::read_only("reservations", &Module::show_reservations),
	    File::read_write("clear_reservations", &Module::show_clear_reservations,
			     &Module::store_clear_reservations),
	};
	return cxxrt::ClassDevice::create(device_class_, "ctl", this, kFiles);
}

void Module::show_serving(cxxrt::SysfsText &text)
{
	text.print("%d\n", smp_load_acquire(&server_) != nullptr);
}

Status Module::store_serving(TextView text, cxxrt::SysfsCall &)
{
	const int wanted = TRY(cxxrt::parse_int(text, 0, 1));
	return serving_.with([&](Serving &s) -> Status {
		if (s.ending)
			return err::enodev;
		if (!wanted)
			TRY(stop(s));
		else if (!s.server)
			TRY(start(s));
		return {};
	});
}

void Module::show_reservations(cxxrt::SysfsText &text)
{
	disks_->show(text);
}

void Module::show_clear_reservations(cxxrt::SysfsText &text)
{
	text.print("Usage: echo <disk> > clear_reservations\n");
}

Status Module::store_clear_reservations(TextView text, cxxrt::SysfsCall &)
{
	return disks_->clear(text);
}

// A disk that is closed by force may still be on its way to its flush.
void Module::show_instance(cxxrt::SysfsText &text)
{
	const bool certain = !smp_load_acquire(&server_) && exports_.empty() && !losses_.any();
	text.print("%llu\n", certain ? instance_ : 0);
}

} // namespace rnbd::server
