// SPDX-License-Identifier: GPL-2.0
// The server's slots as they are compiled into the module, slot.cc and request.cc, with paths and a
// user that belong to the case: who may work on a slot when, and that whoever came in leaves once.
#include <rtrs/server/module.hh>
#include <rtrs/server/path.hh>
#include <rtrs/server/session.hh>
#include <rtrs/server/slot.hh>

#include "cases.h"
#include "threads.hh"

using namespace cxxrt;
using namespace kunit_testing;
using namespace rtrs;
using namespace rtrs::server;

namespace rtrs::server {

constinit Module *module_ = nullptr;

void Path::refuse(Refusal why, const char *)
{
	module_->refusals.count(why);
	add(refused, 1);
	close();
}

// ---- the part of the slot that speaks to the device, in short ----

void RequestSlot::respond(int status, u32 produced)
{
	status_ = status;
	produced_ = produced;
	step_ = Step::Answer;
	begin_answer();
	owner_.con->post_slot(*this);
}

Status RequestSlot::post(Signal)
{
	return step_ == Step::Invalidate ? post_invalidate() : Status();
}

void ServerConnection::post_slot(RequestSlot &slot)
{
	// The slot is not touched after its invalidation was posted.
	const RequestSlot::Step step = slot.step();
	if (path_.closing() || !slot.post().ok()) {
		slot.dropped();
		return;
	}
	if (step != RequestSlot::Step::Answer)
		return;
	if (overtake)
		overtake(overtake_data);
	slot.answered();
}

// Work requests complete at once.
Status ServerConnection::post_send(ib_send_wr *first, ib_send_wr *, const ChainCost &, Signal)
{
	ib_wc wc{};
	wc.wr_cqe = first->wr_cqe;
	wc.status = path_.closing() ? IB_WC_WR_FLUSH_ERR : IB_WC_SUCCESS;
	wc.wr_cqe->done(nullptr, &wc);
	return {};
}

} // namespace rtrs::server

namespace {

constexpr u32 kPaths = 3;
constexpr u32 kSlots = 4;
constexpr u32 kMeetingRounds = 40;
constexpr int kMeetingTicks = 50;
constexpr u16 kMessage = 8;

struct Answer {
	void answer();
	rtrs_srv_op *op = nullptr;
	Work<Answer, &Answer::answer> work{this};
};

// Everything of one case: the user, the session, the paths.
class Fixture {
public:
	explicit Fixture(bool always_invalidate = false)
	{
		module.settings.always_invalidate = always_invalidate;
	}
	~Fixture()
	{
		users.reset();
		module.io.reset();
		module_ = nullptr;
	}

	Status prepare()
	{
		module.io = TRY(Workqueue::create("kunit_io", 0));
		users = TRY(Workqueue::create("kunit_user", WQ_UNBOUND));
		TRY(session.chunks().prepare(kSlots));
		for (Path &p : paths)
			TRY(p.prepare());
		slots = TRY(Array<RequestSlot>::create(kSlots));
		for (u32 i = 0; i < kSlots; i++) {
			slots[i].init(session, Slot{i}, &at_user[i]);
			write_request(i, static_cast<u16>(MessageType::Write));
		}
		module_ = &module;
		return {};
	}

	// As a client does: user message, then header, at the chunk's begin.
	void write_request(u32 slot, u16 type)
	{
		WriteHeader header = make_write_header(kMessage);
		header.type = type;
		memcpy(session.chunks().data(slot) + kMessage, &header, sizeof(header));
	}
	// As the handler of a receive does.
	bool arrive(u32 slot, u32 path)
	{
		if (!paths[path].enter())
			return false;
		slots[slot].arrive({&paths[path], &connections[path], ChunkOffset{kMessage}});
		return true;
	}
	// Waits for the other paths' threads, for a while: then all come to one slot, and the first
	// has no answer before the last has come. Without it that is rare on one CPU.
	void meet()
	{
		const u32 mine = __atomic_fetch_add(&met, 1u, __ATOMIC_SEQ_CST);
		if (mine % kPaths == kPaths - 1)
			WRITE_ONCE(meeting, true);
		for (int i = 0; READ_ONCE(met) / kPaths == mine / kPaths && i < kMeetingTicks; i++)
			schedule_timeout_uninterruptible(1);
	}
	void part()
	{
		if (__atomic_add_fetch(&parted, 1u, __ATOMIC_SEQ_CST) % kPaths == 0)
			WRITE_ONCE(meeting, false);
	}
	// The user answers what he was given.
	bool answer(u32 slot, int status = 0)
	{
		rtrs_srv_op *op = exchange(op_of[slot], static_cast<rtrs_srv_op *>(nullptr));
		if (!op)
			return false;
		leave_user(slot);
		static_cast<RequestSlot *>(op)->respond(status, 0);
		return true;
	}
	bool user_has(u32 slot) const { return op_of[slot] != nullptr; }
	void leave_user(u32 slot) { __atomic_sub_fetch(&at_user[slot], 1, __ATOMIC_SEQ_CST); }
	u32 slot_of(const void *area) const
	{
		return static_cast<u32>(static_cast<const int *>(area) - at_user);
	}

