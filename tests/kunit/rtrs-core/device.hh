// SPDX-License-Identifier: GPL-2.0
// An RDMA device that keeps in mind what is posted, and a connection on it.
#pragma once

#include <cxxrt/lock.hh>
#include <cxxrt/memory.hh>
#include <rtrs/core/connection.hh>

namespace fake {

using cxxrt::u32;

// One queue pair. What is posted stays in the queue until a signaled work request behind it
// completes.
class Device {
public:
	~Device();
	// ENOMEM.
	static cxxrt::Result<cxxrt::Box<Device>> create(const rtrs_queue_config &config);

	rtrs::Connection &connection() { return *connection_; }
	ib_qp *qp() { return &qp_; }

	// Completes the oldest signaled work request, as a handler of completions does. False if
	// there is none.
	bool complete_one();

	// By post_send; the next ones from now on end with this code.
	int refuse_with = 0;
	u32 posted = 0; // work requests in all
	u32 signaled = 0;
	u32 waiting = 0; // posted, and not known to be done
	u32 most_waiting = 0;
	u32 last_imm = 0; // host order

private:
	static int post_send(ib_qp *qp, const ib_send_wr *first, const ib_send_wr **bad);

	cxxrt::SpinLock lock_{cxxrt::lock_class<"kunit device">()};
	ib_qp qp_{};
	cxxrt::Box<ib_device> ibdev_;
	cxxrt::PerCpu<rtrs::WrCounters> counters_;
	cxxrt::Box<rtrs::Connection> connection_;
	cxxrt::Array<u32> groups_; // a ring of what each signaled one will retire
	u32 first_group_ = 0;
	u32 end_group_ = 0;
	u32 open_wrs_ = 0; // posted behind the last signaled one
};

} // namespace fake
