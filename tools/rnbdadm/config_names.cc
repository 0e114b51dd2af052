// SPDX-License-Identifier: GPL-2.0
// Names of machines in the paths of the configuration. The resolver is asked when something is
// brought about or compared, and not when the configuration is read: who unmaps a disk needs no
// resolver.
#include "config.hh"
#include "names.hh"

#include <algorithm>

namespace rnbdadm {

namespace {

// A name may have several addresses: a path to any of them is the path.
std::string choose(const std::vector<std::string> &candidates, const Session *running)
{
	if (running)
		for (const std::string &candidate : candidates)
			if (std::any_of(
				running->paths.begin(), running->paths.end(),
				[&](const Path &path) { return same_path(candidate, path); }))
				return candidate;
	return candidates[0];
}

} // namespace

ResolvedPaths resolve_paths(const Host &host, const SessionConfig &session, const Session *running)
{
	ResolvedPaths resolved;
	for (const std::string &word : session.paths) {
		try {
			resolved.paths.push_back(choose(path_candidates(host, word), running));
		} catch (const Failure &failure) {
			resolved.missing.push_back({word, failure.what()});
		}
	}
	return resolved;
}

} // namespace rnbdadm