	u64 refusals(Refusal why) const { return module.refusals.get(why); }
	// Nobody is inside, and nobody left more often than he came.
	void expect_all_left(kunit *test)
	{
		for (Path &p : paths) {
			EXPECT_EQ(p.users(), 0);
			EXPECT_EQ(p.broken, 0);
		}
	}

	static void request(void *priv, const rtrs_srv_request *r)
	{
		auto *self = static_cast<Fixture *>(priv);
		const u32 slot = self->slot_of(r->area);
		__atomic_add_fetch(&self->requests, 1u, __ATOMIC_SEQ_CST);
		if (__atomic_add_fetch(&self->at_user[slot], 1, __ATOMIC_SEQ_CST) != 1)
			__atomic_add_fetch(&self->shared, 1, __ATOMIC_SEQ_CST);
		if (r->msg_len != kMessage || r->dir != RTRS_WRITE)
			__atomic_add_fetch(&self->garbled, 1, __ATOMIC_SEQ_CST);
		if (!self->answers_later) {
			self->op_of[slot] = r->op;
			return;
		}
		Answer &a = self->answers[slot];
		a.op = r->op;
		a.work.queue(self->users);
	}

	Module module;
	Workqueue users;
	static constexpr rtrs_srv_ops kOps = {.op_size = sizeof(int),
					      .session_up = nullptr,
					      .session_down = nullptr,
					      .request = request};
	Session session{kOps, this};
	Path paths[kPaths] = {Path(0), Path(1), Path(2)};
	ServerConnection connections[kPaths] = {
	    ServerConnection(paths[0]), ServerConnection(paths[1]), ServerConnection(paths[2])};
	Array<RequestSlot> slots;
	rtrs_srv_op *op_of[kSlots] = {};
	Answer answers[kSlots];
	bool answers_later = false; // by work items, at the same time as all else
	int at_user[kSlots] = {};   // requests of each slot that the user works on
	u32 requests = 0;
	u32 met = 0;	      // how often a path has come to a meeting
	u32 parted = 0;	      // and left it
	bool meeting = false; // no answer meanwhile
	int shared = 0;	      // a slot had two at a time
	int garbled = 0;      // not what the client wrote
};

// Set while a stress case runs, for Answer, which has only its operation.
constinit Fixture *stressed = nullptr;

void Answer::answer()
{
	// Now and then long enough for two more to come, and until all have come who meet.
	for (u32 i = stressed->requests % 8; i; i--)
		breathe();
	for (int i = 0; READ_ONCE(stressed->meeting) && i < kMeetingTicks; i++)
		schedule_timeout_uninterruptible(1);
	stressed->leave_user(static_cast<u32>(this - stressed->answers));
	static_cast<RequestSlot *>(op)->respond(0, 0);
}

Result<Box<Fixture>> make_fixture(bool always_invalidate = false)
{
	Box<Fixture> f = TRY(make_box<Fixture>(GFP_KERNEL, always_invalidate));
	TRY(f->prepare());
	return f;
}

} // namespace

CASE(slot_request_is_answered_and_leaves)
{
	for (int invalidate = 0; invalidate < 2; invalidate++) {
		auto made = make_fixture(invalidate);
		REQUIRE(made.ok());
		Fixture &f = **made;
		for (u32 n = 1; n <= 3; n++) {
			REQUIRE(f.arrive(1, 0));
			REQUIRE(f.user_has(1));
			EXPECT_EQ(f.paths[0].users(), 1);
			EXPECT(f.answer(1));
			EXPECT_EQ(f.paths[0].answered(), n);
			EXPECT_EQ(f.paths[0].users(), 0);
		}
		EXPECT_EQ(f.garbled, 0);
		f.expect_all_left(test);
	}
}

