// SPDX-License-Identifier: GPL-2.0
// Numbers, lists of words and short texts as administrators write them. Pure.
//
// Readers take a TextView and accept one trailing newline, as sysfs input has it. TextWriter writes
// into memory of the caller, stops at its end and remembers that it had to.
#pragma once

#include <cxxrt/bytes.hh>
#include <cxxrt/result.hh>
#include <cxxrt/types.hh>

namespace cxxrt {

// Without one trailing newline.
constexpr TextView trim_newline(TextView t)
{
	return !t.empty() && t[t.size() - 1] == '\n' ? t.first(t.size() - 1) : t;
}

constexpr char to_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

constexpr bool equal_ignoring_case(TextView a, TextView b)
{
	if (a.size() != b.size())
		return false;
	for (usize i = 0; i < a.size(); i++)
		if (to_lower(a[i]) != to_lower(b[i]))
			return false;
	return true;
}

namespace detail {
constexpr unsigned digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return static_cast<unsigned>(c - '0');
	c = to_lower(c);
	return c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a' + 10) : 16;
}

// Digits of `base` and nothing else. EINVAL for other text, ERANGE if 64 bits are too few.
constexpr Result<u64> parse_digits(TextView t, unsigned base)
{
	if (t.empty())
		return err::einval;
	u64 value = 0;
	bool overflow = false;
	for (usize i = 0; i < t.size(); i++) {
		unsigned digit = digit_value(t[i]);
		if (digit >= base)
			return err::einval;
		overflow |= __builtin_mul_overflow(value, static_cast<u64>(base), &value);
		overflow |= __builtin_add_overflow(value, static_cast<u64>(digit), &value);
	}
	if (overflow)
		return err::erange;
	return value;
}
} // namespace detail

// Unsigned, "0x" means hexadecimal, another leading "0" octal, as in C. EINVAL, ERANGE.
constexpr Result<u64> parse_u64(TextView t)
{
	t = trim_newline(t);
	if (t.starts_with("0x") || t.starts_with("0X"))
		return detail::parse_digits(t.skip(2), 16);
	if (t.size() > 1 && t[0] == '0')
		return detail::parse_digits(t.skip(1), 8);
	return detail::parse_digits(t, 10);
}

// Decimal with an optional sign. ERANGE if it is no 32-bit integer, EINVAL if it is no number or is
// outside [min, max].
constexpr Result<int> parse_int(TextView t, int min, int max)
{
	t = trim_newline(t);
	bool negative = t.starts_with("-");
	if (negative || t.starts_with("+"))
		t = t.skip(1);
	Result<u64> magnitude = detail::parse_digits(t, 10);
	if (!magnitude.ok())
		return magnitude.error();
	constexpr u64 kLimit = 0x7fffffff;
	if (magnitude.value() > kLimit + (negative ? 1 : 0))
		return err::erange;
	s64 value = static_cast<s64>(magnitude.value());
	if (negative)
		value = -value;
	if (value < min || value > max)
		return err::einval;
	return static_cast<int>(value);
}

// The convention of action attributes: "1" and nothing else. EINVAL.
constexpr Status parse_one(TextView t)
{
	if (trim_newline(t) == TextView("1"))
		return {};
	return err::einval;
}

namespace detail {
constexpr bool is_separator(char c)
{
	return c == ' ' || c == '\n' || c == '\t';
}
} // namespace detail

// f(word) for each word of the text, until it is true; whether it was.
template <class F> constexpr bool any_word(TextView text, F &&f)
{
	usize begin = 0;
	for (usize i = 0; i <= text.size(); i++) {
		if (i < text.size() && !detail::is_separator(text[i]))
			continue;
		if (i > begin && f(text.skip(begin).first(i - begin)))
			return true;
		begin = i + 1;
	}
	return false;
}

constexpr bool no_words(TextView text)
{
	return !any_word(text, [](TextView) { return true; });
}

// A word stands for the same text, and for each that begins like it if it ends in an asterisk.
constexpr bool any_word_stands_for(TextView list, TextView text)
{
	return any_word(list, [text](TextView word) {
		const TextView stem = word.first(word.size() - 1);
		return word == text || (word[word.size() - 1] == '*' && text.starts_with(stem));
	});
}

class TextWriter {
public:
	// The text is always terminated, so `capacity` bytes hold capacity - 1 characters; capacity
	// is at least 1.
	constexpr TextWriter(char *buffer, usize capacity) : buffer_(buffer), capacity_(capacity)
	{
		buffer_[0] = '\0';
	}

	constexpr TextWriter &put(char c)
	{
		if (size_ + 1 >= capacity_) {
			truncated_ = true;
			return *this;
		}
		buffer_[size_++] = c;
		buffer_[size_] = '\0';
		return *this;
	}

	constexpr TextWriter &put(TextView t)
	{
		for (usize i = 0; i < t.size(); i++)
			put(t[i]);
		return *this;
	}

	constexpr TextWriter &put_unsigned(u64 value)
	{
		char digits[20] = {};
		usize n = 0;
		do {
			digits[n++] = static_cast<char>('0' + value % 10);
			value /= 10;
		} while (value);
		while (n)
			put(digits[--n]);
		return *this;
	}

	constexpr TextWriter &put_signed(s64 value)
	{
		if (value < 0)
			put('-');
		u64 bits = static_cast<u64>(value);
		return put_unsigned(value < 0 ? 0 - bits : bits);
	}

	constexpr usize size() const { return size_; }
	constexpr TextView text() const { return TextView(buffer_, size_); }
	// Whether something did not fit; text() is then the part that did.
	constexpr bool truncated() const { return truncated_; }

private:
	char *buffer_;
	usize capacity_;
	usize size_ = 0;
	bool truncated_ = false;
};

} // namespace cxxrt
