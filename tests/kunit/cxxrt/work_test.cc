// SPDX-License-Identifier: GPL-2.0
// Work items: how often they run, what they keep alive, and what ends them. Never on the stack,
// where debug objects don't want them; made before their queue, whose end waits for them.
#include <cxxrt/ref.hh>
#include <cxxrt/work.hh>

#include "cases.h"
#include "threads.hh"

using namespace cxxrt;
using namespace kunit_testing;

namespace {

// Its method waits until it is told to go on.
class Slow : public RefCounted<Slow> {
public:
	explicit Slow(int *destroyed = nullptr) : destroyed_(destroyed) {}
	~Slow()
	{
		if (!destroyed_)
			return;
		// While the method runs: a failure that KASAN would see too.
		*destroyed_ = inside ? -1 : *destroyed_ + 1;
	}

	void step()
	{
		beside_itself += inside;
		inside = true;
		entered.complete();
		(void)go.wait_for(kLong);
		breathe();
		runs++;
		inside = false;
	}

	bool inside = false;
	int runs = 0;
	int beside_itself = 0;
	Completion entered;
	Completion go;
	Work<Slow, &Slow::step> work{this};
	RefWork<Slow, &Slow::step> ref_work{this};

private:
	int *destroyed_;
};

// Queues itself again until it is cancelled.
struct Ticker {
	explicit Ticker(const Workqueue &q) : queue(q) {}
	void tick()
	{
		if (++ticks == 3)
			ticked.complete();
		timer.queue_after(queue, 1);
	}
	const Workqueue &queue;
	int ticks = 0;
	Completion ticked;
	DelayedWork<Ticker, &Ticker::tick> timer{this};
};

struct Log {
	int order = 0;
	int count = 0;
	bool inside = false;
	int overlaps = 0;
};

struct Entry {
	void run()
	{
		log->overlaps += log->inside;
		log->inside = true;
		breathe();
		log->order = log->order * 10 + number;
		log->count++;
		log->inside = false;
	}
	Log *log = nullptr;
	int number = 0;
	Work<Entry, &Entry::run> work{this};
};

} // namespace

CASE(work_queued_twice_runs_once)
{
	auto one = make_box<Slow>(GFP_KERNEL);
	auto two = make_box<Slow>(GFP_KERNEL);
	auto queue = Workqueue::create_ordered("kunit", 0);
	REQUIRE(one.ok() && two.ok() && queue.ok());
	Slow &first = **one;
	Slow &second = **two;
	second.go.complete();
	// As long as the first one runs, the second one waits.
	EXPECT(first.work.queue(*queue));
	REQUIRE(first.entered.wait_for(kLong).ok());
	EXPECT(second.work.queue(*queue));
	EXPECT(!second.work.queue(*queue));
	first.go.complete();
	queue->flush();
	EXPECT_EQ(second.runs, 1);
	// Whoever queues it while it runs wants another run.
	EXPECT(second.work.queue(*queue));
	queue->flush();
	EXPECT_EQ(second.runs, 2);
}

// On a queue that runs many items at a time.
CASE(work_never_runs_beside_itself)
{
	auto made = make_box<Slow>(GFP_KERNEL);
	auto queue = Workqueue::create("kunit", WQ_UNBOUND);
	REQUIRE(made.ok() && queue.ok());
	Slow &item = **made;
	EXPECT(item.work.queue(*queue));
	REQUIRE(item.entered.wait_for(kLong).ok());
	// It has begun, so this is a second run: it may begin when the first has ended.
	EXPECT(item.work.queue(*queue));
	for (int i = 0; i < 50; i++)
		breathe();
	EXPECT_EQ(item.runs, 0);
	item.go.complete();
	queue->flush();
	EXPECT_EQ(item.runs, 2);
	EXPECT_EQ(item.beside_itself, 0);
}

