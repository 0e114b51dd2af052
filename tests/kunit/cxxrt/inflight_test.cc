// SPDX-License-Identifier: GPL-2.0
// The gate in front of something that shall go away.
#include <cxxrt/inflight.hh>
#include <cxxrt/inflight_event.hh>
#include <cxxrt/work.hh>

#include "cases.h"
#include "threads.hh"

using namespace cxxrt;
using namespace kunit_testing;

// Users come and go until the gate refuses them. When close() returns none is inside, and none
// comes.
CASE(inflight_close_waits_for_every_user)
{
	constexpr unsigned int kUsers = 3;
	for (int round = 0; round < 10; round++) {
		auto made = Inflight::create();
		REQUIRE(made.ok());
		Box<Inflight> gate = made.take();
		int inside = 0;
		int inside_at_close = -1;
		int late = 0;
		u32 entries = 0;
		bool closed = false;
		REQUIRE(side_by_side<kUsers + 1>([&](unsigned int i) {
			if (i == kUsers) {
				// Everybody has been inside at least once.
				while (__atomic_load_n(&entries, __ATOMIC_SEQ_CST) < kUsers)
					breathe();
				gate->close();
				inside_at_close = __atomic_load_n(&inside, __ATOMIC_SEQ_CST);
				__atomic_store_n(&closed, true, __ATOMIC_SEQ_CST);
				return;
			}
			while (gate->enter()) {
				__atomic_fetch_add(&inside, 1, __ATOMIC_SEQ_CST);
				__atomic_fetch_add(&entries, 1u, __ATOMIC_SEQ_CST);
				breathe();
				if (__atomic_load_n(&closed, __ATOMIC_SEQ_CST))
					__atomic_fetch_add(&late, 1, __ATOMIC_SEQ_CST);
				breathe();
				__atomic_fetch_sub(&inside, 1, __ATOMIC_SEQ_CST);
				gate->leave();
				breathe();
			}
		}));
		EXPECT_EQ(inside_at_close, 0);
		EXPECT_EQ(late, 0);
		EXPECT(!gate->enter());
	}
}

CASE(inflight_shut_refuses_and_does_not_wait)
{
	auto made = Inflight::create();
	REQUIRE(made.ok());
	Box<Inflight> gate = made.take();
	REQUIRE(gate->enter());
	gate->shut();
	EXPECT(!gate->enter());
	{
		Thread closer([&] { gate->close(); });
		REQUIRE(closer.start(0));
		for (int i = 0; i < 50; i++)
			breathe();
		EXPECT(!closer.done());
		gate->leave();
		EXPECT(closer.wait_done().ok());
	}
	// Once more is no harm.
	gate->close();
}

namespace {

// Ends the gate when it is told to, as the gate allows.
struct Ender {
	static void left(void *self)
	{
		auto *ender = static_cast<Ender *>(self);
		ender->told++;
		ender->work.queue(ender->wq);
	}
	void end()
	{
		gate.reset();
		ended.complete();
	}
	Box<InflightEvent> gate;
	Workqueue wq;
	int told = 0;
	Completion ended;
	Work<Ender, &Ender::end> work{this};
};

} // namespace

CASE(inflight_event_comes_with_the_last)
{
	for (int users = 0; users < 3; users++) {
		auto ender = make_box<Ender>(GFP_KERNEL);
		auto gate = InflightEvent::create();
		auto wq = Workqueue::create("kunit_gate", WQ_UNBOUND);
		REQUIRE(ender.ok() && gate.ok() && wq.ok());
		Ender &e = **ender;
		e.gate = gate.take();
		e.wq = wq.take();
		for (int i = 0; i < users; i++)
			REQUIRE(e.gate->enter());
		e.gate->shut(Ender::left, &e);
		for (int i = 0; i < users; i++) {
			EXPECT(!e.gate->enter());
			synchronize_rcu();
			EXPECT_EQ(e.told, 0);
			e.gate->leave();
		}
		EXPECT(e.ended.wait_for(kLong).ok());
		EXPECT_EQ(e.told, 1);
	}
}

CASE(inflight_event_counts_who_come_together)
{
	auto ender = make_box<Ender>(GFP_KERNEL);
	auto gate = InflightEvent::create();
	auto wq = Workqueue::create("kunit_gate", WQ_UNBOUND);
	REQUIRE(ender.ok() && gate.ok() && wq.ok());
	Ender &e = **ender;
	e.gate = gate.take();
	e.wq = wq.take();
	REQUIRE(e.gate->enter(16) && e.gate->enter(1));
	e.gate->leave(3);
	e.gate->shut(Ender::left, &e);
	EXPECT(!e.gate->enter(2));
	synchronize_rcu();
	e.gate->leave();
	e.gate->leave(12);
	EXPECT_EQ(e.told, 0);
	e.gate->leave();
	EXPECT(e.ended.wait_for(kLong).ok());
	EXPECT_EQ(e.told, 1);
}

CASE(inflight_destruction_closes)
{
	auto made = Inflight::create();
	REQUIRE(made.ok());
	Box<Inflight> gate = made.take();
	REQUIRE(gate->enter());
	Inflight *raw = gate.get();
	{
		Thread destroyer([&] { gate.reset(); });
		REQUIRE(destroyer.start(0));
		for (int i = 0; i < 50; i++)
			breathe();
		EXPECT(!destroyer.done());
		raw->leave();
		EXPECT(destroyer.wait_done().ok());
	}
	EXPECT(!gate);
}
