// SPDX-License-Identifier: GPL-2.0
// Persistent reservations: the cells of SPC-4's tables.
#include <rnbd/pure/reservations.hh>

using namespace rnbd;

namespace {

using Type = ReservationType;
using Op = ReserveOperation;

constexpr Type kTypes[] = {Type::WriteExclusive,
			   Type::ExclusiveAccess,
			   Type::WriteExclusiveRegistrants,
			   Type::ExclusiveAccessRegistrants,
			   Type::WriteExclusiveAll,
			   Type::ExclusiveAccessAll};
constexpr int kBade = -52, kInval = -22, kNoSpace = -28;
constexpr u8 kNothing = refusal::none, kWrites = refusal::writes,
	     kAll = refusal::reads | refusal::writes;

// A table, and clients by their names.
struct Disk {
	Reservations table;
	u64 last = 0;

	static Nexus nexus(std::string_view name) { return {text(name), TextView()}; }
	int ask(const std::string &who, Op op, u64 key, u64 second = 0, Type type = Type::None,
		bool ignore = false)
	{
		return table.apply(nexus(who), {op, type, ignore, ++last, key, second}).code();
	}
	int enrol(const std::string &who, u64 key, u64 old = 0)
	{
		return ask(who, Op::Register, old, key);
	}
	int reserve(const std::string &who, u64 key, Type type)
	{
		return ask(who, Op::Reserve, key, 0, type);
	}
	int preempt(const std::string &who, u64 key, u64 victim, Type type)
	{
		return ask(who, Op::Preempt, key, victim, type);
	}
	u8 refused(const std::string &who) const { return table.refusals(nexus(who)); }
	Type type() const { return table.state().type; }
	u64 holder() const { return table.state().holder; }
	u32 generation() const { return table.state().generation; }
	std::string keys() const
	{
		std::string all;
		table.for_each([&](const Nexus &who, u64 key, bool holds) {
			all += str(who.session) + std::to_string(key) + (holds ? "! " : " ");
		});
		return all;
	}
};

// a has reserved the disk, b is registered, c is not.
Disk reserved(Type type)
{
	Disk d;
	EXPECT_EQ(d.enrol("a", 1), 0);
	EXPECT_EQ(d.enrol("b", 2), 0);
	EXPECT_EQ(d.reserve("a", 1, type), 0);
	return d;
}

} // namespace

TEST(Reservations, WhatIsRefused)
{
	Disk free;
	EXPECT_EQ(free.refused("a"), kNothing);
	EXPECT_EQ(free.enrol("a", 1), 0);
	// To be registered is no reservation.
	EXPECT_EQ(free.refused("c"), kNothing);
	const struct {
		Type type;
		u8 holder, registrant, other;
	} cells[] = {{Type::WriteExclusive, kNothing, kWrites, kWrites},
		     {Type::ExclusiveAccess, kNothing, kAll, kAll},
		     {Type::WriteExclusiveRegistrants, kNothing, kNothing, kWrites},
		     {Type::ExclusiveAccessRegistrants, kNothing, kNothing, kAll},
		     {Type::WriteExclusiveAll, kNothing, kNothing, kWrites},
		     {Type::ExclusiveAccessAll, kNothing, kNothing, kAll}};
	for (const auto &cell : cells) {
		const Disk d = reserved(cell.type);
		EXPECT_EQ(d.refused("a"), cell.holder) << to_text(cell.type);
		EXPECT_EQ(d.refused("b"), cell.registrant) << to_text(cell.type);
		EXPECT_EQ(d.refused("c"), cell.other) << to_text(cell.type);
	}
}

TEST(Reservations, PersistentBackend)
{
	EXPECT_EQ(mirrored(Type::None), Type::None);
	for (Type t : kTypes) {
		const Type m = mirrored(t);
		EXPECT_EQ(refuses(m), refuses(t));
		EXPECT_TRUE(for_registrants(m) && !for_all_registrants(m));
	}
}

TEST(Reservations, Register)
{
	Disk d;
	// Who is not registered has no key.
	EXPECT_EQ(d.ask("a", Op::Register, 7, 1), kBade);
	EXPECT_EQ(d.ask("a", Op::Register, 7, 0), kBade);
	EXPECT_EQ(d.ask("a", Op::Register, 0, 0), 0);
	EXPECT_EQ(d.generation(), 0u);
	EXPECT_EQ(d.enrol("a", 1), 0);
	EXPECT_EQ(d.generation(), 1u);
	// And who is, has to know it.
	EXPECT_EQ(d.enrol("a", 2), kBade);
	EXPECT_EQ(d.enrol("a", 2, 9), kBade);
	EXPECT_EQ(d.generation(), 1u);
	EXPECT_EQ(d.enrol("a", 2, 1), 0);
	EXPECT_EQ(d.enrol("a", 2, 2), 0);
	EXPECT_EQ(d.keys(), "a2 ");
	EXPECT_EQ(d.generation(), 3u);
	EXPECT_EQ(d.enrol("a", 0, 1), kBade);
	EXPECT_EQ(d.enrol("a", 0, 2), 0);
	EXPECT_EQ(d.keys(), "");
	EXPECT_EQ(d.table.registrants(), 0u);
}

