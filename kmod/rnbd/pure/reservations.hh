// SPDX-License-Identifier: GPL-2.0
// Persistent reservations of one disk, as SPC-4 has them, with clients for I_T nexuses: who is
// registered by which key, who has reserved it, and what is refused to whom (protocol D.5). Pure.
//
// The storage is bounded and lies in the object, which is copied as a whole: an operation is tried
// on a copy. Whoever owns it serialises all calls.
#pragma once

#include <rnbd/wire/reserve.hh>
#include <rnbd/wire/units.hh>

namespace rnbd {

// A client, as long as it keeps its names: that of its session, and that of the key which it has
// proven, or "".
struct Nexus {
	TextView session;
	TextView key;

	constexpr bool operator==(const Nexus &o) const
	{
		return session == o.session && key == o.key;
	}
};

// What is refused to somebody: a set of these.
namespace refusal {
constexpr u8 none = 0;
constexpr u8 reads = 1u << 0;
constexpr u8 writes = 1u << 1; // and all else that is no read
} // namespace refusal

constexpr bool for_all_registrants(ReservationType t)
{
	return t == ReservationType::WriteExclusiveAll || t == ReservationType::ExclusiveAccessAll;
}

constexpr bool for_registrants(ReservationType t)
{
	return for_all_registrants(t) || t == ReservationType::WriteExclusiveRegistrants ||
	       t == ReservationType::ExclusiveAccessRegistrants;
}

// What it refuses to those whom it is against.
constexpr u8 refuses(ReservationType t)
{
	switch (t) {
	case ReservationType::None:
		break;
	case ReservationType::WriteExclusive:
	case ReservationType::WriteExclusiveRegistrants:
	case ReservationType::WriteExclusiveAll:
		return refusal::writes;
	case ReservationType::ExclusiveAccess:
	case ReservationType::ExclusiveAccessRegistrants:
	case ReservationType::ExclusiveAccessAll:
		return refusal::reads | refusal::writes;
	}
	return refusal::none;
}

// What keeps other servers out of the disk as the clients of this one are kept out, and lets this
// one do what it has found allowed.
constexpr ReservationType mirrored(ReservationType t)
{
	if (t == ReservationType::None)
		return t;
	return refuses(t) == refusal::writes ? ReservationType::WriteExclusiveRegistrants
					     : ReservationType::ExclusiveAccessRegistrants;
}

// The words of `ctl/reservations`.
constexpr const char *to_text(ReservationType t)
{
	switch (t) {
	case ReservationType::None:
		return "none";
	case ReservationType::WriteExclusive:
		return "write-exclusive";
	case ReservationType::ExclusiveAccess:
		return "exclusive-access";
	case ReservationType::WriteExclusiveRegistrants:
		return "write-exclusive-reg-only";
	case ReservationType::ExclusiveAccessRegistrants:
		return "exclusive-access-reg-only";
	case ReservationType::WriteExclusiveAll:
		return "write-exclusive-all-regs";
	case ReservationType::ExclusiveAccessAll:
		return "exclusive-access-all-regs";
	}
	return "?";
}

class Reservations {
public:
	enum : u32 { kMaxRegistrants = 64 };

	// EBADE for a conflict, EINVAL, ENOSPC: nothing has changed then. Nothing has to if the
	// last operation of `who` that was done had the same serial.
	constexpr Status apply(const Nexus &who, const ReserveRequest &r)
	{
		if (const Place *p = find(who); p && p->serial == r.serial)
			return {};
		TRY(run(who, r));
		if (Place *p = find(who))
			p->serial = r.serial;
		return {};
	}

	constexpr ReservationState state() const
	{
		const bool one = type_ != ReservationType::None && !for_all_registrants(type_);
		return {.generation = generation_,
			.type = type_,
			.holder = one ? places_[holder_].registered : 0};
	}

	constexpr u32 registrants() const
	{
		u32 count = 0;
		for (const Place &p : places_)
			count += p.registered != 0;
		return count;
	}

	// What is refused to `who`.
	constexpr u8 refusals(const Nexus &who) const
	{
		const Place *p = find(who);
		if (p && p->registered && (for_registrants(type_) || holds(*p)))
			return refusal::none;
		return refuses(type_);
	}

	// f(const Nexus &, u64 key, bool holder) for all who are registered.
	template <class F> constexpr void for_each(F &&f) const
	{
		for (const Place &p : places_)
			if (p.registered)
				f(p.nexus(), p.registered, holds(p));
	}

	// An administrator ends all of it.
	constexpr void drop_all()
	{
		remove_all_but(nullptr);
		release();
		generation_++;
	}

private:
	// The names of a session and of a key, see rtrs/wire/info.hh and rtrs/pure/key_name.hh.
	enum : usize { kSessionSize = 255, kKeySize = 63 };

