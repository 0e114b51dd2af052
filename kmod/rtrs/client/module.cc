// SPDX-License-Identifier: GPL-2.0
// Start and end of rtrs-client. A user of the exported functions holds the module, so at its end
// there are no sessions; their paths' work was waited for when they were closed.
#include <rtrs/client/module.hh>

using namespace cxxrt;

namespace rtrs::client {

constinit ClientModule *module_ = nullptr;

namespace {
constinit AuthPolicy default_auth_policy_ = AuthPolicy::Optional;
}

AuthPolicy default_auth_policy()
{
	return READ_ONCE(default_auth_policy_);
}

Result<Box<ClientModule>> ClientModule::create()
{
	Box<ClientModule> m = TRY(make_box<ClientModule>(GFP_KERNEL));
	constexpr unsigned int kFlags = WQ_UNBOUND | WQ_MEM_RECLAIM | WQ_SYSFS;
	m->workqueue = TRY(Workqueue::create("rtrs_client_wq", kFlags, WQ_MAX_ACTIVE));
	m->attempts = TRY(Workqueue::create("rtrs_client_connect", kFlags, WQ_MAX_ACTIVE));
	m->ticks = TRY(Workqueue::create("rtrs_client_tick", kFlags, WQ_MAX_ACTIVE));
	m->events = TRY(Workqueue::create("rtrs_client_events", WQ_UNBOUND));
	m->device_class = TRY(DeviceClass::create(cxxrt::lock_class<"rtrs-client">()));
	m->debug_dir = DebugDir::create("rtrs-client");
	return m;
}

} // namespace rtrs::client

extern "C" {
int rtrs_client_start();
void rtrs_client_stop();
int rtrs_client_set_auth(const char *text);
const char *rtrs_client_get_auth();
}

CXXRT_FOR_C int rtrs_client_set_auth(const char *text)
{
	const rtrs::Result<rtrs::AuthPolicy> policy = rtrs::parse_auth_policy(TextView::of(text));
	if (policy.ok())
		WRITE_ONCE(rtrs::client::default_auth_policy_, policy.value());
	return policy.code();
}

CXXRT_FOR_C const char *rtrs_client_get_auth()
{
	return to_text(rtrs::client::default_auth_policy());
}

CXXRT_FOR_C int rtrs_client_start()
{
	using rtrs::client::module_;
	auto m = rtrs::client::ClientModule::create();
	if (!m.ok())
		return m.code();
	module_ = m.take().release();
	const Status s = module_->ports.start();
	if (!s.ok())
		rtrs_client_stop();
	return s.code();
}

CXXRT_FOR_C void rtrs_client_stop()
{
	delete rtrs::client::module_;
	rtrs::client::module_ = nullptr;
}