// The first one is still served; nobody waits for its answer then.
CASE(slot_second_request_closes_its_path)
{
	auto made = make_fixture();
	REQUIRE(made.ok());
	Fixture &f = **made;
	REQUIRE(f.arrive(0, 0));
	REQUIRE(f.arrive(0, 0));
	EXPECT(f.paths[0].closing());
	EXPECT_EQ(f.refusals(Refusal::SlotBusy), 1);
	EXPECT_EQ(f.requests, 1);
	EXPECT_EQ(f.paths[0].users(), 1);
	EXPECT(f.answer(0));
	EXPECT_EQ(f.paths[0].answered(), 0);
	f.expect_all_left(test);
	// Another path's requests are not concerned, on this slot and on others.
	REQUIRE(f.arrive(0, 1) && f.arrive(2, 1));
	EXPECT(f.answer(0) && f.answer(2));
	EXPECT_EQ(f.paths[1].answered(), 2);
	f.expect_all_left(test);
}

// The fence of failover.
CASE(slot_other_path_waits_for_the_first)
{
	auto made = make_fixture();
	REQUIRE(made.ok());
	Fixture &f = **made;
	REQUIRE(f.arrive(0, 0));
	REQUIRE(f.arrive(0, 1));
	f.module.io.flush();
	EXPECT_EQ(f.requests, 1);
	EXPECT_EQ(f.paths[1].users(), 1);
	EXPECT(f.answer(0));
	f.module.io.flush();
	EXPECT_EQ(f.requests, 2);
	EXPECT_EQ(f.paths[0].users(), 0);
	EXPECT_EQ(f.paths[0].answered(), 1);
	// The second has the slot now: what was the rule for the first, is the rule for it.
	REQUIRE(f.arrive(0, 1));
	EXPECT_EQ(f.refusals(Refusal::SlotBusy), 1);
	EXPECT(f.paths[1].closing());
	EXPECT(f.answer(0));
	f.expect_all_left(test);
}

CASE(slot_third_path_replaces_the_second)
{
	auto made = make_fixture();
	REQUIRE(made.ok());
	Fixture &f = **made;
	REQUIRE(f.arrive(0, 0) && f.arrive(0, 1) && f.arrive(0, 2));
	// The second is dropped unanswered, at once.
	EXPECT_EQ(f.refusals(Refusal::Superseded), 1);
	EXPECT_EQ(f.paths[1].users(), 0);
	EXPECT(!f.paths[1].closing());
	EXPECT(f.answer(0));
	f.module.io.flush();
	EXPECT_EQ(f.requests, 2);
	EXPECT(f.answer(0));
	EXPECT_EQ(f.paths[1].answered(), 0);
	EXPECT_EQ(f.paths[2].answered(), 1);
	f.expect_all_left(test);
}

// An answer can reach the client, and the client's next request this server, before the poster of
// the answer has come back.
CASE(slot_next_request_overtakes_the_end)
{
	auto made = make_fixture();
	REQUIRE(made.ok());
	Fixture &f = **made;
	struct Next {
		Fixture *f;
		int left;
		bool ok = true;
	} next{&f, 3};
	f.connections[0].overtake_data = &next;
	f.connections[0].overtake = [](void *data) {
		Next &n = *static_cast<Next *>(data);
		if (n.left-- > 0)
			n.ok &= n.f->arrive(0, 0);
	};
	REQUIRE(f.arrive(0, 0));
	for (int i = 0; i < 4; i++) {
		f.module.io.flush();
		REQUIRE(f.user_has(0));
		EXPECT(f.answer(0));
	}
	EXPECT(next.ok);
	EXPECT(!f.paths[0].closing());
	EXPECT_EQ(f.paths[0].answered(), 4);
	EXPECT_EQ(f.shared, 0);
	f.expect_all_left(test);
}

CASE(slot_forget_drops_what_is_parked)
{
	auto made = make_fixture();
	REQUIRE(made.ok());
	Fixture &f = **made;
	REQUIRE(f.arrive(0, 0) && f.arrive(0, 1));
	// Not the owner's, and not that of one who has nothing here.
	f.slots[0].forget(f.paths[0]);
	f.slots[0].forget(f.paths[2]);
	EXPECT_EQ(f.paths[0].users(), 1);
	EXPECT_EQ(f.paths[1].users(), 1);
	f.slots[0].forget(f.paths[1]);
	EXPECT_EQ(f.paths[1].users(), 0);
	f.slots[0].forget(f.paths[1]);
	EXPECT(f.answer(0));
	f.module.io.flush();
	EXPECT_EQ(f.requests, 1);
	f.expect_all_left(test);
}

