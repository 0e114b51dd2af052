// SPDX-License-Identifier: GPL-2.0
// The identity of a device, and the device names that are one (protocol D.5). Pure.
#pragma once

#include <rnbd/wire/messages.hh>
#include <rnbd/wire/units.hh>

namespace rnbd {

constexpr u32 kWwidSize = 120; // with terminator

// The name of a device that is the same on each path to it, and the same tomorrow; visible ASCII
// characters without slashes and quotes, as udev makes names of it. Empty if there is none.
class Wwid {
public:
	constexpr Wwid() = default;
	// What may not be in it becomes an underscore. ENAMETOOLONG: the beginning of an identity
	// is none.
	static constexpr Result<Wwid> from(TextView t)
	{
		if (t.size() >= kWwidSize)
			return err::enametoolong;
		Wwid w;
		for (usize i = 0; i < t.size(); i++)
			w.text_[i] = allowed(t[i]) ? t[i] : '_';
		return w;
	}
	// As others told it. ENAMETOOLONG, EINVAL for what may not be in it.
	static constexpr Result<Wwid> parse(TextView t)
	{
		for (usize i = 0; i < t.size(); i++)
			if (!allowed(t[i]))
				return err::einval;
		return from(t);
	}
	static constexpr bool allowed(char c)
	{
		return c > ' ' && c < 0x7f && c != '/' && c != '\\' && c != '"' && c != '\'';
	}

	constexpr const char *c_str() const { return text_; }
	constexpr TextView view() const { return TextView::of(text_); }
	constexpr bool empty() const { return !text_[0]; }
	constexpr bool operator==(const Wwid &o) const { return view() == o.view(); }

private:
	char text_[kWwidSize] = {};
};

// ---- names for OPEN, with feature::open_by_wwid

constexpr TextView kWwidName{"wwid:"};
static_assert(5 + kWwidSize <= kDeviceNameSize);

constexpr bool is_wwid_name(TextView name)
{
	return name.size() > kWwidName.size() && name.starts_with(kWwidName);
}

// Client side. EINVAL if there is no identity.
constexpr Result<DeviceName> make_wwid_name(const Wwid &wwid)
{
	if (wwid.empty())
		return err::einval;
	char name[kDeviceNameSize] = {};
	usize size = 0;
	for (usize i = 0; i < kWwidName.size(); i++)
		name[size++] = kWwidName[i];
	const TextView text = wwid.view();
	for (usize i = 0; i < text.size(); i++)
		name[size++] = text[i];
	return DeviceName::from(TextView(name, size));
}

// Server side. EINVAL for another name, or what is no identity.
constexpr Result<Wwid> parse_wwid_name(TextView name)
{
	if (!is_wwid_name(name))
		return err::einval;
	Result<Wwid> wwid = Wwid::parse(name.skip(kWwidName.size()));
	if (!wwid.ok())
		return err::einval;
	return wwid;
}

} // namespace rnbd
