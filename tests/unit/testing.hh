// SPDX-License-Identifier: GPL-2.0
// What every test file sees: GoogleTest, and messages as tables of offsets and bytes. Precompiled,
// hence the guard of the old kind.
#ifndef TESTS_UNIT_TESTING_HH
#define TESTS_UNIT_TESTING_HH

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <cxxrt/bytes.hh>
#include <cxxrt/result.hh>

namespace testing_support {

// On the heap and exactly as long as the message, so that the address sanitizer sees every read
// past its end.
using Bytes = std::vector<unsigned char>;

// "1BBD" or "1B BD": bytes in the order of memory.
inline Bytes hex(std::string_view text)
{
	Bytes bytes;
	std::string digits;
	for (char c : text)
		if (c != ' ')
			digits += c;
	if (digits.size() % 2)
		throw std::invalid_argument("odd number of digits");
	for (std::size_t i = 0; i < digits.size(); i += 2)
		bytes.push_back(
		    static_cast<unsigned char>(std::stoul(digits.substr(i, 2), nullptr, 16)));
	return bytes;
}

struct Row {
	std::size_t offset;
	std::string_view bytes; // hexadecimal
};

// `base` with the rows written over it.
inline Bytes with(Bytes base, std::initializer_list<Row> rows)
{
	for (const Row &row : rows) {
		Bytes bytes = hex(row.bytes);
		if (row.offset + bytes.size() > base.size())
			throw std::out_of_range("row outside the message");
		std::memcpy(base.data() + row.offset, bytes.data(), bytes.size());
	}
	return base;
}

// A message of `size` bytes, zero but for the rows.
inline Bytes message(std::size_t size, std::initializer_list<Row> rows)
{
	return with(Bytes(size), rows);
}

inline Bytes cut(const Bytes &bytes, std::size_t size)
{
	return Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
}

inline cxxrt::ByteView view(const Bytes &bytes)
{
	return cxxrt::ByteView(bytes.data(), bytes.size());
}

inline cxxrt::TextView text(std::string_view s)
{
	return cxxrt::TextView(s.data(), s.size());
}

inline std::string str(cxxrt::TextView t)
{
	return std::string(t.data(), t.size());
}

// The memory of a wire struct.
template <class T> Bytes bytes_of(const T &wire)
{
	Bytes bytes(sizeof(T));
	std::memcpy(bytes.data(), &wire, sizeof(T));
	return bytes;
}

// 0 or the negative errno.
template <class T> int code(const cxxrt::Result<T> &r)
{
	return r.code();
}

} // namespace testing_support

using namespace testing_support;

#endif
