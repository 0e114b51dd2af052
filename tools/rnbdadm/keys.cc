// SPDX-License-Identifier: GPL-2.0
// Keys of this machine: those on its disk, and those that the kernel has.
#include "keys.hh"

#include "exports.hh"
#include "text.hh"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace rnbdadm {

namespace {

bool before(const Key &a, const Key &b)
{
	if (!(a.id.name == b.id.name))
		return natural_less(a.id.name.c_str(), b.id.name.c_str());
	return rtrs::is_newer(b.id.generation, a.id.generation);
}

Key &entry(Keys &all, const rtrs::KeyId &id)
{
	for (Key &key : all.keys)
		if (key.id == id)
			return key;
	Key key{id, {}, false, {}, 0, {}, ""};
	if (all.keyring)
		key.in_kernel = false;
	all.keys.push_back(key);
	return all.keys.back();
}

void read_files(const Host &host, Keys &all)
{
	const KeyFolder folder(host);
	for (const std::string &name : folder.names()) {
		const auto id = parse_key_file_name(name);
		if (!id) {
			all.strays.emplace_back(kKeyFolder + "/" + name,
						"its name is not NAME.GENERATION of a key");
			continue;
		}
		Key &key = entry(all, *id);
		key.on_disk = true;
		Secret secret;
		try {
			folder.read(name, secret);
			key.fingerprint = fingerprint_of(secret);
		} catch (const Failure &failure) {
			key.problem = failure.what();
			key.advice = failure.hint();
		}
	}
}

void read_keyring(const std::vector<KernelKey> &ring, Keys &all)
{
	for (const KernelKey &k : ring) {
		const std::string name = fmt::format("the kernel's key {}", k.serial);
		const auto id = rtrs::parse_key_description(view(k.description));
		if (k.error)
			all.strays.emplace_back(name, words_of(k.error, Action::Configure));
		else if (k.type != "logon" || !id.ok())
			all.strays.emplace_back(
			    name, fmt::format("'{}' of type {} is not rnbd:NAME:GENERATION of type "
					      "logon",
					      k.description, k.type));
		else {
			Key &key = entry(all, id.value());
			key.in_kernel = true;
			key.serial = k.serial;
		}
	}
}

} // namespace

const Key *Keys::find(const rtrs::KeyId &id) const
{
	for (const Key &key : keys)
		if (key.id == id)
			return &key;
	return nullptr;
}

std::vector<Key> Keys::of(const rtrs::KeyName &name) const
{
	std::vector<Key> found;
	for (const Key &key : keys)
		if (key.id.name == name)
			found.push_back(key);
	return found;
}

std::vector<std::string> Keys::names() const
{
	std::vector<std::string> found;
	for (const Key &key : keys)
		if (found.empty() || found.back() != key.id.name.c_str())
			found.push_back(key.id.name.c_str());
	return found;
}

Keys read_keys(const Host &host)
{
	// Else a keyring that cannot be seen would be taken for none.
	if (!host.is_privileged())
		throw Failure(Exit::Denied, "only root can look at keys", "run it as root");
	Keys all;
	const auto ring = host.kernel_keys();
	all.keyring = ring.has_value();
	read_files(host, all);
	if (ring)
		read_keyring(*ring, all);
	std::sort(all.keys.begin(), all.keys.end(), before);
	return all;
}

rtrs::KeyName key_name(const std::string &word)
{
	const auto name = rtrs::KeyName::from(view(word));
	if (!name.ok())
		throw Failure(Exit::Usage, fmt::format("'{}' cannot be the name of a key", word),
			      "it has 1 to 63 letters, digits, '-', '_' and '.', and begins with a "
			      "letter or a digit");
	return name.value();
}

rtrs::KeyGeneration key_generation(const std::string &word)
{
	const auto generation = rtrs::parse_key_generation(view(word));
	if (!generation.ok())
		throw Failure(Exit::Usage,
			      fmt::format("'{}' is no generation: it is a number from 1 to {}",
					  word, rtrs::kLastGeneration));
	return generation.value();
}

std::vector<std::pair<std::string, std::string>> missing_keys(const Host &host,
							      const std::vector<std::string> &rules)
{
	std::vector<std::pair<std::string, std::string>> missing;
	if (rules.empty() || !host.is_privileged())
		return missing;
	std::vector<std::string> names;
	try {
		names = read_keys(host).names();
	} catch (const Failure &) {
		return missing;
	}
	for (const std::string &rule : rules) {
		const std::string wanted = key_of_rule(rule);
		const bool open = wanted.ends_with('*');
		const std::string stem = wanted.substr(0, wanted.size() - open);
		if (std::any_of(names.begin(), names.end(), [&](const std::string &name) {
			    return open ? name.starts_with(stem) : name == stem;
		    }))
			continue;
		const std::string what =
		    !open ? fmt::format("there is no key '{}' on this machine{}", stem,
					did_you_mean(stem, names))
		    : stem.empty()
			? "there is no key on this machine"
			: fmt::format("there is no key whose name begins with '{}' on this "
				      "machine",
				      stem);
		missing.emplace_back(
		    what, fmt::format("rnbdadm key generate {}, or key add FILE of another machine",
				      open ? "NAME" : stem));
	}
	return missing;
}

std::size_t paths_proven_by(const Host &host, const rtrs::KeyId &id)
{
	std::size_t found = 0;
	for (const Path &path : all_paths(host))
		found += path.proven == name_of(id);
	return found;
}

namespace {

void examine(const Key &key, std::vector<Finding> &findings)
{
	const std::string check = "key " + name_of(key.id);
	if (key.problem)
		findings.push_back({check, "problem", *key.problem, key.advice});
	else if (key.on_disk && key.in_kernel == false)
		findings.push_back({check, "problem",
				    "it is on the disk, and the kernel does not have it",
				    "rnbdadm key load"});
	if (!key.on_disk)
		findings.push_back(
		    {check, "problem",
		     "the kernel has it, and it will not be there after the next start: no file "
		     "has it",
		     "rnbdadm key add FILE, with the file of the other machine; or, if it is not "
		     "wanted any more, rnbdadm key remove " +
			 name_of(key.id)});
}

} // namespace

void examine_keys(const Host &host, std::vector<Finding> &findings)
{
	if (!host.is_privileged()) {
		if (host.exists(kKeyFolder))
			findings.push_back(
			    {"keys", "note", "only root can look at keys", "sudo rnbdadm doctor"});
		return;
	}
	Keys all;
	try {
		all = read_keys(host);
	} catch (const Failure &failure) {
		findings.push_back({"keys", "problem", failure.what(), failure.hint()});
		return;
	}
	const std::size_t already = findings.size();
	for (const Key &key : all.keys)
		examine(key, findings);
	for (const auto &[name, why] : all.strays)
		findings.push_back({"keys", "problem", fmt::format("{}: {}", name, why), ""});
	if (findings.size() == already && !all.empty())
		findings.push_back(
		    {"keys", "ok",
		     fmt::format("{} on the disk{}", all.keys.size(),
				 all.keyring ? ", and in the kernel"
					     : "; rtrs_core is not loaded, and has none yet"),
		     ""});
}

} // namespace rnbdadm
