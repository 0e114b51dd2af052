// SPDX-License-Identifier: GPL-2.0
// Names that were checked once, when they came in. Pure.
#pragma once

#include <rtrs/wire/units.hh>

namespace rtrs {

// Text that Rule::check(), a Status(TextView), has nothing against, with its own storage of
// Rule::kSize bytes; always terminated. check() refuses what has no room.
template <class Rule> class CheckedName {
public:
	// What check() says.
	static constexpr Result<CheckedName> from(TextView text)
	{
		if (Status s = Rule::check(text); !s.ok())
			return s.error();
		CheckedName n;
		for (usize i = 0; i < text.size(); i++)
			n.text_[i] = text[i];
		n.size_ = static_cast<u8>(text.size());
		return n;
	}

	// Of nothing: the empty text, which from() never gives.
	static constexpr CheckedName none() { return CheckedName(); }

	constexpr TextView view() const { return TextView(text_, size_); }
	constexpr const char *c_str() const { return text_; }
	constexpr bool operator==(const CheckedName &o) const { return view() == o.view(); }

private:
	static_assert(Rule::kSize <= 256);

	constexpr CheckedName() = default;

	char text_[Rule::kSize] = {};
	u8 size_ = 0;
};

} // namespace rtrs
