// SPDX-License-Identifier: GPL-2.0
// One OPEN of a client that numbers them (protocol D.5, "Numbers of OPEN"). It goes on by itself,
// in a work item of its own, however long its device takes; messages that ask for it are answered
// by how far it is.
//
// Life: listed with its session from begin_opening() on, under the lock of the session's table,
// until it has succeeded, or has failed and a message was told so, or is given up. References: of
// the list, of the work item, of a message that waits.
#pragma once

#include <cxxrt/list.hh>
#include <cxxrt/ref.hh>
#include <cxxrt/work.hh>
#include <rnbd/wire/numbered.hh>
#include <rnbd/wire/open_response.hh>
#include <rtrs/rtrs.h>

namespace rnbd::server {

class Session;

class Opening : public cxxrt::RefCounted<Opening> {
public:
	// ENOMEM.
	static Result<cxxrt::Ref<Opening>> create(Session &session, const NumberedOpenRequest &r);
	Opening(Session &session, const NumberedOpenRequest &r);

	OpenNumber number() const { return request_.number; }
	// What it opens. A message that says something else under the number is refused.
	bool asks_for(const OpenRequest &want) const
	{
		return request_.want.access_mode == want.access_mode &&
		       request_.want.name.view() == want.name.view();
	}
	// Once, listed. Holds the session until the work item has ended.
	void start(const cxxrt::Workqueue &queue);

	// The client wants it no more: what it opens is closed again. Table lock held.
	void give_up() { WRITE_ONCE(given_up_, true); }
	// Any context.
	bool given_up() const { return READ_ONCE(given_up_); }
	// The result is there. Any context.
	bool ended() const { return smp_load_acquire(&ended_); }
	// Valid once ended().
	Status status() const { return Status::from_code(code_); }
	const DeviceProperties &properties() const { return properties_; }

	// Of the list of the session's table.
	cxxrt::ListNode node_;

private:
	friend class Session;
	void run();

	Session &session_;
	const NumberedOpenRequest request_;
	DeviceProperties properties_{};
	int code_ = 0;
	bool given_up_ = false;
	bool ended_ = false;
	cxxrt::RefWork<Opening, &Opening::run> work_{this};
};

// Whose OPEN it is: a message that waits for its end, or an Opening.
struct Opener {
	OpenNumber number{};
	const rtrs_srv_op *op = nullptr;
	const Opening *opening = nullptr;

	// The end is not waited for any more. Any context.
	bool given_up() const { return op ? rtrs_srv_op_dead(op) : opening->given_up(); }
};

} // namespace rnbd::server