TEST(Reservations, RegisterAndIgnore)
{
	Disk d;
	EXPECT_EQ(d.ask("a", Op::Register, 77, 0, Type::None, true), 0);
	EXPECT_EQ(d.generation(), 0u);
	EXPECT_EQ(d.ask("a", Op::Register, 77, 1, Type::None, true), 0);
	EXPECT_EQ(d.ask("a", Op::Register, 77, 2, Type::None, true), 0);
	EXPECT_EQ(d.keys(), "a2 ");
	EXPECT_EQ(d.ask("a", Op::Register, 77, 0, Type::None, true), 0);
	EXPECT_EQ(d.keys(), "");
	EXPECT_EQ(d.generation(), 3u);
}

// Of one name there can be two keys that were proven: two clients.
TEST(Reservations, WhoIsWho)
{
	Reservations t;
	const Nexus plain{text("a"), TextView()}, one{text("a"), text("one")},
	    other{text("a"), text("two")};
	const ReserveRequest enrol{Op::Register, Type::None, false, 1, 0, 5};
	EXPECT_EQ(t.apply(one, enrol).code(), 0);
	const ReserveRequest reserve{Op::Reserve, Type::ExclusiveAccessRegistrants, false, 2, 5, 0};
	EXPECT_EQ(t.apply(plain, reserve).code(), kBade);
	EXPECT_EQ(t.apply(other, reserve).code(), kBade);
	EXPECT_EQ(t.apply(one, reserve).code(), 0);
	EXPECT_EQ(t.refusals(one), kNothing);
	EXPECT_EQ(t.refusals(plain), kAll);
	EXPECT_EQ(t.refusals(other), kAll);
}

TEST(Reservations, Reserve)
{
	for (Type type : kTypes) {
		Disk d;
		EXPECT_EQ(d.reserve("a", 0, type), kBade);
		EXPECT_EQ(d.enrol("a", 1), 0);
		EXPECT_EQ(d.enrol("b", 2), 0);
		const u32 generation = d.generation();
		EXPECT_EQ(d.reserve("a", 2, type), kBade);
		EXPECT_EQ(d.reserve("c", 1, type), kBade);
		EXPECT_EQ(d.reserve("a", 1, type), 0);
		EXPECT_EQ(d.type(), type);
		EXPECT_EQ(d.holder(), for_all_registrants(type) ? 0u : 1u);
		// The same again is no error; anything else is a conflict.
		EXPECT_EQ(d.reserve("a", 1, type), 0);
		EXPECT_EQ(d.reserve("b", 2, type), for_all_registrants(type) ? 0 : kBade);
		for (Type other : kTypes) {
			if (other != type) {
				EXPECT_EQ(d.reserve("a", 1, other), kBade);
			}
		}
		EXPECT_EQ(d.generation(), generation);
		EXPECT_EQ(d.keys(), for_all_registrants(type) ? "a1! b2! " : "a1! b2 ");
	}
}

TEST(Reservations, Release)
{
	for (Type type : kTypes) {
		Disk d = reserved(type);
		const u32 generation = d.generation();
		EXPECT_EQ(d.ask("c", Op::Release, 0, 0, type), kBade);
		EXPECT_EQ(d.ask("a", Op::Release, 2, 0, type), kBade);
		const Type other =
		    type == Type::WriteExclusive ? Type::ExclusiveAccess : Type::WriteExclusive;
		EXPECT_EQ(d.ask("a", Op::Release, 1, 0, other), kInval);
		EXPECT_EQ(d.type(), type);
		// Not the holder's: nothing happens.
		if (!for_all_registrants(type)) {
			EXPECT_EQ(d.ask("b", Op::Release, 2, 0, other), 0);
			EXPECT_EQ(d.type(), type);
		}
		EXPECT_EQ(d.ask("a", Op::Release, 1, 0, type), 0);
		EXPECT_EQ(d.type(), Type::None);
		EXPECT_EQ(d.ask("a", Op::Release, 1, 0, type), 0);
		EXPECT_EQ(d.refused("c"), kNothing);
		EXPECT_EQ(d.keys(), "a1 b2 ");
		EXPECT_EQ(d.generation(), generation);
	}
}

