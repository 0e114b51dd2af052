// SPDX-License-Identifier: GPL-2.0
// Values that are one word.
#include "words.hh"

#include "failure.hh"

#include <algorithm>

#include <fmt/format.h>

namespace rnbdadm {

std::size_t end_of_word(const std::string &value)
{
	return std::min(value.find_first_of(" \t\n#"), value.size());
}

void check_word(const OptionKey &key, const std::string &value)
{
	// A name of a session is judged where it is used.
	constexpr const char *kOptions[] = {"client", "key",  "address",  "path",
					    "access", "auth", "local-use"};
	const std::string name = key.name;
	const std::size_t end = end_of_word(value);
	if (end == value.size() ||
	    std::find(std::begin(kOptions), std::end(kOptions), name) == std::end(kOptions))
		return;
	if (!end)
		throw Failure(Exit::Usage, fmt::format("--{}: '{}' is no word", name, value));
	throw Failure(Exit::Usage,
		      fmt::format("--{0}: '{1}' is more than one word: write --{0} {2}", name,
				  value, value.substr(0, end)),
		      key.many() ? fmt::format("and --{} once more for each other one", name) : "");
}

} // namespace rnbdadm
