// SPDX-License-Identifier: GPL-2.0
// Which session names are legal (protocol A.4, G.2). Pure.
#pragma once

#include <rtrs/wire/constants.hh>
#include <rtrs/wire/units.hh>

namespace rtrs {

// EINVAL unless 1 to 254 printable ASCII characters without '/' and '.', and not "ctl", which is a
// directory of its own beside the sessions. "." and ".." are covered by the ban on dots.
constexpr Status check_session_name(TextView name)
{
	if (name.empty() || name.size() >= kSessionNameSize)
		return err::einval;
	for (usize i = 0; i < name.size(); i++) {
		char c = name[i];
		if (c < ' ' || c > '~' || c == '/' || c == '.')
			return err::einval;
	}
	if (name == TextView("ctl"))
		return err::einval;
	return {};
}

// A checked name with its own storage; always terminated.
class SessionName {
public:
	static constexpr Result<SessionName> from(TextView text)
	{
		if (Status s = check_session_name(text); !s.ok())
			return s.error();
		SessionName n;
		for (usize i = 0; i < text.size(); i++)
			n.text_[i] = text[i];
		n.size_ = static_cast<u8>(text.size());
		return n;
	}

	constexpr TextView view() const { return TextView(text_, size_); }
	constexpr const char *c_str() const { return text_; }
	constexpr bool operator==(const SessionName &o) const { return view() == o.view(); }

private:
	constexpr SessionName() = default;

	char text_[kSessionNameSize] = {};
	u8 size_ = 0;
};

} // namespace rtrs
