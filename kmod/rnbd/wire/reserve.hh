// SPDX-License-Identifier: GPL-2.0
// RESERVE: persistent reservations of a device (protocol D.5). Pure. What they mean is in
// rnbd/pure/reservations.hh.
#pragma once

#include <rnbd/wire/messages.hh>
#include <rnbd/wire/units.hh>

namespace rnbd {

// In Linux's numbers (enum pr_type).
enum class ReservationType : u8 {
	None = 0, // the device is not reserved
	WriteExclusive = 1,
	ExclusiveAccess = 2,
	WriteExclusiveRegistrants = 3,
	ExclusiveAccessRegistrants = 4,
	WriteExclusiveAll = 5,
	ExclusiveAccessAll = 6,
};

enum class ReserveOperation : u8 {
	Register = 1,
	Reserve = 2,
	Release = 3,
	Preempt = 4,
	PreemptAndAbort = 5,
	Clear = 6,
	ReadKeys = 7,
	ReadReservation = 8,
};

// Operations that only tell.
constexpr bool only_reads(ReserveOperation op)
{
	return op == ReserveOperation::ReadKeys || op == ReserveOperation::ReadReservation;
}

// A read.
struct ReserveQuestion {
	MessageHeader header;
	Le32 device_id;
	Le64 serial;
	Le64 key;
	Le64 second_key;
	u8 operation;
	u8 type;
	Le16 flags;
	Le32 reserved;

