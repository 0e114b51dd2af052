// SPDX-License-Identifier: GPL-2.0
// Start and end of rnbd-server, and the transport's way into it.
#include <rnbd/server/module.hh>

#include <cxxrt/log.hh>
#include <rnbd/pure/device_path.hh>
#include <rnbd/server/server.h>
#include <rnbd/server/session.hh>

namespace rnbd {

namespace {

static_assert(kPathSize == RNBD_SERVER_PATH_SIZE);

constinit Module *module_ = nullptr;

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

Result<cxxrt::Box<Module>> Module::create(const rnbd_server_settings &settings)
{
	cxxrt::Box<Module> m = TRY(cxxrt::make_box<Module>(GFP_KERNEL, settings));
	m->device_class_ = TRY(cxxrt::DeviceClass::create(cxxrt::lock_class<"rnbd-server">()));
	m->ctl_ = TRY(cxxrt::ClassDevice::create_empty(m->device_class_, "ctl"));
	m->devices_ =
	    TRY(cxxrt::SysfsDir::create_empty<Module>(m->ctl_.kobj(), "devices", m.get()));
	m->exports_.set_parent(m->devices_.kobj());
	m->ctl_.announce();
	return m;
}

Status Module::open(u16 port)
{
	rtrs_srv_ops ops{};
	ops.op_size = Session::area_size();
	ops.session_up = session_up;
	ops.path_up = path_up;
	ops.path_down = path_down;
	ops.session_down = session_down;
	ops.request = handle_request;
	rtrs_srv *server = nullptr;
	TRY(Status::from_code(rtrs_srv_open(&ops, port, &server)));
	smp_store_release(&server_, server);
	// Nothing can fail afterwards: a tree in which an administrator has made something stays.
	return configured_.create();
}

Module::~Module()
{
	if (server_)
		rtrs_srv_close(server_);
}

Result<u32> Module::max_io_bytes() const
{
	const rtrs_srv *server = smp_load_acquire(&server_);
	if (!server)
		return err::enotconn;
	return rtrs_srv_max_io_size(server);
}

} // namespace rnbd

int rnbd_server_check_search_path(const char *text)
{
	rnbd::Result<rnbd::TextView> path = rnbd::parse_search_path(rnbd::TextView::of(text));
	return path.ok() ? static_cast<int>(path->size()) : path.code();
}

int rnbd_server_start(u16 port, const struct rnbd_server_settings *settings)
{
	rnbd::Result<cxxrt::Box<rnbd::Module>> created = rnbd::Module::create(*settings);
	if (!created.ok())
		return created.code();
	// Known to the transport's calls before they can come.
	rnbd::module_ = created->release();
	rnbd::Status opened = rnbd::module_->open(port);
	if (!opened.ok()) {
		rnbd_server_stop();
		return opened.code();
	}
	return 0;
}

void rnbd_server_stop(void)
{
	// Sessions that come up while it closes still find it.
	delete rnbd::module_;
	rnbd::module_ = nullptr;
}
