// SPDX-License-Identifier: GPL-2.0
// Connection requests between the connection manager and who serves them, by requests.cc as it is
// in the module. The connection manager is the case's thread; who serves takes his time.
#include <rtrs/server/module.hh>
#include <rtrs/server/requests.hh>

#include <cxxrt/wait.hh>

#include "cases.h"
#include "threads.hh"

using namespace cxxrt;
using namespace kunit_testing;
using namespace rtrs;
using namespace rtrs::server;

namespace requests_testing {
namespace {

constexpr u32 kIds = kWaitingRequestsPerHost + 8;
constexpr unsigned kSlowMs = 50;

struct Id : rdma_cm_id {
	Id() : rdma_cm_id{} {}

	Mutex handler{cxxrt::lock_class<"kunit_handler">()};
	u8 host = 0;
	u32 place = 0; // in the order of its host
	int served = 0;
	int destroyed = 0;
};

struct RequestsCase {
	RequestsCase() { module_ = &module; }
	~RequestsCase()
	{
		module.strangers.reset();
		module.known_hosts.reset();
		module_ = nullptr;
	}

	Status prepare()
	{
		module.strangers =
		    TRY(Workqueue::create("kunit_strangers", WQ_UNBOUND, kStrangersServedAtOnce));
		module.known_hosts = TRY(Workqueue::create("kunit_known", WQ_UNBOUND));
		ids = TRY(Array<Id>::create(kIds));
		return {};
	}

	// As the handler of a request does.
	Status come(Id &id, u8 host, bool stranger = true)
	{
		static constexpr u8 kMessage[kPrivateDataSize] = {1, 2, 3};
		Source source = {};
		source.bytes[0] = host;
		id.host = host;
		id.place = come_[host]++;
		rdma_conn_param param{};
		param.private_data = kMessage;
		param.private_data_len = sizeof(kMessage);
		param.qp_num = host;
		LockGuard<Mutex> held(id.handler);
		return requests.take(&id, param, source, stranger);
	}
	static int tell(Id &id, rdma_cm_event_type type)
	{
		rdma_cm_event event{};
		event.event = type;
		LockGuard<Mutex> held(id.handler);
		return id.event_handler(&id, &event);
	}
	static int heard(rdma_cm_id *id, rdma_cm_event *)
	{
		__atomic_fetch_add(static_cast<int *>(id->context), 1, __ATOMIC_RELAXED);
		return 0;
	}

	static Status serve(void *self, rdma_cm_id *id, const rdma_conn_param &param)
	{
		return static_cast<RequestsCase *>(self)->serve_one(*static_cast<Id *>(id), param);
	}
	Status serve_one(Id &id, const rdma_conn_param &param)
	{
		const auto *message = static_cast<const u8 *>(param.private_data);
		const bool whole = param.private_data_len == kPrivateDataSize && message[0] == 1 &&
				   message[2] == 3 && param.qp_num == id.host;
		if (!whole ||
		    id.place != __atomic_fetch_add(&served_[id.host], 1u, __ATOMIC_RELAXED))
			__atomic_fetch_add(&broken, 1, __ATOMIC_RELAXED);
		const int at_once = __atomic_add_fetch(&inside_[id.host], 1, __ATOMIC_RELAXED);
		if (at_once != 1)
			__atomic_fetch_add(&broken, 1, __ATOMIC_RELAXED);
		if (id.host == held_host) {
			holds.complete();
			released.wait();
		}
		if (slow)
			msleep(kSlowMs);
		Status s;
		if (hands_over)
			s = Requests::hand_over(&id, &events, heard);
		__atomic_fetch_sub(&inside_[id.host], 1, __ATOMIC_RELAXED);
		WRITE_ONCE(id.served, id.served + 1);
		__atomic_fetch_add(&served, 1u, __ATOMIC_RELEASE);
		// Without a new owner it is refused.
		return hands_over ? s : Status(err::econnreset);
	}
	static bool await_end(Id &id)
	{
		for (unsigned long end = jiffies + kLong; time_before(jiffies, end);) {
			if (READ_ONCE(id.destroyed))
				return true;
			schedule_timeout_uninterruptible(1);
		}
		return false;
	}
	bool await_served(u32 count)
	{
		for (unsigned long end = jiffies + kLong; time_before(jiffies, end);) {
			if (__atomic_load_n(&served, __ATOMIC_ACQUIRE) >= count)
				return true;
			schedule_timeout_uninterruptible(1);
		}
		return false;
	}

	Module module;
	Array<Id> ids;
	Requests requests{serve, this};
	u32 served = 0;
	int broken = 0; // out of order, beside another of its host, or not what was said
	int events = 0; // that came to the new owner
	bool slow = false;
	bool hands_over = false;
	int held_host = -1; // whose requests are served when the case says so
	Completion holds, released;

private:
	u32 come_[256] = {};
	u32 served_[256] = {};
	int inside_[256] = {};
};

Result<Box<RequestsCase>> make_requests_case()
{
	Box<RequestsCase> f = TRY(make_box<RequestsCase>(GFP_KERNEL));
	TRY(f->prepare());
	return f;
}

} // namespace
} // namespace requests_testing

