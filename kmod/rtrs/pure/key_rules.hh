// SPDX-License-Identifier: GPL-2.0
// Which names of sessions a key opens, and which nobody opens without one (protocol J.3). Pure.
//
// A list has words, each a name or the beginning of names and an asterisk. The key of a client
// proves who he is; the list says which sessions are his.
#pragma once

#include <cxxrt/text.hh>
#include <rtrs/wire/key_name.hh>
#include <rtrs/wire/session_name.hh>

namespace rtrs {

struct KeyRule {
	TextView key;
	TextView sessions; // empty: all that no other key's list has
};

// What a session may be called whose client has proven `key`, or nothing if that is empty.
// `for_each_rule(f)` calls f(const KeyRule &) for each key that has a rule; a key without one may
// use what is nobody's. A name in the lists of several keys is open to each of them.
template <class ForEachRule>
constexpr bool name_open_to(TextView key, TextView session, ForEachRule &&for_each_rule)
{
	bool of_others = false;
	bool of_key = false;
	bool key_is_bound = false;
	for_each_rule([&](const KeyRule &rule) {
		const bool stands = cxxrt::any_word_stands_for(rule.sessions, session);
		if (key.empty() || !(rule.key == key)) {
			of_others |= stands;
			return;
		}
		of_key |= stands;
		key_is_bound |= !cxxrt::no_words(rule.sessions);
	});
	return of_key || (!key_is_bound && !of_others);
}

// Whether a session's name is more than its client's word: it is the name of the key that was
// proven, or stands in that key's list.
template <class ForEachRule>
constexpr bool name_is_bound(TextView key, TextView session, ForEachRule &&for_each_rule)
{
	bool bound = !key.empty() && key == session;
	for_each_rule([&](const KeyRule &rule) {
		bound |= rule.key == key && cxxrt::any_word_stands_for(rule.sessions, session);
	});
	return bound;
}

// Whether a list may be set: only words that can be names, but for an asterisk at the end. EINVAL.
constexpr Status check_session_list(TextView list)
{
	const bool bad = cxxrt::any_word(list, [](TextView word) {
		const bool open = word[word.size() - 1] == '*';
		const TextView stem = open ? word.first(word.size() - 1) : word;
		return !(open && stem.empty()) && !check_session_name(stem).ok();
	});
	return bad ? Status(err::einval) : Status();
}

} // namespace rtrs
