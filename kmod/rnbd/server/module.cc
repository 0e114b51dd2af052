// SPDX-License-Identifier: GPL-2.0
// Start and end of rnbd-server, and the transport's way into it.
#include <rnbd/server/module.hh>

#include <cxxrt/log.hh>
#include <cxxrt/text.hh>
#include <rnbd/pure/device_path.hh>
#include <rnbd/server/identity.hh>
#include <rnbd/server/server.h>
#include <rnbd/server/session.hh>

namespace rnbd::server {

static_assert(kPathSize == RNBD_SERVER_PATH_SIZE);

constinit Module *module_ = nullptr;

Result<cxxrt::Box<Module>> Module::create(const rnbd_server_settings &settings)
{
	cxxrt::Box<Module> m = TRY(cxxrt::make_box<Module>(GFP_KERNEL, settings));
	TRY(m->losses_.create());
	char id[kServerIdSize];
	cxxrt::TextWriter writer(id, sizeof(id));
	write_server_id(writer, settings);
	if (writer.truncated())
		log_warning("ctl", "server_id is too long and not used");
	else
		m->server_id_.print("%s", id);
	m->disks_ = TRY(SharedDisks::create(reservation_key(m->server_id_.view())));
	m->device_class_ = TRY(cxxrt::DeviceClass::create(cxxrt::lock_class<"rnbd-server">()));
	m->ctl_ = TRY(m->create_ctl());
	m->devices_ =
	    TRY(cxxrt::SysfsDir::create_empty<Module>(m->ctl_.kobj(), "devices", m.get()));
	m->endings_ =
	    TRY(cxxrt::Workqueue::create("rnbd_server_ends", WQ_UNBOUND, WQ_UNBOUND_MAX_ACTIVE));
	TRY(m->looks_.create());
	m->exports_.set_parent(m->devices_.kobj());
	m->ctl_.announce();
	return m;
}

} // namespace rnbd::server

CXXRT_FOR_C int rnbd_server_check_search_path(const char *text)
{
	rnbd::Result<rnbd::TextView> path = rnbd::parse_search_path(rnbd::TextView::of(text));
	return path.ok() ? static_cast<int>(path->size()) : path.code();
}

CXXRT_FOR_C int rnbd_server_start(u16 port, const struct rnbd_server_settings *settings)
{
	rnbd::Result<cxxrt::Box<rnbd::server::Module>> created =
	    rnbd::server::Module::create(*settings);
	if (!created.ok())
		return created.code();
	// Known to the transport's calls before they can come.
	rnbd::server::module_ = created->release();
	rnbd::Status opened = rnbd::server::module_->open(port, settings->serving);
	if (!opened.ok()) {
		rnbd_server_stop();
		return opened.code();
	}
	return 0;
}

CXXRT_FOR_C void rnbd_server_stop(void)
{
	// Sessions that come up while it closes still find it.
	delete rnbd::server::module_;
	rnbd::server::module_ = nullptr;
}
