// SPDX-License-Identifier: GPL-2.0
// Start and end of rtrs-core.
#include <rtrs/core/module.hh>

namespace rtrs {
constinit CoreModule *module_ = nullptr;
}

extern "C" {
int rtrs_core_start();
void rtrs_core_stop();
}

int rtrs_core_start()
{
	rtrs::module_ = new (GFP_KERNEL) rtrs::CoreModule;
	return rtrs::module_ ? 0 : -ENOMEM;
}

void rtrs_core_stop()
{
	delete rtrs::module_;
	rtrs::module_ = nullptr;
}
