// SPDX-License-Identifier: GPL-2.0
// One slot of a session: the request that works on chunk i, whichever path it came by.
//
//	arrive() ── Start ──> begin() ──> [LOCAL_INV completes] ──> run() ──> user ──> respond()
//	   │                                       ──> room for the answer ──> let_go() ──> post
//	   └─ Park ──> waits for the let_go() of the other path's request ──> begin()
//
// From Start to let_go() exactly one request owns the slot and all fields below "of the owner"; its
// path stays alive because each accepted request is in the path's in-flight count, and the
// session and the slot because the path is. let_go() is the last thing that touches the slot on
// behalf of a request; who posts its answer leaves the path after that. Slots live as long as their
// session.
#pragma once

#include <cxxrt/fifo.hh>
#include <cxxrt/lock.hh>
#include <cxxrt/work.hh>
#include <rtrs/core/connection.hh>
#include <rtrs/pure/slot_state.hh>
#include <rtrs/rtrs.h>
#include <rtrs/server/answer_wrs.hh>
#include <rtrs/server/refusals.hh>
#include <rtrs/wire/capsule.hh>

// The opaque handle of rtrs.h is the base of the object behind it.
struct rtrs_srv_op {};

namespace rtrs::server {

class Path;
class ServerConnection;
class Session;

class alignas(cxxrt::kCacheLine) RequestSlot : public rtrs_srv_op {
public:
	RequestSlot() : start_(this) {}
	RequestSlot(const RequestSlot &) = delete;
	RequestSlot &operator=(const RequestSlot &) = delete;

	// Before any path exists.
	void init(Session &session, Slot slot, void *area);

	// What a handler of receives found. The caller has entered the path.
	struct Arrival {
		Path *path = nullptr;
		ServerConnection *con = nullptr;
		ChunkOffset offset = {0};
		// By capsule (protocol J.2), where else the message lies in the chunk: the length
		// of the user message and of all, and the key that it took back.
		u8 message_size = 0;
		u8 capsule_size = 0;
		Rkey closed{};
	};
	// Work-queue context of a completion handler. Either the request begins, or it is parked,
	// or the path is closed for breaking the rule of slots; in any case the caller is done with
	// it. `capsule`: user message and header, arrival.capsule_size bytes, which are copied, in
	// a buffer of kCapsuleRoom. In arrival.hh.
	enum : u32 { kCapsuleRoom = kMaxCapsule - sizeof(RequestCapsule) };
	void arrive(Path &path, const Arrival &arrival, const u8 *capsule = nullptr);
	// The same in two parts. claim(): true if it begins, which start() does, or dropped() ends
	// it; what `capsule` points to is not needed any more.
	bool claim(const Path &path, const Arrival &arrival, const u8 *capsule = nullptr);
	void start(Path &path, const Arrival &arrival);

	// `path` is closing and drained: drops its parked request, if there is one. Afterwards none
	// of its requests is on its way to the user, and the slot does not know its tag any more.
	// May sleep, as long as the user's request() does.
	void forget(Path &path);

	// Whether a request of that path has the slot, or waits for it. Any context.
	bool concerns(PathTag path) const
	{
		const SlotWord now = word_.word();
		return slot_owned(now, path) || slot_awaited(now, path);
	}

	// The user's answer. Any context.
	void respond(int status, u32 produced);
	// The same, inlined; in respond.cc only.
	void answer(int status, u32 produced);
	// Whether nobody waits for it. While the user has the request.
	bool is_dead() const;

	// What a connection does next for this slot when its send queue has room.
	enum class Step : u8 {
		Invalidate, // LOCAL_INV of the chunk's key, before the request is looked at
		Answer,
	};
	Step step() const { return step_; }
	// Posts that; EAGAIN: there is no room, and nothing has changed. The caller has checked
	// Path::may_post(). An answer's slot is somebody else's afterwards, also after another
	// error; who calls this leaves the path. `signal`: of an answer; an invalidation always has
	// a completion.
	Status post(Signal signal = Signal::WhenDue);
	// Makes a LOCAL_INV one of the chunk; its completion comes to
	// ServerConnection::on_invalidated(). In arrival.hh.
	void set_invalidation(ib_send_wr &wr);
	// The chunk is invalidated. Process context. resume() is the same, in line (arrival.hh).
	void run();
	void resume();
	// The work requests of the answer, over a connection of `path`; `parts`: which of them it
	// needs. Formatted: they are already. kRegisters: it gives the chunk a new key, as with
	// always_invalidate. `guarded_before`: see Registration. In respond.cc only.
	enum class Wrs : u8 { Raw, Formatted };
	template <Wrs kWrs, bool kRegisters>
	void make_answer(AnswerWrs &wrs, ServerConnection &con, Path &path, bool guarded_before,
			 AnswerParts &parts);
	// Posts it alone. EAGAIN: no room. In respond.cc only.
	template <bool kRegisters> Status post_alone(Signal signal);
	// For the tracepoint of it.
	AnswerEvent answer_event() const
	{
		return {slot_, header_.direction == Direction::Write, status_};
	}
	// Room for the answer is reserved: from here on the slot is the next request's. Any
	// context.
	void let_go()
	{
		if (!word_.end(owned_)) [[unlikely]]
			hand_over();
	}
	// The step will never be posted: lets go of the slot, and leaves the path.
	void dropped();

