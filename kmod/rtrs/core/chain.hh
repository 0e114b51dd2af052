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

// The same for many, which the caller counts: without a look at each whether it is the first. There
// is at least one.
class Links {
public:
	Links() = default;
	Links(const Links &) = delete;
	Links &operator=(const Links &) = delete;

	void append(ib_send_wr &wr) { append(wr, wr); }
	void append(ib_send_wr &first, ib_send_wr &last)
	{
		*end_ = &first;
		end_ = &last.next;
	}
	// `other`, which is given up, behind these.
	void append(Links &other)
	{
		*end_ = other.first_;
		end_ = other.end_;
	}
	// Nothing is appended any more.
	ib_send_wr *close()
	{
		*end_ = nullptr;
		return first_;
	}
	ib_send_wr *last() const { return container_of(end_, ib_send_wr, next); }

private:
	ib_send_wr *first_ = nullptr;
	ib_send_wr **end_ = &first_;
};

} // namespace rtrs
