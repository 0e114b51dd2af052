// SPDX-License-Identifier: GPL-2.0
// Words, numbers with units, and names that were almost right.
#include "text.hh"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace rnbdadm {

std::string trim(std::string_view s)
{
	const char *blank = " \t\r\n";
	std::size_t first = s.find_first_not_of(blank);
	if (first == std::string_view::npos)
		return "";
	return std::string(s.substr(first, s.find_last_not_of(blank) - first + 1));
}

std::vector<std::string> split(std::string_view s, std::string_view separators)
{
	std::vector<std::string> words;
	std::size_t at = 0;
	while ((at = s.find_first_not_of(separators, at)) != std::string_view::npos) {
		std::size_t end = std::min(s.find_first_of(separators, at), s.size());
		words.emplace_back(s.substr(at, end - at));
		at = end;
	}
	return words;
}

std::string join(const std::vector<std::string> &words, std::string_view between)
{
	std::string text;
	for (const std::string &word : words) {
		if (!text.empty())
			text += between;
		text += word;
	}
	return text;
}

std::string replace_all(std::string text, std::string_view from, std::string_view to)
{
	for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
		text.replace(at, from.size(), to);
	return text;
}

bool natural_less(std::string_view a, std::string_view b)
{
	auto digit = [](char c) {
		return c >= '0' && c <= '9';
	};
	std::size_t i = 0, j = 0;
	while (i < a.size() && j < b.size()) {
		if (!digit(a[i]) || !digit(b[j])) {
			if (a[i] != b[j])
				return a[i] < b[j];
			i++, j++;
			continue;
		}
		auto run = [&](std::string_view s, std::size_t &at) {
			while (at + 1 < s.size() && s[at] == '0' && digit(s[at + 1]))
				at++;
			std::size_t first = at;
			while (at < s.size() && digit(s[at]))
				at++;
			return s.substr(first, at - first);
		};
		std::string_view x = run(a, i), y = run(b, j);
		if (x.size() != y.size())
			return x.size() < y.size();
		if (x != y)
			return x < y;
	}
	return a.size() - i < b.size() - j;
}

namespace {

// Edits (insert, delete, change, swap of neighbours) between two words.
std::size_t distance(std::string_view a, std::string_view b)
{
	std::vector<std::vector<std::size_t>> d(a.size() + 1,
						std::vector<std::size_t>(b.size() + 1));
	for (std::size_t i = 0; i <= a.size(); i++)
		for (std::size_t j = 0; j <= b.size(); j++) {
			if (!i || !j) {
				d[i][j] = i + j;
				continue;
			}
			bool same = a[i - 1] == b[j - 1];
			d[i][j] = std::min(
			    {d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (same ? 0 : 1)});
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
		}
	return d[a.size()][b.size()];
}

} // namespace

std::string nearest(std::string_view word, const std::vector<std::string> &candidates)
{
	std::string best;
	std::size_t best_distance = word.size() < 4 ? 2 : 3;
	for (const std::string &candidate : candidates) {
		std::size_t d = distance(word, candidate);
		// A prefix is one typing away from the whole, however long that is.
		if (word.size() >= 2 && candidate.starts_with(word))
			d = 1;
		if (d < best_distance) {
			best = candidate;
			best_distance = d;
		}
	}
	return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string> &candidates)
{
	std::string found = nearest(word, candidates);
	return found.empty() ? "" : fmt::format(", did you mean '{}'?", found);
}

std::optional<std::uint64_t> parse_number(std::string_view s)
{
	std::uint64_t value = 0;
	auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
	if (error != std::errc() || end != s.data() + s.size() || s.empty())
		return std::nullopt;
	return value;
}

std::optional<std::int64_t> parse_signed(std::string_view s)
{
	std::int64_t value = 0;
	auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
	if (error != std::errc() || end != s.data() + s.size() || s.empty())
		return std::nullopt;
	return value;
}

