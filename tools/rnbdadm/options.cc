// SPDX-License-Identifier: GPL-2.0
// Values of options: read once, by the type that the option has.
#include "options.hh"

#include "failure.hh"
#include "text.hh"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

namespace rnbdadm {

namespace {

std::int64_t number_of(const OptionKey &key, const std::string &word)
{
	Integer number = parse_signed(word);
	if (!number || *number < key.min || *number > key.max)
		throw Failure(Exit::Usage,
			      fmt::format("--{}: '{}' is no whole number from {} to {}", key.name,
					  word, key.min, key.max));
	return *number;
}

std::int64_t place_of(const OptionKey &key, const std::string &word)
{
	const std::vector<std::string> words = split(key.complete, "|");
	auto found = std::find(words.begin(), words.end(), word);
	if (found == words.end())
		throw Failure(Exit::Usage,
			      fmt::format("--{}: '{}' is not {} or {}{}", key.name, word,
					  join({words.begin(), words.end() - 1}, ", "),
					  words.back(), did_you_mean(word, words)));
	return found - words.begin();
}

} // namespace

void Options::add(const OptionKey &key, const std::string &word)
{
	Value &value = values_[key.name];
	if (key.type == OptionType::Number)
		value.number = number_of(key, word);
	if (key.type == OptionType::Choice)
		value.number = place_of(key, word);
	value.words.push_back(word);
}

std::int64_t Options::number(const NumberKey &key) const
{
	const Value *value = find(key);
	return value ? value->number : key.fallback;
}

std::string Options::text(const TextKey &key, const std::string &fallback) const
{
	const Value *value = find(key);
	return value ? value->words.back() : fallback;
}

std::vector<std::string> Options::list(const ListKey &key) const
{
	const Value *value = find(key);
	return value ? value->words : std::vector<std::string>();
}

std::int64_t Options::choice_of(const OptionKey &key) const
{
	const Value *value = find(key);
	return value ? value->number : 0;
}

const Options::Value *Options::find(const OptionKey &key) const
{
	if (std::none_of(known_.begin(), known_.end(), [&](const OptionKey &k) {
		    return std::string(k.name) == key.name && k.type == key.type;
	    }))
		throw std::logic_error(fmt::format("this command has no --{}", key.name));
	auto found = values_.find(key.name);
	return found == values_.end() ? nullptr : &found->second;
}

} // namespace rnbdadm
