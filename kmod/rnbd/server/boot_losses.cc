// SPDX-License-Identifier: GPL-2.0
#include <rnbd/server/boot_losses.hh>

#include <cxxrt/log.hh>
#include <rnbd/server/server.h>

namespace rnbd::server {

Status BootLosses::create()
{
	bool of_others = false;
	auto *losses =
	    static_cast<LostFlushes *>(rnbd_server_boot_record(sizeof(LostFlushes), &of_others));
	if (!losses)
		return err::enomem;
	if (of_others) {
		log_warning("ctl", "Another version of the module has lost writes in this boot: "
				   "they count for every disk");
		losses->add_unknown();
	}
	losses_.with([&](LostFlushes *&l) { l = losses; });
	return {};
}

BootLosses::~BootLosses()
{
	if (losses_.with([](const LostFlushes *l) { return l && !l->any(); }))
		rnbd_server_drop_boot_record();
}

} // namespace rnbd::server