	// In a queue of the connection: of those that wait for room, or for their turn.
	cxxrt::FifoNode<RequestSlot> pending;

private:
	struct InvalidateCqe {
		ib_cqe cqe;
		RequestSlot *slot;
	};

	// Of a message this long or shorter, as those of block requests are, message and header are
	// one copy of a length that the compiler knows.
	enum : u32 { kShortMessage = 32, kShortRequest = kShortMessage + kMaxIoHeaderSize };

	// Of a buffer of kCapsuleRoom; may copy more than `size`.
	static void copy_capsule(u8 *to, const u8 *from, u32 size)
	{
		if (size <= kShortRequest) [[likely]]
			__builtin_memcpy(to, from, kShortRequest);
		else
			__builtin_memcpy(to, from, kCapsuleRoom);
	}
	void own(const Arrival &arrival, OwnedSlot owned, const u8 *capsule)
	{
		// Each by itself: as a whole they would go through memory.
		owner_.path = arrival.path;
		owner_.con = arrival.con;
		owner_.offset = arrival.offset;
		owner_.capsule_size = arrival.capsule_size;
		owned_ = owned;
		if (!capsule)
			return;
		owner_.message_size = arrival.message_size;
		owner_.closed = arrival.closed;
		copy_capsule(capsule_, capsule, arrival.capsule_size);
	}
	bool arrive_at_busy(const Arrival &arrival, const u8 *capsule);
	void hand_over();
	void begin();
	bool must_invalidate() const;
	void invalidate();
	void parse_and_dispatch(Path &path, u32 capsule_size);
	ByteView copy_request(Path &path, bool &whole);
	const u8 *copy_long_message();
	void hand_to_user(Path &path, const u8 *message);
	void answer_error(Error e);
	void give_up(Refusal why, const char *detail);
	Status post_invalidate();
	Status post_answer(Signal signal);
	static void invalidated(ib_cq *cq, ib_wc *wc);

	// Members in the order of use, so that a request touches few cache lines (bench/README.md,
	// "Memory and lines"): `pending` and the fixed ones are the first line, the owner's are the
	// second, a copied header begins a third. What follows is touched rarely, but for
	// invalidate_cqe_ (with always_invalidate) and capsule_ (of a request that comes by one).

	// Fixed.
	Session *session_ = nullptr;
	u8 *data_ = nullptr;	// its chunk
	page *pages_ = nullptr; // of that
	void *area_ = nullptr;
	Slot slot_ = {0};

	ServerSlot word_; // what concerns a waiter changes under lock_
	cxxrt::SpinLock lock_{cxxrt::lock_class<"rtrs_slot">()};

	// Of the owner.
	OwnedSlot owned_{}; // the word, if nobody waits
	Step step_ = Step::Invalidate;
	int status_ = 0;
	Arrival owner_;
	IoHeader header_ = {}; // empty if what came is no valid one
	u32 produced_ = 0;
	u8 request_[kShortRequest]; // message and header, or the header alone, at its end ...
	InvalidateCqe invalidate_cqe_ = {};
	cxxrt::Work<RequestSlot, &RequestSlot::begin> start_;
	u8 capsule_[kCapsuleRoom];	// ... if they did not come by one, in here
	u8 message_[RTRS_MAX_USER_MSG]; // if it is not in one of those

	// Under lock_, and valid if the word has a waiter.
	Arrival parked_;
	u8 parked_capsule_[kCapsuleRoom];
};

constexpr RequestSlot::Step kSteps[] = {RequestSlot::Step::Invalidate, RequestSlot::Step::Answer};
// Of what is kept by step.
constexpr u32 index(RequestSlot::Step step)
{
	return static_cast<u32>(step);
}

} // namespace rtrs::server
