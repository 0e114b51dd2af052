// SPDX-License-Identifier: GPL-2.0
#include "lie.hh"

namespace peer {

std::vector<Lie> all_lies(const Key &key)
{
	std::vector<Lie> all;
	for (auto *part : {handshake_lies, info_lies, response_lies, key_lies, capsule_lies,
			   rnbd_lies, discover_lies, reserve_lies, silence_lies})
		for (Lie &l : part())
			all.push_back(std::move(l));
	if (!key.name.empty())
		for (Lie &l : proof_lies(key))
			all.push_back(std::move(l));
	return all;
}

} // namespace peer