// ---- the connection manager ----

CXXRT_FOR_C void rdma_lock_handler(rdma_cm_id *id)
{
	(void)static_cast<requests_testing::Id *>(id)->handler.acquire();
}

CXXRT_FOR_C void rdma_unlock_handler(rdma_cm_id *id)
{
	static_cast<requests_testing::Id *>(id)->handler.release(0);
}

CXXRT_FOR_C void rdma_destroy_id(rdma_cm_id *id)
{
	auto *own = static_cast<requests_testing::Id *>(id);
	LockGuard<Mutex> held(own->handler);
	own->destroyed++;
}

using requests_testing::Id;
using requests_testing::kSlowMs;
using requests_testing::make_requests_case;
using requests_testing::RequestsCase;

CASE(requests_of_a_host_keep_their_order)
{
	auto made = make_requests_case();
	REQUIRE(made.ok());
	RequestsCase &f = **made;
	constexpr u32 kCount = 60;
	for (u32 i = 0; i < kCount; i++) {
		REQUIRE(f.come(f.ids[i], static_cast<u8>(i % 3)).ok());
		if (i % 7 == 0)
			breathe();
	}
	EXPECT(f.await_served(kCount));
	f.requests.stop();
	EXPECT_EQ(f.broken, 0);
	for (u32 i = 0; i < kCount; i++) {
		EXPECT_EQ(f.ids[i].served, 1);
		EXPECT_EQ(f.ids[i].destroyed, 1);
	}
}

CASE(requests_of_a_slow_host_hold_up_none)
{
	auto made = make_requests_case();
	REQUIRE(made.ok());
	RequestsCase &f = **made;
	f.held_host = 1;
	REQUIRE(f.come(f.ids[0], 1).ok());
	REQUIRE(f.come(f.ids[1], 1).ok());
	REQUIRE(f.holds.wait_for(kLong).ok());
	REQUIRE(f.come(f.ids[2], 2).ok());
	REQUIRE(f.come(f.ids[3], 3, false).ok());
	EXPECT(f.await_served(2));
	EXPECT_EQ(f.ids[2].served, 1);
	EXPECT_EQ(f.ids[3].served, 1);
	EXPECT_EQ(f.ids[0].served, 0);
	f.released.complete();
	f.requests.stop();
	EXPECT_EQ(f.ids[0].destroyed, 1);
	EXPECT_EQ(f.ids[1].destroyed, 1);
	EXPECT_EQ(f.broken, 0);
}

// All of the work items that strangers have are busy.
CASE(requests_of_the_known_pass_strangers)
{
	auto made = make_requests_case();
	REQUIRE(made.ok());
	RequestsCase &f = **made;
	f.slow = true;
	constexpr u32 kStrangers = kStrangersServedAtOnce + 40;
	for (u32 i = 0; i < kStrangers; i++)
		for (u32 n = 0; n < 4; n++)
			REQUIRE(f.come(f.ids[4 * i + n], static_cast<u8>(i)).ok());
	Id &known = f.ids[4 * kStrangers];
	REQUIRE(f.come(known, 255, false).ok());
	const unsigned long begun = jiffies;
	while (!READ_ONCE(known.served) && time_before(jiffies, begun + kLong))
		schedule_timeout_uninterruptible(1);
	EXPECT_EQ(known.served, 1);
	// Strangers had some, and not nearly all of theirs.
	EXPECT(__atomic_load_n(&f.served, __ATOMIC_RELAXED) < 3 * kStrangers);
	f.requests.stop();
	EXPECT_EQ(f.broken, 0);
}

CASE(requests_whose_client_is_gone_end)
{
	auto made = make_requests_case();
	REQUIRE(made.ok());
	RequestsCase &f = **made;
	f.held_host = 1;
	for (u32 i = 0; i < 4; i++)
		REQUIRE(f.come(f.ids[i], 1).ok());
	REQUIRE(f.holds.wait_for(kLong).ok());
	// A result would have the connection manager destroy the id.
	EXPECT_EQ(RequestsCase::tell(f.ids[1], RDMA_CM_EVENT_REJECTED), 0);
	EXPECT_EQ(RequestsCase::tell(f.ids[2], RDMA_CM_EVENT_DEVICE_REMOVAL), 0);
	EXPECT_EQ(RequestsCase::tell(f.ids[2], RDMA_CM_EVENT_DISCONNECTED), 0);
	EXPECT_EQ(f.ids[1].destroyed, 0);
	f.held_host = -1;
	f.released.complete();
	EXPECT(RequestsCase::await_end(f.ids[3]));
	EXPECT_EQ(f.ids[0].served, 1);
	EXPECT_EQ(f.ids[1].served, 0);
	EXPECT_EQ(f.ids[2].served, 0);
	EXPECT_EQ(f.ids[3].served, 1);
	for (u32 i = 0; i < 4; i++)
		EXPECT_EQ(f.ids[i].destroyed, 1);
}

