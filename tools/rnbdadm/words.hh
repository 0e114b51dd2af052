// SPDX-License-Identifier: GPL-2.0
// Values that are one word: what stands behind it, a second one or a comment, would be taken for
// names of clients.
#pragma once

#include "options.hh"

namespace rnbdadm {

// Where the first word of a value ends: at a blank or a '#'; its size if it is one word.
std::size_t end_of_word(const std::string &value);
// Failure (Usage) that says what to write, for an option that takes one word; others pass.
void check_word(const OptionKey &key, const std::string &value);

} // namespace rnbdadm
