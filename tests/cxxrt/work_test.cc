// SPDX-License-Identifier: GPL-2.0
// Work, waiting, and the closing of things in use.
#include <cxxrt/inflight.hh>
#include <cxxrt/ref.hh>
#include <cxxrt/wait.hh>
#include <cxxrt/work.hh>

#include "check.hh"

namespace {

using namespace cxxrt;
using selftest::Case;
using selftest::Test;

class Worker : public RefCounted<Worker> {
public:
	explicit Worker(bool *gone) : gone_(gone) {}
	~Worker() { *gone_ = true; }

	void step()
	{
		runs++;
		ran.complete();
	}

	int runs = 0;
	Completion ran;
	Work<Worker, &Worker::step> work{this};
	RefWork<Worker, &Worker::step> ref_work{this};
	DelayedWork<Worker, &Worker::step> delayed{this};

private:
	bool *gone_;
};

constexpr unsigned long kLong = 10 * HZ;

void work_runs(Case &t)
{
	bool gone = false;
	auto queue = Workqueue::create_ordered("cxxrt_selftest", WQ_MEM_RECLAIM);
	auto made = make_ref<Worker>(GFP_KERNEL, &gone);
	if (!queue.ok() || !made.ok())
		return t.skip("out of memory");
	Ref<Worker> worker = made.take();
	EXPECT(worker->work.queue(*queue));
	EXPECT(worker->ran.wait_for(kLong).ok());
	worker->work.flush();
	EXPECT(worker->runs == 1);
	EXPECT(!worker->work.cancel_sync());
}

void work_holds_its_owner(Case &t)
{
	bool gone = false;
	auto queue = Workqueue::create("cxxrt_selftest", 0);
	auto made = make_ref<Worker>(GFP_KERNEL, &gone);
	if (!queue.ok() || !made.ok())
		return t.skip("out of memory");
	Ref<Worker> worker = made.take();
	EXPECT(worker->ref_work.queue(*queue));
	worker.reset();
	queue->flush();
	EXPECT(gone);
}

void delayed_work(Case &t)
{
	bool gone = false;
	auto queue = Workqueue::create("cxxrt_selftest", 0);
	auto made = make_ref<Worker>(GFP_KERNEL, &gone);
	if (!queue.ok() || !made.ok())
		return t.skip("out of memory");
	Ref<Worker> worker = made.take();
	EXPECT(worker->delayed.queue_after(*queue, kLong));
	EXPECT(!worker->delayed.queue_after(*queue, 1));
	EXPECT(worker->delayed.cancel_sync());
	EXPECT(worker->runs == 0);
	EXPECT(worker->delayed.queue_after(*queue, kLong));
	worker->delayed.requeue_after(*queue, 1);
	EXPECT(worker->ran.wait_for(kLong).ok());
	worker->delayed.cancel_sync();
	EXPECT(worker->runs == 1);
}

void waiting(Case &t)
{
	WaitQueue queue(cxxrt::lock_class<"selftest wait">());
	bool ready = false;
	EXPECT(queue.wait_for(2, [&] { return ready; }).code() == -ETIMEDOUT);
	ready = true;
	queue.wake_all();
	EXPECT(queue.wait_for(2, [&] { return ready; }).ok());
	queue.wait([&] { return ready; });
	EXPECT(queue.wait_killable([&] { return ready; }).ok());

	Completion done;
	EXPECT(!done.done());
	EXPECT(done.wait_for(2).code() == -ETIMEDOUT);
	done.complete();
	EXPECT(done.done() && done.wait_for(2).ok());
	done.wait();
}

struct Leaver {
	explicit Leaver(Inflight *g) : gate(g) {}
	void leave()
	{
		left = true;
		gate->leave();
	}
	Inflight *gate;
	bool left = false;
	DelayedWork<Leaver, &Leaver::leave> later{this};
};

void closing_waits(Case &t)
{
	auto made = Inflight::create();
	auto queue = Workqueue::create("cxxrt_selftest", 0);
	if (!made.ok() || !queue.ok())
		return t.skip("out of memory");
	Box<Inflight> gate = made.take();
	auto leaver = make_box<Leaver>(GFP_KERNEL, gate.get());
	if (!leaver.ok())
		return t.skip("out of memory");
	EXPECT(gate->enter());
	EXPECT(gate->enter());
	gate->leave();
	leaver.value()->later.queue_after(*queue, 3);
	gate->close();
	EXPECT(leaver.value()->left);
	EXPECT(!gate->enter());
	leaver.value()->later.cancel_sync();
}

constexpr Test kWorkTests[] = {
    {"queued work runs once", work_runs},
    {"queued work keeps its owner alive", work_holds_its_owner},
    {"delayed work waits, moves and is cancelled", delayed_work},
    {"waits end by condition or by time", waiting},
    {"closing waits for the last user", closing_waits},
};

} // namespace

namespace selftest {
constinit const Suite work_suite("work", kWorkTests);
}