TEST(Reservations, UnregisteringReleases)
{
	for (Type type : kTypes) {
		Disk d = reserved(type);
		// Others do not matter.
		EXPECT_EQ(d.enrol("b", 0, 2), 0);
		EXPECT_EQ(d.type(), type);
		EXPECT_EQ(d.enrol("b", 2), 0);
		EXPECT_EQ(d.enrol("a", 0, 1), 0);
		EXPECT_EQ(d.type(), for_all_registrants(type) ? type : Type::None);
		EXPECT_EQ(d.refused("a"), for_all_registrants(type) ? refuses(type) : kNothing);
		EXPECT_EQ(d.enrol("b", 0, 2), 0);
		EXPECT_EQ(d.type(), Type::None);
	}
}

TEST(Reservations, AHolderChangesItsKey)
{
	Disk d = reserved(Type::WriteExclusive);
	EXPECT_EQ(d.enrol("a", 9, 1), 0);
	EXPECT_EQ(d.holder(), 9u);
	EXPECT_EQ(d.refused("a"), kNothing);
}

TEST(Reservations, Clear)
{
	for (Type type : kTypes) {
		Disk d = reserved(type);
		const u32 generation = d.generation();
		EXPECT_EQ(d.ask("c", Op::Clear, 1), kBade);
		EXPECT_EQ(d.ask("b", Op::Clear, 1), kBade);
		// Also by who has not reserved it.
		EXPECT_EQ(d.ask("b", Op::Clear, 2), 0);
		EXPECT_EQ(d.keys(), "");
		EXPECT_EQ(d.type(), Type::None);
		EXPECT_EQ(d.refused("c"), kNothing);
		EXPECT_EQ(d.generation(), generation + 1);
	}
}

TEST(Reservations, PreemptNeedsAKey)
{
	Disk d = reserved(Type::WriteExclusive);
	EXPECT_EQ(d.preempt("c", 1, 1, Type::WriteExclusive), kBade);
	EXPECT_EQ(d.preempt("b", 1, 1, Type::WriteExclusive), kBade);
	EXPECT_EQ(d.preempt("b", 2, 0, Type::WriteExclusive), kInval);
	EXPECT_EQ(d.preempt("b", 2, 7, Type::WriteExclusive), kBade);
	EXPECT_EQ(d.keys(), "a1! b2 ");
	EXPECT_EQ(d.generation(), 2u);
}

TEST(Reservations, PreemptTheHolder)
{
	for (Type type : kTypes) {
		if (for_all_registrants(type))
			continue;
		for (Type now : kTypes) {
			for (Op op : {Op::Preempt, Op::PreemptAndAbort}) {
				Disk d = reserved(type);
				EXPECT_EQ(d.enrol("d", 1), 0); // the same key
				EXPECT_EQ(d.enrol("e", 5), 0);
				const u32 generation = d.generation();
				EXPECT_EQ(d.ask("b", op, 2, 1, now), 0);
				EXPECT_EQ(d.type(), now);
				EXPECT_EQ(d.keys(),
					  for_all_registrants(now) ? "b2! e5! " : "b2! e5 ");
				EXPECT_EQ(d.refused("a"), refuses(now));
				EXPECT_EQ(d.refused("d"), refuses(now));
				EXPECT_EQ(d.generation(), generation + 1);
			}
		}
	}
}

// It changes the type, and nobody gets in between.
TEST(Reservations, PreemptOneself)
{
	Disk d = reserved(Type::WriteExclusive);
	EXPECT_EQ(d.preempt("a", 1, 1, Type::ExclusiveAccessRegistrants), 0);
	EXPECT_EQ(d.keys(), "a1! b2 ");
	EXPECT_EQ(d.type(), Type::ExclusiveAccessRegistrants);
	// With a key that others have, too, they go.
	EXPECT_EQ(d.enrol("d", 1), 0);
	EXPECT_EQ(d.preempt("a", 1, 1, Type::WriteExclusive), 0);
	EXPECT_EQ(d.keys(), "a1! b2 ");
}

TEST(Reservations, PreemptRegistrations)
{
	for (Type type : kTypes) {
		Disk d = reserved(type);
		EXPECT_EQ(d.enrol("d", 4), 0);
		EXPECT_EQ(d.enrol("e", 4), 0);
		// What is reserved stays as it is, whatever type is said.
		EXPECT_EQ(d.preempt("b", 2, 4, Type::ExclusiveAccess), 0);
		EXPECT_EQ(d.type(), type);
		EXPECT_EQ(d.keys(), for_all_registrants(type) ? "a1! b2! " : "a1! b2 ");
		EXPECT_EQ(d.refused("d"), refuses(type));
		EXPECT_EQ(d.preempt("b", 2, 4, Type::ExclusiveAccess), kBade);
		// The own one goes like others of that key.
		EXPECT_EQ(d.preempt("b", 2, 2, type), 0);
		EXPECT_EQ(d.keys(), "a1! ");
	}
	Disk d;
	EXPECT_EQ(d.enrol("a", 1), 0);
	EXPECT_EQ(d.enrol("b", 2), 0);
	EXPECT_EQ(d.preempt("a", 1, 2, Type::WriteExclusive), 0);
	EXPECT_EQ(d.keys(), "a1 ");
	EXPECT_EQ(d.type(), Type::None);
}

