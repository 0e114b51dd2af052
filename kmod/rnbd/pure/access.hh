// SPDX-License-Identifier: GPL-2.0
// Access modes: their names, and who may open what (protocol E.2, F.3). Pure.
#pragma once

#include <rnbd/wire/messages.hh>
#include <rnbd/wire/units.hh>

namespace rnbd {

constexpr const char *to_text(AccessMode m)
{
	switch (m) {
	case AccessMode::ReadOnly:
		return "ro";
	case AccessMode::ReadWrite:
		return "rw";
	case AccessMode::Migration:
		return "migration";
	case AccessMode::Shared:
		return "shared";
	}
	return "?";
}

constexpr AccessMode kAccessModes[] = {AccessMode::ReadOnly, AccessMode::ReadWrite,
				       AccessMode::Migration, AccessMode::Shared};

// EINVAL.
constexpr Result<AccessMode> parse_access_mode(TextView t)
{
	for (AccessMode m : kAccessModes)
		if (t == TextView::of(to_text(m)))
			return m;
	return err::einval;
}

constexpr bool may_write(AccessMode m)
{
	return m != AccessMode::ReadOnly;
}

// How many sessions have one device open for writing. Those that share it know of each other, and
// have somebody who orders what they write; others rely on being alone. So there are either ones or
// others.
class WriteOpens {
public:
	// EPERM if the mode is not allowed beside what is open. Counts it if it is.
	constexpr Status open(AccessMode m)
	{
		switch (m) {
		case AccessMode::ReadOnly:
			return {};
		case AccessMode::ReadWrite:
			if (count() > 0)
				return err::eperm;
			exclusive_++;
			return {};
		case AccessMode::Migration:
			if (shared_ > 0 || exclusive_ >= kMaxWithMigration)
				return err::eperm;
			exclusive_++;
			return {};
		case AccessMode::Shared:
			if (exclusive_ > 0)
				return err::eperm;
			shared_++;
			return {};
		}
		return err::einval;
	}

	// Undoes a successful open().
	constexpr void close(AccessMode m)
	{
		u32 &count = m == AccessMode::Shared ? shared_ : exclusive_;
		if (may_write(m) && count > 0)
			count--;
	}

	constexpr u32 count() const { return exclusive_ + shared_; }

private:
	enum : u32 { kMaxWithMigration = 2 };
	u32 exclusive_ = 0; // with the second one of a migration
	u32 shared_ = 0;
};

// A session that has the device open already may open it again the same way and gets the same
// answer. Another way is refused with EPERM: the first mapping would silently change its rights.
constexpr Status check_reopen(AccessMode have, AccessMode want)
{
	if (have == want)
		return {};
	return err::eperm;
}

} // namespace rnbd
