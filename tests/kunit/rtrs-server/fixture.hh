// SPDX-License-Identifier: GPL-2.0
// Slots with a session, paths, connections and a user that belong to the case.
#pragma once

#include <rtrs/server/module.hh>
#include <rtrs/server/path.hh>
#include <rtrs/server/session.hh>
#include <rtrs/server/slot.hh>

#include "cases.h"
#include "threads.hh"

namespace server_testing {

using namespace cxxrt;
using namespace kunit_testing;
using namespace rtrs;
using namespace rtrs::server;

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

	// As a client does: user message, of that size from here on, then header, behind so much
	// data from the chunk's begin. Where the header is.
	u32 write_request(u32 slot, u16 type, u32 data = 0, u16 size = kMessage)
	{
		return data + write_message(session.chunks().data(slot) + data, type, size);
	}
	u32 write_message(u8 *to, u16 type, u16 size)
	{
		message_size = size;
		WriteHeader header = make_write_header(size);
		header.type = type;
		for (u32 i = 0; i < size; i++)
			to[i] = byte_of_message(i);
		memcpy(to + size, &header, sizeof(header));
		return size;
	}
	static u8 byte_of_message(u32 i) { return static_cast<u8>(1 + i * 7); }
	// As the handler of a receive does.
	bool arrive(u32 slot, u32 path, u32 offset = kMessage);
	// The first half of it, inside of the path.
	bool claim(u32 slot, u32 path);
	// The same, of a message and header in a capsule, which took back that key.
	bool arrive_by_capsule(u32 slot, u32 path, const u8 *capsule, usize message, usize size,
			       Rkey closed);
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
		const auto *message = static_cast<const u8 *>(r->msg);
		bool whole = r->msg_len == self->message_size;
		for (u32 i = 0; whole && i < r->msg_len; i++)
			whole = message[i] == byte_of_message(i);
		if (!whole || r->dir != RTRS_WRITE)
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
	const rtrs_srv_ops ops = {.op_size = sizeof(int),
				  .session_up = nullptr,
				  .session_down = nullptr,
				  .request = request};
	Session session{ops, this};
	Path paths[kPaths] = {Path(0), Path(1), Path(2)};
	ServerConnection connections[kPaths] = {
	    ServerConnection(paths[0]), ServerConnection(paths[1]), ServerConnection(paths[2])};
	Array<RequestSlot> slots;
	rtrs_srv_op *op_of[kSlots] = {};
	Answer answers[kSlots];
	bool answers_later = false; // by work items, at the same time as all else
	int at_user[kSlots] = {};   // requests of each slot that the user works on
	u32 requests = 0;
	u32 message_size = kMessage;
	u32 met = 0;	      // how often a path has come to a meeting
	u32 parted = 0;	      // and left it
	bool meeting = false; // no answer meanwhile
	int shared = 0;	      // a slot had two at a time
	int garbled = 0;      // not what the client wrote
};

// Set while a stress case runs, for Answer, which has only its operation.
extern Fixture *stressed;

inline Result<Box<Fixture>> make_fixture(bool always_invalidate = false)
{
	Box<Fixture> f = TRY(make_box<Fixture>(GFP_KERNEL, always_invalidate));
	TRY(f->prepare());
	return f;
}

} // namespace server_testing