CASE(slot_of_a_closing_path_is_not_served)
{
	for (int invalidate = 0; invalidate < 2; invalidate++) {
		auto made = make_fixture(invalidate);
		REQUIRE(made.ok());
		Fixture &f = **made;
		REQUIRE(f.arrive(0, 0) && f.arrive(0, 1));
		f.paths[0].close();
		f.paths[1].close();
		EXPECT(f.answer(0));
		f.module.io.flush();
		// It was parked when its path closed, and nobody forgot it: it begins and ends.
		EXPECT_EQ(f.requests, 1);
		EXPECT_EQ(f.paths[0].answered() + f.paths[1].answered(), 0);
		f.expect_all_left(test);
	}
}

CASE(slot_bad_headers_end_in_one_leave)
{
	auto made = make_fixture();
	REQUIRE(made.ok());
	Fixture &f = **made;
	f.write_request(0, 0x7777);
	REQUIRE(f.arrive(0, 0));
	EXPECT_EQ(f.refusals(Refusal::HeaderMalformed), 1);
	EXPECT(f.paths[0].closing());
	// A message longer than what stands before the header: refused, but with an answer.
	f.write_request(1, static_cast<u16>(MessageType::Write));
	REQUIRE(f.paths[1].enter());
	f.slots[1].arrive({&f.paths[1], &f.connections[1], ChunkOffset{kMessage - 4}});
	EXPECT(f.paths[1].answered() == 1 || f.paths[1].closing());
	EXPECT_EQ(f.requests, 0);
	f.expect_all_left(test);
}

namespace {

// Three paths send requests for the same few slots without asking each other, as no honest client
// does; one of them closes now and then, as the close work does it, and comes back. The user
// answers from threads of his own.
void stress(kunit *test, bool always_invalidate)
{
	// More than enough, but for a busy host that lets hardly ever two paths run side by side.
	constexpr u32 kRounds = 400, kMostRounds = 8000;
	auto made = make_fixture(always_invalidate);
	REQUIRE(made.ok());
	Fixture &f = **made;
	f.answers_later = true;
	stressed = &f;
	auto saw_all = [&] {
		return f.refusals(Refusal::SlotBusy) > 0 && f.refusals(Refusal::Superseded) > 0;
	};
	u32 arrivals[kPaths] = {};
	int stuck = 0;
	REQUIRE(side_by_side<kPaths>([&](unsigned int path) {
		u32 seed = 12345 + path;
		auto idle = [&] {
			for (int i = 0; f.paths[path].users() && i < 2000; i++)
				breathe();
			for (int i = 0; f.paths[path].users() && i < 1000; i++)
				schedule_timeout_uninterruptible(1);
			return !f.paths[path].users();
		};
		// Closed for a violation: drained, what waits is dropped, what runs is waited for.
		// Then a new path of that name.
		auto come_back = [&] {
			for (RequestSlot &s : f.slots)
				s.forget(f.paths[path]);
			if (!idle())
				return false;
			f.paths[path].reopen();
			return true;
		};
		for (u32 round = 0; round < kRounds || (round < kMostRounds && !saw_all());
		     round++) {
			seed = seed * 1664525 + 1013904223;
			bool meets = round % kMeetingRounds == 0;
			if (meets && f.paths[path].closing() && !come_back()) {
				stuck++;
				return;
			}
			meets = meets && idle();
			if (meets)
				f.meet();
			const bool arrived = f.arrive(meets ? 0 : seed >> 20 & (kSlots - 1), path);
			if (meets)
				f.part();
			if (arrived) {
				arrivals[path]++;
				if (seed >> 24 & 3)
					breathe();
				continue;
			}
			if (!come_back()) {
				stuck++;
				return;
			}
		}
	}));
	for (int i = 0; i < 4; i++) {
		f.users.flush();
		f.module.io.flush();
	}
	stressed = nullptr;
	EXPECT_EQ(stuck, 0);
	EXPECT_EQ(f.shared, 0);
	EXPECT_EQ(f.garbled, 0);
	for (u32 i = 0; i < kPaths; i++) {
		EXPECT(arrivals[i] > 0);
		EXPECT_EQ(f.paths[i].left, arrivals[i]);
	}
	// The case is worth something if it came to all of these.
	EXPECT(saw_all());
	EXPECT(f.paths[0].answered() + f.paths[1].answered() + f.paths[2].answered() > 0);
	f.expect_all_left(test);
}

} // namespace

CASE(slot_stress_without_invalidation)
{
	stress(test, false);
}

CASE(slot_stress_with_invalidation)
{
	stress(test, true);
}