TEST(Reservations, PreemptAllRegistrants)
{
	for (Type type : {Type::WriteExclusiveAll, Type::ExclusiveAccessAll}) {
		for (Type now : kTypes) {
			Disk d = reserved(type);
			EXPECT_EQ(d.preempt("b", 2, 0, now), 0);
			EXPECT_EQ(d.keys(), "b2! ");
			EXPECT_EQ(d.type(), now);
			EXPECT_EQ(d.refused("a"), refuses(now));
		}
		Disk d = reserved(type);
		EXPECT_EQ(d.preempt("b", 2, 1, Type::WriteExclusive), 0);
		EXPECT_EQ(d.keys(), "b2! ");
		EXPECT_EQ(d.type(), type);
		// With the last one it ends.
		EXPECT_EQ(d.preempt("b", 2, 2, Type::WriteExclusive), 0);
		EXPECT_EQ(d.type(), Type::None);
	}
}

TEST(Reservations, AskedAgain)
{
	Disk d = reserved(Type::WriteExclusiveRegistrants);
	const Nexus a = Disk::nexus("a"), b = Disk::nexus("b");
	const ReserveRequest preempt{Op::Preempt, Type::WriteExclusive, false, 1000, 2, 1};
	EXPECT_EQ(d.table.apply(b, preempt).code(), 0);
	// The victim has come anew meanwhile; the answer was lost.
	EXPECT_EQ(d.enrol("a", 1), 0);
	EXPECT_EQ(d.table.apply(b, preempt).code(), 0);
	EXPECT_EQ(d.keys(), "a1 b2! ");
	// Another one's serial says nothing.
	const ReserveRequest release{Op::Clear, Type::None, false, 1000, 1, 0};
	EXPECT_EQ(d.table.apply(a, release).code(), 0);
	EXPECT_EQ(d.keys(), "");
	EXPECT_EQ(d.table.apply(a, release).code(), 0);
	// Who was preempted does not get in again by asking again.
	const ReserveRequest enrol{Op::Register, Type::None, false, 2000, 0, 1};
	EXPECT_EQ(d.table.apply(a, enrol).code(), 0);
	EXPECT_EQ(d.enrol("b", 2), 0);
	EXPECT_EQ(d.preempt("b", 2, 1, Type::WriteExclusive), 0);
	EXPECT_EQ(d.table.apply(a, enrol).code(), 0);
	EXPECT_EQ(d.keys(), "b2 ");
	// What has failed is tried again.
	const ReserveRequest other{Op::Register, Type::None, false, 3000, 7, 8};
	EXPECT_EQ(d.table.apply(a, other).code(), kBade);
	EXPECT_EQ(d.table.apply(a, other).code(), kBade);
}

TEST(Reservations, Limit)
{
	Disk d;
	for (u32 i = 0; i < Reservations::kMaxRegistrants; i++)
		EXPECT_EQ(d.enrol("client-" + std::to_string(i), i + 1), 0);
	const u32 generation = d.generation();
	EXPECT_EQ(d.enrol("late", 1), kNoSpace);
	EXPECT_EQ(d.generation(), generation);
	EXPECT_EQ(d.table.registrants(), u32{Reservations::kMaxRegistrants});
	EXPECT_LE(d.table.registrants(), kMaxReserveKeys);
	EXPECT_EQ(d.reserve("client-3", 4, Type::WriteExclusiveRegistrants), 0);
	EXPECT_EQ(d.enrol("client-9", 0, 10), 0);
	// His place is free, but he is remembered until it is needed.
	EXPECT_EQ(d.enrol("late", 5), 0);
	EXPECT_EQ(d.enrol("client-9", 10), kNoSpace);
	EXPECT_EQ(d.refused("client-9"), kWrites);
	EXPECT_EQ(d.refused("late"), kNothing);
	// The longest names there are.
	Disk longest;
	const std::string one = std::string(254, 'x') + "1", two = std::string(254, 'x') + "2";
	EXPECT_EQ(longest.enrol(one, 1), 0);
	EXPECT_EQ(longest.enrol(two, 2), 0);
	EXPECT_EQ(longest.table.registrants(), 2u);
}

TEST(Reservations, AnAdministratorEndsThem)
{
	Disk d = reserved(Type::ExclusiveAccess);
	d.table.drop_all();
	EXPECT_EQ(d.keys(), "");
	EXPECT_EQ(d.type(), Type::None);
	EXPECT_EQ(d.refused("c"), kNothing);
	EXPECT_EQ(d.generation(), 3u);
}
