// SPDX-License-Identifier: GPL-2.0
// Work requests in the order in which one call posts them.
#pragma once

#include <rtrs/core/connection.hh>
#include <rtrs/core/memory.hh>

namespace rtrs {

// Links what it is given, which must stay until the post, and counts it.
class Chain {
public:
	void append(ib_send_wr &wr)
	{
		link(wr, wr);
		cost.work_requests++;
	}
	void append(Registration &registration)
	{
		link(registration.first(), registration.last());
		cost.work_requests++;
		cost.registrations++;
		cost.guards += registration.guards();
	}
	ib_send_wr *first() const { return first_; }
	ib_send_wr *last() const { return last_; }

	ChainCost cost{.work_requests = 0};

private:
	void link(ib_send_wr &first, ib_send_wr &last)
	{
		if (last_)
			last_->next = &first;
		else
			first_ = &first;
		last_ = &last;
		last.next = nullptr;
	}

	ib_send_wr *first_ = nullptr;
	ib_send_wr *last_ = nullptr;
};

} // namespace rtrs
