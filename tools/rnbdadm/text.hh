// SPDX-License-Identifier: GPL-2.0
// Words, numbers with units, and names that were almost right.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <cxxrt/bytes.hh>

namespace rnbdadm {

inline cxxrt::TextView view(std::string_view s)
{
	return cxxrt::TextView(s.data(), s.size());
}

std::string trim(std::string_view s);
// Words between any of the separators; empty ones are left out.
std::vector<std::string> split(std::string_view s, std::string_view separators = " \t\n");
std::string join(const std::vector<std::string> &words, std::string_view between);
std::string replace_all(std::string text, std::string_view from, std::string_view to);

// Digits compare as numbers: rnbd2 before rnbd10.
bool natural_less(std::string_view a, std::string_view b);

// The candidate that a typing mistake away from `word`, or empty.
std::string nearest(std::string_view word, const std::vector<std::string> &candidates);
// ", did you mean 'x'?" or nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string> &candidates);

// Decimal, the whole text.
std::optional<std::uint64_t> parse_number(std::string_view s);
std::optional<std::int64_t> parse_signed(std::string_view s);
// "10G", "512M", "2048s" (sectors of 512 bytes), "1.5T", "4096" bytes; units are powers of 1024.
// Nothing if it is malformed or beyond 2^63.
std::optional<std::uint64_t> parse_size(std::string_view s);

// The unit of sizes: the one in which the number is short, or always the same one.
enum class ByteUnit { Auto, B, KiB, MiB, GiB, TiB };
// "64 MiB", "1.5 GiB", "512 B"; in a unit that is given with at most two decimals, "0.06 GiB".
std::string human_bytes(double bytes, ByteUnit unit = ByteUnit::Auto);
// "850 ns", "12.4 us", "3.1 ms", "2.0 s".
std::string human_time(double nanoseconds);
// "1234", "12.3 k", "4.5 M".
std::string human_count(double count);

// For a terminal: what would steer it (control characters, bytes that are no UTF-8) as \xNN. A
// newline stays.
std::string printable(std::string_view text);

// For a path of a device as part of a file name: '/' becomes '!' as in sysfs.
std::string flat(std::string_view path);

} // namespace rnbdadm
