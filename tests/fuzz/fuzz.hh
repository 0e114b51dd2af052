// SPDX-License-Identifier: GPL-2.0
// What every fuzz target shares. A target checks what must hold of accepted input; the sanitizers
// check the rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <cxxrt/bytes.hh>
#include <cxxrt/result.hh>

// libFuzzer gives the name.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

#define MUST(condition)                                                                   \
	do {                                                                              \
		if (!(condition)) {                                                       \
			(void)std::fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, \
					   __LINE__, #condition);                         \
			std::abort();                                                     \
		}                                                                         \
	} while (0)

// Takes parameters from the front of the input; what remains is the message, on the heap of its
// own so that the address sanitizer sees every read past its end.
class Input {
public:
	Input(const std::uint8_t *data, std::size_t size) : data_(data), size_(size) {}

	template <class T> T take()
	{
		T value{};
		std::size_t n = sizeof(T) < size_ ? sizeof(T) : size_;
		std::memcpy(&value, data_, n);
		data_ += n;
		size_ -= n;
		return value;
	}

	std::vector<unsigned char> rest() const { return {data_, data_ + size_}; }
	std::string text() const { return {reinterpret_cast<const char *>(data_), size_}; }

private:
	const std::uint8_t *data_;
	std::size_t size_;
};

inline cxxrt::ByteView view(const std::vector<unsigned char> &bytes)
{
	return {bytes.data(), bytes.size()};
}

template <class T> bool same_bytes(const T &wire, const std::vector<unsigned char> &bytes)
{
	return bytes.size() >= sizeof(T) && std::memcmp(&wire, bytes.data(), sizeof(T)) == 0;
}
