// SPDX-License-Identifier: GPL-2.0
// Text output of attributes and debug files: SysfsText fills one page, TextBuffer a string of
// fixed size that is always terminated.
#pragma once

#include <cxxrt/bytes.hh>
#include <cxxrt/kernel.hh>

namespace cxxrt {

class SysfsText {
public:
	explicit SysfsText(char *page) : page_(page) {}
	SysfsText(const SysfsText &) = delete;
	SysfsText &operator=(const SysfsText &) = delete;

	[[gnu::format(printf, 2, 3)]] void print(const char *format, ...)
	{
		va_list args;
		va_start(args, format);
		length_ += vscnprintf(page_ + length_, PAGE_SIZE - length_, format, args);
		va_end(args);
	}
	ssize_t length() const { return length_; }

private:
	char *page_;
	ssize_t length_ = 0;
};

template <usize N> class TextBuffer {
public:
	TextBuffer() { text_[0] = 0; }

	// What does not fit is cut off; false then.
	[[gnu::format(printf, 2, 3)]] bool print(const char *format, ...)
	{
		va_list args;
		va_start(args, format);
		const int n = vsnprintf(text_, N, format, args);
		va_end(args);
		return n >= 0 && static_cast<usize>(n) < N;
	}
	// Like print(), for text that has no terminator.
	bool assign(TextView text)
	{
		const usize n = min_of(text.size(), N - 1);
		__builtin_memcpy(text_, text.data(), n);
		text_[n] = 0;
		return n == text.size();
	}
	const char *c_str() const { return text_; }
	char *data() { return text_; }
	TextView view() const { return TextView::of(text_); }

private:
	char text_[N];
};

} // namespace cxxrt
