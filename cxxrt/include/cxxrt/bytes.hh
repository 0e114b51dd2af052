// SPDX-License-Identifier: GPL-2.0
// Views of memory that carry their length. Pure.
//
// ByteView is what parsers take: read() copies a wire struct out once, after the length was
// checked, so that nothing is read twice from memory that the peer can change. TextView is a
// string without a terminator.
#pragma once

#include <cxxrt/result.hh>
#include <cxxrt/types.hh>

namespace cxxrt {

// A T out of bytes that need not be aligned.
template <class T> T load(const u8 *bytes)
{
	T value;
	__builtin_memcpy(&value, bytes, sizeof(T));
	return value;
}

class ByteView {
public:
	constexpr ByteView() = default;
	constexpr ByteView(const void *data, usize size)
	    : data_(static_cast<const u8 *>(data)), size_(size)
	{
	}

	constexpr const u8 *data() const { return data_; }
	constexpr usize size() const { return size_; }

	// Copies a T out of the first bytes. EMSGSIZE if the view is shorter.
	template <class T> Result<T> read(usize offset = 0) const
	{
		if (offset > size_ || size_ - offset < sizeof(T))
			return err::emsgsize;
		T value;
		__builtin_memcpy(&value, data_ + offset, sizeof(T));
		return value;
	}

	// The bytes [offset, offset + size). EMSGSIZE if they are not all inside.
	constexpr Result<ByteView> slice(usize offset, usize size) const
	{
		if (offset > size_ || size_ - offset < size)
			return err::emsgsize;
		return ByteView(data_ + offset, size);
	}

private:
	const u8 *data_ = nullptr;
	usize size_ = 0;
};

class TextView {
public:
	constexpr TextView() = default;
	constexpr TextView(const char *text, usize size) : text_(text), size_(size) {}
	template <usize N>
	constexpr TextView(const char (&literal)[N]) : text_(literal), size_(N - 1)
	{
	}

	static constexpr TextView of(const char *terminated)
	{
		usize n = 0;
		while (terminated[n])
			n++;
		return TextView(terminated, n);
	}

	constexpr const char *data() const { return text_; }
	constexpr usize size() const { return size_; }
	constexpr bool empty() const { return size_ == 0; }
	constexpr char operator[](usize i) const { return text_[i]; }

	constexpr bool operator==(const TextView &o) const
	{
		if (size_ != o.size_)
			return false;
		for (usize i = 0; i < size_; i++)
			if (text_[i] != o.text_[i])
				return false;
		return true;
	}

	constexpr bool starts_with(TextView prefix) const
	{
		return size_ >= prefix.size_ && first(prefix.size_) == prefix;
	}

	constexpr TextView first(usize n) const { return TextView(text_, min_of(n, size_)); }
	constexpr TextView skip(usize n) const
	{
		n = min_of(n, size_);
		return TextView(text_ + n, size_ - n);
	}

	// Index of the first `c`, or size() if there is none.
	constexpr usize find(char c) const
	{
		usize i = 0;
		while (i < size_ && text_[i] != c)
			i++;
		return i;
	}

private:
	const char *text_ = "";
	usize size_ = 0;
};

} // namespace cxxrt