CASE(requests_are_handed_over_once)
{
	auto made = make_requests_case();
	REQUIRE(made.ok());
	RequestsCase &f = **made;
	f.held_host = 1;
	f.hands_over = true;
	REQUIRE(f.come(f.ids[0], 1).ok());
	REQUIRE(f.holds.wait_for(kLong).ok());
	// The client goes while its request is served: the id stays the request's.
	EXPECT_EQ(RequestsCase::tell(f.ids[0], RDMA_CM_EVENT_REJECTED), 0);
	f.held_host = -1;
	f.released.complete();
	EXPECT(RequestsCase::await_end(f.ids[0]));
	EXPECT_EQ(f.ids[0].destroyed, 1);
	EXPECT_EQ(f.events, 0);
	// Otherwise it is the new owner's, with its events.
	REQUIRE(f.come(f.ids[1], 1).ok());
	EXPECT(f.await_served(2));
	EXPECT_EQ(f.ids[1].served, 1);
	EXPECT_EQ(f.ids[1].destroyed, 0);
	EXPECT_EQ(RequestsCase::tell(f.ids[1], RDMA_CM_EVENT_ESTABLISHED), 0);
	EXPECT_EQ(f.events, 1);
	f.requests.stop();
	EXPECT_EQ(f.ids[1].destroyed, 0);
}

CASE(requests_have_a_bound)
{
	auto made = make_requests_case();
	REQUIRE(made.ok());
	RequestsCase &f = **made;
	f.held_host = 1;
	REQUIRE(f.come(f.ids[0], 1, false).ok());
	REQUIRE(f.holds.wait_for(kLong).ok());
	u32 taken = 0;
	while (taken < kWaitingRequestsPerHost + 4 && f.come(f.ids[1 + taken], 1, false).ok())
		taken++;
	EXPECT_EQ(taken, kWaitingRequestsPerHost);
	// Who is dropped stays the connection manager's.
	EXPECT(!f.ids[1 + taken].context);
	EXPECT(f.come(f.ids[2 + taken], 2).ok());
	f.released.complete();
	f.requests.stop();
	EXPECT_EQ(f.ids[1 + taken].destroyed, 0);
	EXPECT_EQ(f.ids[taken].destroyed, 1);
	EXPECT_EQ(f.ids[2 + taken].destroyed, 1);
}

// However many have come.
CASE(requests_free_their_places)
{
	auto made = make_requests_case();
	REQUIRE(made.ok());
	RequestsCase &f = **made;
	constexpr u32 kAtOnce = 1000;
	constexpr int kRounds = kWaitingRequests / kAtOnce + 2;
	for (int round = 1; round <= kRounds; round++) {
		for (u32 i = 0; i < kAtOnce; i++)
			REQUIRE(f.come(f.ids[i], static_cast<u8>(i % 100)).ok());
		const unsigned long begun = jiffies;
		for (u32 i = 0; i < kAtOnce; i++)
			while (READ_ONCE(f.ids[i].destroyed) != round &&
			       time_before(jiffies, begun + kLong))
				schedule_timeout_uninterruptible(1);
		for (u32 i = 0; i < kAtOnce; i++)
			REQUIRE(f.ids[i].destroyed == round);
	}
	EXPECT_EQ(f.broken, 0);
	f.requests.stop();
}

CASE(requests_end_with_the_server)
{
	auto made = make_requests_case();
	REQUIRE(made.ok());
	RequestsCase &f = **made;
	f.held_host = 1;
	constexpr u32 kCount = 20;
	for (u32 i = 0; i < kCount; i++)
		REQUIRE(f.come(f.ids[i], 1).ok());
	REQUIRE(f.holds.wait_for(kLong).ok());
	{
		Thread stops([&] { f.requests.stop(); });
		REQUIRE(stops.start(0));
		schedule_timeout_uninterruptible(HZ / 10);
		EXPECT(!stops.done());
		f.released.complete();
		EXPECT(stops.wait_done().ok());
	}
	EXPECT_EQ(f.served, 1);
	for (u32 i = 0; i < kCount; i++)
		EXPECT_EQ(f.ids[i].destroyed, 1);
}

// 64 clients come back at once, with some connections each, to a device that takes 50 ms for each
// of these: a minute, one after the other.
CASE(requests_of_a_storm_are_served)
{
	auto made = make_requests_case();
	REQUIRE(made.ok());
	RequestsCase &f = **made;
	f.slow = true;
	constexpr u32 kClients = 64;
	constexpr u32 kConnections = 16;
	static_assert(kClients * kConnections < requests_testing::kIds);
	const unsigned long begun = jiffies;
	for (u32 n = 0; n < kConnections; n++)
		for (u32 i = 0; i < kClients; i++)
			REQUIRE(f.come(f.ids[n * kClients + i], static_cast<u8>(i)).ok());
	EXPECT(f.await_served(kClients * kConnections));
	const unsigned long took = jiffies - begun;
	EXPECT(took >= msecs_to_jiffies(kConnections * kSlowMs));
	EXPECT(took < msecs_to_jiffies(kClients * kConnections * kSlowMs / 4));
	f.requests.stop();
	EXPECT_EQ(f.broken, 0);
}
