// SPDX-License-Identifier: GPL-2.0
// Start and end of rtrs-client. A user of the exported functions holds the module, so at its end
// there are no sessions; their paths' work was waited for when they were closed.
#include <rtrs/client/module.hh>

using namespace cxxrt;

namespace rtrs::client {

constinit ClientModule *module_ = nullptr;

Result<Box<ClientModule>> ClientModule::create()
{
	Box<ClientModule> m = TRY(make_box<ClientModule>(GFP_KERNEL));
	m->workqueue = TRY(Workqueue::create("rtrs_client_wq", WQ_UNBOUND | WQ_MEM_RECLAIM));
	m->device_class = TRY(DeviceClass::create(cxxrt::lock_class<"rtrs-client">()));
	m->debug_dir = DebugDir::create("rtrs-client");
	return m;
}

} // namespace rtrs::client

extern "C" {
int rtrs_client_start();
void rtrs_client_stop();
}

int rtrs_client_start()
{
	auto m = rtrs::client::ClientModule::create();
	if (m.ok())
		rtrs::client::module_ = m.take().release();
	return m.code();
}

void rtrs_client_stop()
{
	delete rtrs::client::module_;
	rtrs::client::module_ = nullptr;
}
