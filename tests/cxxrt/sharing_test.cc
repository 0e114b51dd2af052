// SPDX-License-Identifier: GPL-2.0
// Ref, List and Fifo.
#include <cxxrt/fifo.hh>
#include <cxxrt/list.hh>
#include <cxxrt/ref.hh>

#include "check.hh"

namespace {

using namespace cxxrt;
using selftest::Case;
using selftest::Test;

class Session : public RefCounted<Session> {
public:
	explicit Session(int *alive) : alive_(alive) { ++*alive_; }
	~Session() { --*alive_; }
	int id = 0;
	ListNode node;

private:
	int *alive_;
};

void last_reference(Case &t)
{
	int alive = 0;
	auto made = make_ref<Session>(GFP_KERNEL, &alive);
	if (!made.ok())
		return t.skip("out of memory");
	Ref<Session> first = made.take();
	{
		Ref<Session> second = first;
		Ref<Session> third = Ref<Session>::share(first.get());
		second = move(third);
		EXPECT(!third && second);
		first.reset();
		EXPECT(alive == 1);
	}
	EXPECT(alive == 0);
}

// An object whose memory outlives its last reference, as under RCU.
class Dying : public RefCounted<Dying> {
public:
	void destroy() { dead = true; }
	bool dead = false;
};

void no_resurrection(Case &t)
{
	Dying object;
	Ref<Dying> ref = Ref<Dying>::adopt(&object);
	EXPECT(Ref<Dying>::try_share(&object));
	EXPECT(!object.dead);
	ref.reset();
	EXPECT(object.dead);
	EXPECT(!Ref<Dying>::try_share(&object));
	EXPECT(!Ref<Dying>::try_share(nullptr));
}

struct Waiter {
	int id = 0;
	FifoNode<Waiter> node;
};

void fifo_order(Case &t)
{
	Waiter a, b, c;
	Fifo<Waiter, &Waiter::node> queue;
	EXPECT(queue.empty() && !queue.front() && !queue.pop_front());
	for (int round = 0; round < 2; round++) {
		queue.push_back(b);
		EXPECT(b.node.queued() && !a.node.queued());
		queue.push_back(c);
		queue.push_front(a);
		EXPECT(queue.front() == &a && queue.pop_front() == &a);
		EXPECT(!a.node.queued() && b.node.queued() && c.node.queued());
		EXPECT(queue.pop_front() == &b);
		queue.push_back(a);
		EXPECT(queue.pop_front() == &c && queue.pop_front() == &a);
		EXPECT(queue.empty() && !queue.pop_front() && !a.node.queued());
		// The first one that comes in front is the last one, too.
		queue.push_front(a);
		queue.push_back(b);
		EXPECT(queue.pop_front() == &a && queue.pop_front() == &b && queue.empty());
	}
}

using Sessions = List<Session, &Session::node>;

void list_order(Case &t)
{
	int alive = 0;
	{
		Session a(&alive), b(&alive), c(&alive);
		a.id = 1;
		b.id = 2;
		c.id = 3;
		Sessions list;
		Sessions more;
		EXPECT(list.empty() && !list.front() && !list.pop_front());
		list.push_back(b);
		list.push_front(a);
		more.push_back(c);
		list.take_all(more);
		EXPECT(more.empty());
		int order = 0;
		for (Session &s : list)
			order = order * 10 + s.id;
		EXPECT(order == 123);
		EXPECT(b.node.linked());
		Sessions::remove(b);
		EXPECT(!b.node.linked());
		EXPECT(list.pop_front() == &a);
		EXPECT(list.pop_front() == &c);
		EXPECT(list.empty());
	}
	EXPECT(alive == 0);
}

constexpr Test kSharingTests[] = {
    {"the last reference destroys the object", last_reference},
    {"a dying object is not shared again", no_resurrection},
    {"a list keeps the order", list_order},
    {"a queue keeps the order", fifo_order},
};

} // namespace

namespace selftest {
constinit const Suite sharing_suite("sharing", kSharingTests);
}
