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
	}
	return "?";
}

// EINVAL.
constexpr Result<AccessMode> parse_access_mode(TextView t)
{
	constexpr AccessMode kModes[] = {AccessMode::ReadOnly, AccessMode::ReadWrite,
					 AccessMode::Migration};
	for (AccessMode m : kModes)
		if (t == TextView::of(to_text(m)))
			return m;
	return err::einval;
}

constexpr bool may_write(AccessMode m)
{
	return m != AccessMode::ReadOnly;
}

// How many sessions have one device open for writing.
class WriteOpens {
public:
	// EPERM if the mode is not allowed beside what is open. Counts it if it is.
	constexpr Status open(AccessMode m)
	{
		switch (m) {
		case AccessMode::ReadOnly:
			return {};
		case AccessMode::ReadWrite:
			if (count_ > 0)
				return err::eperm;
			count_++;
			return {};
		case AccessMode::Migration:
			if (count_ >= kMaxWithMigration)
				return err::eperm;
			count_++;
			return {};
		}
		return err::einval;
	}

	// Undoes a successful open().
	constexpr void close(AccessMode m)
	{
		if (may_write(m) && count_ > 0)
			count_--;
	}

	constexpr u32 count() const { return count_; }

private:
	enum : u32 { kMaxWithMigration = 2 };
	u32 count_ = 0;
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