CASE(work_cancel_waits_for_a_running_method)
{
	auto made = make_box<Slow>(GFP_KERNEL);
	auto queue = Workqueue::create("kunit", 0);
	REQUIRE(made.ok() && queue.ok());
	Slow &item = **made;
	EXPECT(item.work.queue(*queue));
	REQUIRE(item.entered.wait_for(kLong).ok());
	int runs_at_return = -1;
	{
		Thread canceller([&] {
			item.work.cancel_sync();
			runs_at_return = item.runs;
		});
		REQUIRE(canceller.start(0));
		for (int i = 0; i < 50; i++)
			breathe();
		EXPECT(!canceller.done());
		item.go.complete();
		EXPECT(canceller.wait_done().ok());
	}
	EXPECT_EQ(runs_at_return, 1);
	EXPECT(!item.work.cancel_sync());
}

CASE(work_ref_outlives_a_running_method)
{
	auto queue = Workqueue::create("kunit", 0);
	int destroyed = 0;
	auto made = make_ref<Slow>(GFP_KERNEL, &destroyed);
	REQUIRE(queue.ok() && made.ok());
	Ref<Slow> item = made.take();
	Slow *raw = item.get();
	EXPECT(item->ref_work.queue(*queue));
	REQUIRE(item->entered.wait_for(kLong).ok());
	item.reset();
	EXPECT_EQ(destroyed, 0);
	raw->go.complete();
	queue->flush();
	EXPECT_EQ(destroyed, 1);
}

CASE(work_ref_queued_twice_takes_one_reference)
{
	int destroyed = 0;
	auto made = make_ref<Slow>(GFP_KERNEL, &destroyed);
	auto other = make_box<Slow>(GFP_KERNEL);
	auto queue = Workqueue::create_ordered("kunit", 0);
	REQUIRE(queue.ok() && made.ok() && other.ok());
	Ref<Slow> item = made.take();
	Slow &blocker = **other;
	EXPECT(blocker.work.queue(*queue));
	REQUIRE(blocker.entered.wait_for(kLong).ok());
	item->go.complete();
	EXPECT(item->ref_work.queue(*queue));
	EXPECT(!item->ref_work.queue(*queue));
	blocker.go.complete();
	queue->flush();
	// One too many would keep it for ever, one too few has destroyed it.
	EXPECT_EQ(destroyed, 0);
	EXPECT_EQ(item->runs, 1);
	item.reset();
	EXPECT_EQ(destroyed, 1);
}

// As a heartbeat does.
CASE(work_delayed_cancel_ends_a_self_requeuing_item)
{
	auto queue = Workqueue::create("kunit", 0);
	REQUIRE(queue.ok());
	auto made = make_box<Ticker>(GFP_KERNEL, *queue);
	REQUIRE(made.ok());
	Ticker &ticker = **made;
	EXPECT(ticker.timer.queue_after(*queue, 1));
	const bool ticked = ticker.ticked.wait_for(kLong).ok();
	ticker.timer.cancel_sync();
	REQUIRE(ticked);
	const int ticks = ticker.ticks;
	EXPECT(!ticker.timer.cancel_sync());
	schedule_timeout_uninterruptible(5);
	EXPECT_EQ(ticker.ticks, ticks);
}

CASE(work_ordered_queue_keeps_the_order)
{
	Log log;
	auto made = Array<Entry>::create(5);
	auto other = make_box<Slow>(GFP_KERNEL);
	auto queue = Workqueue::create_ordered("kunit", 0);
	REQUIRE(made.ok() && other.ok() && queue.ok());
	Array<Entry> &entries = *made;
	for (int i = 0; i < 5; i++) {
		entries[i].log = &log;
		entries[i].number = i + 1;
	}
	Slow &blocker = **other;
	EXPECT(blocker.work.queue(*queue));
	REQUIRE(blocker.entered.wait_for(kLong).ok());
	for (Entry &e : entries)
		EXPECT(e.work.queue(*queue));
	blocker.go.complete();
	queue->flush();
	EXPECT_EQ(log.order, 12345);
	EXPECT_EQ(log.overlaps, 0);
}

CASE(work_queue_reset_drains)
{
	Log log;
	auto made = Array<Entry>::create(5);
	auto queue = Workqueue::create("kunit", 0);
	REQUIRE(made.ok() && queue.ok());
	Array<Entry> &entries = *made;
	for (Entry &e : entries) {
		e.log = &log;
		EXPECT(e.work.queue(*queue));
	}
	queue->reset();
	EXPECT(!*queue);
	EXPECT_EQ(log.count, 5);
}