std::optional<std::uint64_t> parse_size(std::string_view s)
{
	double value = 0;
	auto [end, error] =
	    std::from_chars(s.data(), s.data() + s.size(), value, std::chars_format::fixed);
	if (error != std::errc() || value < 0)
		return std::nullopt;
	std::string unit(end, s.data() + s.size());
	double factor = 0;
	if (unit.empty() || unit == "B")
		factor = 1;
	else if (unit == "s")
		factor = 512;
	else {
		std::size_t power = std::string_view("KMGTPE").find(unit[0] == 'k' ? 'K' : unit[0]);
		std::string rest = unit.substr(1);
		if (power == std::string_view::npos ||
		    !(rest.empty() || rest == "iB" || rest == "i"))
			return std::nullopt;
		factor = std::exp2(10.0 * static_cast<double>(power + 1));
	}
	// What is a whole number stays exact: a double ends at 2^53.
	std::string_view digits(s.data(), static_cast<std::size_t>(end - s.data()));
	if (auto whole = parse_number(digits)) {
		std::uint64_t result = 0;
		if (__builtin_mul_overflow(*whole, static_cast<std::uint64_t>(factor), &result) ||
		    result >> 63)
			return std::nullopt;
		return result;
	}
	double bytes = value * factor;
	if (bytes >= 9.2e18 || bytes != std::floor(bytes))
		return std::nullopt;
	return static_cast<std::uint64_t>(bytes);
}

namespace {

std::string scaled(double value, double step, const std::vector<const char *> &units)
{
	std::size_t unit = 0;
	while (value >= step && unit + 1 < units.size()) {
		value /= step;
		unit++;
	}
	// Ten and more need no decimals; neither does a whole number.
	bool whole = value >= 99.95 || value == std::floor(value);
	return whole ? fmt::format("{:.0f}{}", value, units[unit])
		     : fmt::format("{:.1f}{}", value, units[unit]);
}

} // namespace

std::string human_bytes(double bytes, ByteUnit unit)
{
	static const std::vector<const char *> kUnits = {" B",	 " KiB", " MiB", " GiB",
							 " TiB", " PiB", " EiB"};
	if (unit == ByteUnit::Auto)
		return scaled(bytes, 1024, kUnits);
	const int place = static_cast<int>(unit) - static_cast<int>(ByteUnit::B);
	std::string number = fmt::format("{:.2f}", std::ldexp(bytes, -10 * place));
	number.erase(number.find_last_not_of('0') + 1);
	if (number.back() == '.')
		number.pop_back();
	return number + kUnits[static_cast<std::size_t>(place)];
}

std::string human_time(double nanoseconds)
{
	return scaled(nanoseconds, 1000, {" ns", " us", " ms", " s"});
}

std::string human_count(double count)
{
	return scaled(count, 1000, {"", " k", " M", " G", " T"});
}

namespace {

// How many bytes the character at the beginning has, 0 if it is none that can be shown.
std::size_t character(std::string_view text)
{
	unsigned char first = static_cast<unsigned char>(text[0]);
	if (first < 0x80)
		return first >= 0x20 && first != 0x7f;
	std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
	if (first < 0xc2 || first > 0xf4 || text.size() < size)
		return 0;
	for (char c : text.substr(1, size - 1))
		if ((c & 0xc0) != 0x80)
			return 0;
	// C1, the control characters of 8 bits.
	return first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0 ? 0 : size;
}

} // namespace

std::string printable(std::string_view text)
{
	std::string result;
	while (!text.empty()) {
		std::size_t size = text[0] == '\n' ? 1 : character(text);
		if (size)
			result += text.substr(0, size);
		else
			result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
		text.remove_prefix(size ? size : 1);
	}
	return result;
}

std::string flat(std::string_view path)
{
	return replace_all(std::string(path), "/", "!");
}

} // namespace rnbdadm