	enum : u16 { kIgnoreKey = 1u << 0 };
};
static_assert(sizeof(ReserveQuestion) == 40);
static_assert(__builtin_offsetof(ReserveQuestion, serial) == 8);
static_assert(__builtin_offsetof(ReserveQuestion, key) == 16);
static_assert(__builtin_offsetof(ReserveQuestion, second_key) == 24);
static_assert(__builtin_offsetof(ReserveQuestion, operation) == 32);
static_assert(__builtin_offsetof(ReserveQuestion, type) == 33);
static_assert(__builtin_offsetof(ReserveQuestion, flags) == 34);
static_assert(__builtin_offsetof(ReserveQuestion, reserved) == 36);

struct ReserveResponse {
	MessageHeader header;
	Le32 generation;
	u8 type;
	u8 reserved[3];
	Le32 count; // keys (Le64) behind this structure
	Le64 holder;
};
static_assert(sizeof(ReserveResponse) == 24);
static_assert(__builtin_offsetof(ReserveResponse, generation) == 4);
static_assert(__builtin_offsetof(ReserveResponse, type) == 8);
static_assert(__builtin_offsetof(ReserveResponse, count) == 12);
static_assert(__builtin_offsetof(ReserveResponse, holder) == 16);

constexpr usize kMaxReserveKeysSize = 4096;
constexpr usize kMaxReserveKeys = (kMaxReserveKeysSize - sizeof(ReserveResponse)) / sizeof(Le64);

// The room that the answer needs, at most.
constexpr usize reserve_answer_size(ReserveOperation op)
{
	return op == ReserveOperation::ReadKeys ? kMaxReserveKeysSize : sizeof(ReserveResponse);
}

// One operation, as it is asked for.
struct ReserveRequest {
	ReserveOperation operation;
	ReservationType type; // None where the operation has none
	bool ignore_key;      // REGISTER: whatever key is registered
	u64 serial;	      // of who asks: the same when he asks again, never 0
	u64 key;	      // his own; REGISTER: the one that is registered
	u64 second_key;	      // REGISTER: the new one; PREEMPT: that of the victims
};

constexpr bool is_reservation_type(u8 number)
{
	return number >= static_cast<u8>(ReservationType::WriteExclusive) &&
	       number <= static_cast<u8>(ReservationType::ExclusiveAccessAll);
}

namespace detail {
// Whether the fields that the operation does not have are zero, and the others can be meant.
constexpr bool makes_sense(const ReserveRequest &r, u8 type)
{
	switch (r.operation) {
	case ReserveOperation::Register:
		return !type;
	case ReserveOperation::Reserve:
	case ReserveOperation::Release:
		return is_reservation_type(type) && !r.second_key && !r.ignore_key;
	case ReserveOperation::Preempt:
	case ReserveOperation::PreemptAndAbort:
		return is_reservation_type(type) && !r.ignore_key;
	case ReserveOperation::Clear:
		return !type && !r.second_key && !r.ignore_key;
	case ReserveOperation::ReadKeys:
	case ReserveOperation::ReadReservation:
		return !type && !r.key && !r.second_key && !r.ignore_key;
	}
	return false; // of no operation
}
} // namespace detail

constexpr ReserveQuestion make_reserve(DeviceId id, const ReserveRequest &r)
{
	ReserveQuestion m{};
	m.header = MessageHeader::of(MessageType::Reserve);
	m.device_id = id.value;
	m.serial = r.serial;
	m.key = r.key;
	m.second_key = r.second_key;
	m.operation = static_cast<u8>(r.operation);
	m.type = static_cast<u8>(r.type);
	m.flags = r.ignore_key ? u16{ReserveQuestion::kIgnoreKey} : u16{0};
	return m;
}

struct ReserveMessage {
	DeviceId device;
	ReserveRequest request;
};

// Server side. EMSGSIZE, EINVAL for another type, a write, an operation, type or flag that there is
// not, a serial of 0, or a field that the operation does not have and is not 0.
inline Result<ReserveMessage> parse_reserve(ByteView message, Transfer transfer)
{
	Result<ReserveQuestion> m = message.read<ReserveQuestion>();
	if (!m.ok())
		return m.error();
	if (!m->header.is(MessageType::Reserve) || !transfer.is_read())
		return err::einval;
	const u16 flags = m->flags.get();
	const ReserveRequest r{
	    .operation = static_cast<ReserveOperation>(m->operation),
	    .type = static_cast<ReservationType>(m->type),
	    .ignore_key = (flags & ReserveQuestion::kIgnoreKey) != 0,
	    .serial = m->serial.get(),
	    .key = m->key.get(),
	    .second_key = m->second_key.get(),
	};
	if ((flags & ~u32{ReserveQuestion::kIgnoreKey}) || m->reserved.get() || !r.serial ||
	    !detail::makes_sense(r, m->type))
		return err::einval;
	if (transfer.size < reserve_answer_size(r.operation))
		return err::emsgsize;
	return ReserveMessage{{m->device_id.get()}, r};
}

// What an answer tells of the device, beside the keys.
struct ReservationState {
	u32 generation;
	ReservationType type;
	u64 holder; // its key; 0 if there is none, or all registrants are
};

constexpr ReserveResponse make_reserve_response(const ReservationState &state, u32 keys)
{
	ReserveResponse m{};
	m.header = MessageHeader::of(MessageType::ReserveResponse);
	m.generation = state.generation;
	m.type = static_cast<u8>(state.type);
	m.count = keys;
	m.holder = state.holder;
	return m;
}

// Client side: an answer that can be read.
class ReserveView {
public:
	// EMSGSIZE, EINVAL for another type, a reservation that there is not, a holder of none,
	// more keys than the answer holds or than were asked for, or a key that is 0.
	static Result<ReserveView> parse(ByteView answer, ReserveOperation asked)
	{
		Result<ReserveResponse> m = answer.read<ReserveResponse>();
		if (!m.ok())
			return m.error();
		const u32 count = m->count.get();
		const u32 most = asked == ReserveOperation::ReadKeys ? kMaxReserveKeys : 0;
		if (!m->header.is(MessageType::ReserveResponse) || count > most ||
		    (m->type && !is_reservation_type(m->type)) || (!m->type && m->holder.get()))
			return err::einval;
		Result<ByteView> keys = answer.slice(sizeof(ReserveResponse), count * sizeof(Le64));
		if (!keys.ok())
			return keys.error();
		ReserveView view(keys.value(), count,
				 {.generation = m->generation.get(),
				  .type = static_cast<ReservationType>(m->type),
				  .holder = m->holder.get()});
		for (u32 i = 0; i < count; i++)
			if (!view.key(i))
				return err::einval;
		return view;
	}

	const ReservationState &state() const { return state_; }
	u32 count() const { return count_; }
	u64 key(u32 i) const { return cxxrt::load<Le64>(keys_.data() + i * sizeof(Le64)).get(); }

private:
	ReserveView(ByteView keys, u32 count, const ReservationState &state)
	    : keys_(keys), count_(count), state_(state)
	{
	}

	ByteView keys_;
	u32 count_;
	ReservationState state_;
};

} // namespace rnbd