	template <usize N> struct Name {
		char text[N];
		u8 size;
		constexpr TextView view() const { return TextView(text, size); }
		constexpr void set(TextView t)
		{
			size = static_cast<u8>(cxxrt::min_of(t.size(), N));
			for (usize i = 0; i < size; i++)
				text[i] = t[i];
		}
	};
	// Of a client that was registered once; it is a free one otherwise. Who has ceased to be
	// registered keeps it until another one needs it: he may ask again what he has done last.
	struct Place {
		Name<kSessionSize> session;
		Name<kKeySize> key;
		u64 registered; // its reservation key; 0: is not
		u64 serial;
		constexpr Nexus nexus() const { return {session.view(), key.view()}; }
	};

	constexpr Place *find(const Nexus &who)
	{
		for (Place &p : places_)
			if (p.serial && p.nexus() == who)
				return &p;
		return nullptr;
	}
	constexpr const Place *find(const Nexus &who) const
	{
		return const_cast<Reservations *>(this)->find(who);
	}

	constexpr bool holds(const Place &p) const
	{
		if (type_ == ReservationType::None || !p.registered)
			return false;
		return for_all_registrants(type_) || &p == &places_[holder_];
	}

	constexpr Status run(const Nexus &who, const ReserveRequest &r)
	{
		if (r.operation == ReserveOperation::Register)
			return register_key(who, r);
		if (only_reads(r.operation))
			return {};
		// All others are for those who are registered, and say their key.
		Place *me = find(who);
		if (!me || !me->registered || me->registered != r.key)
			return err::ebade;
		switch (r.operation) {
		case ReserveOperation::Reserve:
			return reserve(*me, r.type);
		case ReserveOperation::Release:
			return release(*me, r.type);
		case ReserveOperation::Preempt:
		case ReserveOperation::PreemptAndAbort:
			return preempt(*me, r.type, r.second_key);
		case ReserveOperation::Clear:
			drop_all();
			return {};
		default:
			return err::einval;
		}
	}

	constexpr Status register_key(const Nexus &who, const ReserveRequest &r)
	{
		Place *me = find(who);
		const u64 has = me ? me->registered : 0;
		if (!r.ignore_key && r.key != has)
			return err::ebade;
		if (!has && !r.second_key)
			return {};
		if (!me) {
			me = take_place();
			if (!me)
				return err::enospc;
			me->session.set(who.session);
			me->key.set(who.key);
			me->serial = r.serial;
		}
		if (r.second_key) {
			me->registered = r.second_key;
		} else {
			const bool held = holds(*me);
			me->registered = 0;
			if (held && (!for_all_registrants(type_) || !registrants()))
				release();
		}
		generation_++;
		return {};
	}

	constexpr Place *take_place()
	{
		Place *free = nullptr;
		for (Place &p : places_) {
			if (!p.serial)
				return &p;
			if (!p.registered && !free)
				free = &p;
		}
		return free;
	}

	constexpr Status reserve(Place &me, ReservationType type)
	{
		if (type_ != ReservationType::None)
			return holds(me) && type == type_ ? Status() : Status(err::ebade);
		take(me, type);
		return {};
	}

	constexpr Status release(Place &me, ReservationType type)
	{
		if (!holds(me))
			return {};
		if (type != type_)
			return err::einval;
		release();
		return {};
	}

	constexpr Status preempt(Place &me, ReservationType type, u64 victim)
	{
		const bool reserved = type_ != ReservationType::None;
		const bool by_all = for_all_registrants(type_);
		if (!victim && !by_all)
			return err::einval;
		if (!victim) {
			remove_all_but(&me);
			take(me, type);
		} else if (reserved && !by_all && places_[holder_].registered == victim) {
			remove(victim, &me);
			take(me, type);
		} else {
			if (!remove(victim, nullptr))
				return err::ebade;
			if (reserved && !registrants())
				release();
		}
		generation_++;
		return {};
	}

	constexpr void take(Place &me, ReservationType type)
	{
		holder_ = static_cast<u32>(&me - places_);
		type_ = type;
	}
	constexpr void release() { type_ = ReservationType::None; }

	constexpr bool remove(u64 key, const Place *but)
	{
		bool any = false;
		for (Place &p : places_)
			if (p.registered == key) {
				any = true;
				if (&p != but)
					p.registered = 0;
			}
		return any;
	}
	constexpr void remove_all_but(const Place *me)
	{
		for (Place &p : places_)
			if (&p != me)
				p.registered = 0;
	}

	Place places_[kMaxRegistrants] = {};
	u32 holder_ = 0; // if there is one
	ReservationType type_ = ReservationType::None;
	u32 generation_ = 0;
};

} // namespace rnbd
