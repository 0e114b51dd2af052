// SPDX-License-Identifier: GPL-2.0
// key ...: the secrets by which machines prove who they are, on the disk and in the kernel.
#include "config.hh"
#include "keys.hh"
#include "mapping.hh"
#include "text.hh"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

namespace rnbdadm {

namespace {

// The keys that NAME[:GENERATION] means, at least one.
std::vector<Key> some_keys(const Keys &all, const std::string &word)
{
	const std::size_t colon = word.find(':');
	const rtrs::KeyName name = key_name(word.substr(0, colon));
	std::vector<Key> found = all.of(name);
	if (found.empty())
		throw Failure(Exit::NotFound, fmt::format("there is no key '{}'{}", name.c_str(),
							  did_you_mean(name.c_str(), all.names())));
	if (colon == std::string::npos)
		return found;
	const rtrs::KeyGeneration generation = key_generation(word.substr(colon + 1));
	for (const Key &key : found)
		if (key.id.generation == generation)
			return {key};
	std::vector<std::string> there;
	for (const Key &key : found)
		there.push_back(name_of(key.id));
	throw Failure(Exit::NotFound, fmt::format("there is no key '{}'", word),
		      "there is: " + join(there, ", "));
}

// What an administrator compares, and where it lies. Never the secret.
void print_made(Call &call, const Key &key)
{
	if (call.style.format != Format::Table || !call.style.columns.empty()) {
		print_one(call.out, kKeyKind, to_json(key), call.style);
		return;
	}
	call.out << fmt::format("key {} in {}\nfingerprint {}\n", name_of(key.id), key_file(key.id),
				*key.fingerprint);
	if (key.in_kernel.value_or(false))
		call.out << "loaded into the kernel, where it counts from now on\n";
}

void put_into_kernel(Call &call, const rtrs::KeyId &id, const Secret &secret)
{
	if (call.dry_run) {
		call.out << fmt::format("add key {} to the kernel's keyring\n", name_of(id));
		return;
	}
	call.say(fmt::format("adding key {} to the kernel's keyring", name_of(id)));
	if (int error = call.host.add_kernel_key(description_of(id), secret.data(), secret.size()))
		throw Failure(exit_of(error),
			      fmt::format("the kernel does not take key {}: {}", name_of(id),
					  words_of(error, Action::Configure)));
}

// A new secret on the disk.
Key make_key(Call &call, const Keys &all, const rtrs::KeyId &id, Secret &secret)
{
	if (all.find(id))
		throw Failure(Exit::Exists, fmt::format("there is a key {} already", name_of(id)),
			      "rnbdadm key list");
	if (call.dry_run) {
		call.out << fmt::format("write a new secret to {}\n", key_file(id));
		return {id, {}, false, {}, 0, {}, ""};
	}
	KeyFolder folder(call.host, KeyFolder::Missing::Make);
	make_secret(secret);
	folder.create(id, secret);
	Key key{id, fingerprint_of(secret), true, {}, 0, {}, ""};
	if (all.keyring)
		key.in_kernel = false;
	return key;
}

// A number never comes back: who has the secret of a key that was removed would be taken for who
// has the new one, in logs and lists at least.
rtrs::KeyGeneration next_generation(Call &call, const rtrs::KeyName &name,
				    const std::vector<Key> &keys)
{
	std::uint32_t last = KeyFolder(call.host).last_generation(name);
	if (!keys.empty())
		last = std::max(last, keys.back().id.generation.value);
	if (last == rtrs::kLastGeneration)
		throw Failure(Exit::Failed, "there is no generation after the last one",
			      "give the key another name");
	return {last + 1};
}

void say_not_loaded(Call &call)
{
	call.terminal.err << "rtrs_core is not loaded: rnbdadm key load loads it, with all keys\n";
}

// A client proves itself by its newest key, so a newer one that the server does not know yet would
// keep it out.
bool waits_for_server(const Call &call, const std::vector<Key> &older)
{
	return !older.empty() && client_loaded(call.host) && !server_loaded(call.host);
}

Exit key_generate(Call &call)
{
	const rtrs::KeyName name = key_name(call.arguments[0]);
	const Keys all = read_keys(call.host);
	const rtrs::KeyGeneration generation = call.has(opt::kGeneration)
						   ? key_generation(call.value(opt::kGeneration))
						   : next_generation(call, name, all.of(name));
	if (!all.find({name, generation}) &&
	    KeyFolder(call.host).last_generation(name) >= generation.value)
		throw Failure(Exit::Exists,
			      fmt::format("key {} has had generation {} before, and a removed one "
					  "does not come back",
					  name.c_str(), generation.value),
			      "leave out --generation, which takes the next one");
	const std::vector<Key> older = all.of(name);
	Secret secret;
	Key key = make_key(call, all, {name, generation}, secret);
	const bool waits = waits_for_server(call, older);
	if (all.keyring && !waits) {
		put_into_kernel(call, key.id, secret);
		key.in_kernel = true;
	}
	if (call.dry_run)
		return Exit::Done;
	print_made(call, key);
	if (!all.keyring)
		say_not_loaded(call);
	else if (waits)
		call.terminal.err
		    << "not loaded into the kernel: this machine is a client, which proves "
		       "itself by its newest key. Give the server the file first, then: "
		       "rnbdadm key load\n";
	return Exit::Done;
}

// What the kernel has of that name may be another secret, which nobody can read to compare.
void refuse_unknown(const Key *have)
{
	if (have && have->in_kernel.value_or(false))
		throw Failure(
		    Exit::Exists,
		    fmt::format(
			"the kernel has a key {} already, and nobody can tell whether it is "
			"this one",
			name_of(have->id)),
		    fmt::format("remove it first: rnbdadm key remove {0} --force",
				name_of(have->id)));
}

// It has the key that was the newest when it was made.
void remind_of_initramfs(Call &call, const rtrs::KeyName &name)
{
	const Config config = read_config(call.host);
	for (const DeviceConfig &device : config.devices)
		if (config.in_initramfs(device.name) && device.request.key == name.c_str()) {
			call.terminal.err << fmt::format(
			    "the initramfs maps {} with this key, and needs the new one: "
			    "update-initramfs -u\n",
			    device.name);
			return;
		}
}

Exit key_add(Call &call)
{
	const Keys all = read_keys(call.host);
	Secret secret;
	const rtrs::KeyId id = read_key_from(call.host, call.arguments[0], secret);
	const Key *have = all.find(id);
	Key key{id, fingerprint_of(secret), true, {}, 0, {}, ""};
	if (have && have->on_disk && have->fingerprint != key.fingerprint)
		throw Failure(Exit::Exists,
			      fmt::format("there is another key {} already, in {}", name_of(id),
					  key_file(id)),
			      "compare fingerprints: rnbdadm key show-fingerprint " + name_of(id));
	if (!have || !have->on_disk) {
		refuse_unknown(have);
		if (call.dry_run)
			call.out << fmt::format("write the key to {}\n", key_file(id));
		else
			KeyFolder(call.host, KeyFolder::Missing::Make).create(id, secret);
	}
	if (all.keyring && !(have && have->in_kernel.value_or(false)))
		put_into_kernel(call, id, secret);
	if (all.keyring)
		key.in_kernel = true;
	if (call.dry_run)
		return Exit::Done;
	print_made(call, key);
	remind_of_initramfs(call, id.name);
	if (!all.keyring)
		say_not_loaded(call);
	return Exit::Done;
}

Exit key_list(Call &call)
{
	print_rows(call.out, kKeyKind, to_rows(read_keys(call.host).keys), call.style);
	return Exit::Done;
}

Exit key_show_fingerprint(Call &call)
{
	const std::vector<Key> chosen = some_keys(read_keys(call.host), call.arguments[0]);
	if (call.style.format != Format::Table || !call.style.columns.empty()) {
		print_rows(call.out, kKeyKind, to_rows(chosen), call.style);
		return Exit::Done;
	}
	return call.each(chosen.size(), [&](std::size_t i) {
		if (chosen[i].problem)
			throw Failure(Exit::Config, *chosen[i].problem, chosen[i].advice);
		if (!chosen[i].fingerprint)
			throw Failure(Exit::Missing,
				      fmt::format("key {} is in the kernel alone, and nobody can "
						  "read it there",
						  name_of(chosen[i].id)));
		call.out << fmt::format("{}  {}\n", name_of(chosen[i].id), *chosen[i].fingerprint);
	});
}

Exit key_check(Call &call)
{
	// Not a finding: nothing was looked at.
	if (!call.host.is_privileged())
		throw Failure(Exit::Denied, "only root can look at keys", "run it as root");
	std::vector<Finding> findings;
	examine_keys(call.host, findings);
	if (findings.empty())
		findings.push_back({"keys", "ok", "there are none", ""});
	print_findings(call, findings);
	return has_problem(findings) ? Exit::Differs : Exit::Done;
}

// The keyring comes with the module.
void need_keyring(Call &call)
{
	if (call.host.kernel_keys())
		return;
	if (call.dry_run) {
		call.out << "load the module rtrs_core\n";
		return;
	}
	if (int error = call.host.load_module("rtrs_core"))
		throw Failure(Exit::Missing,
			      fmt::format("cannot load the module rtrs_core: {}",
					  words_of(error, Action::Configure)),
			      "rnbdadm doctor");
	if (!call.host.kernel_keys())
		throw Failure(Exit::Missing,
			      "the module rtrs_core has no keyring: it is the kernel's own, or too "
			      "old, or the kernel has no means of authentication",
			      "dmesg | grep rtrs_core");
}

Exit key_load(Call &call)
{
	if (!call.host.is_privileged())
		throw Failure(Exit::Denied, "only root can load keys", "run it as root");
	const KeyFolder folder(call.host);
	const std::vector<std::string> names = folder.names();
	if (names.empty())
		return Exit::Done;
	need_keyring(call);
	const Keys all = read_keys(call.host);
	std::vector<Json> rows;
	const Exit code = call.each(names.size(), [&](std::size_t i) {
		Json row;
		row["object"] = "key";
		row["name"] = names[i];
		row["result"] = "failed";
		rows.push_back(row);
		Secret secret;
		const rtrs::KeyId id = folder.read(names[i], secret);
		rows.back()["name"] = name_of(id);
		const Key *have = all.find(id);
		// A key that is there cannot be written anew: the kernel lets only those do so who
		// possess the keyring.
		const bool there = have && have->in_kernel.value_or(false);
		if (!there)
			put_into_kernel(call, id, secret);
		rows.back()["result"] = there ? "unchanged" : "loaded";
	});
	if (!call.dry_run)
		print_outcomes(call, rows);
	return code;
}

void remove_key(Call &call, const Key &key)
{
	const std::string name = name_of(key.id);
	if (call.dry_run) {
		if (key.in_kernel.value_or(false))
			call.out << fmt::format("remove key {} from the kernel's keyring\n", name);
		if (key.on_disk)
			call.out << fmt::format("remove {}\n", key_file(key.id));
		return;
	}
	// First, as later nothing says that it was there.
	KeyFolder folder(call.host);
	folder.note_generation(key.id);
	// While the file is there it can be tried again.
	if (key.in_kernel.value_or(false))
		if (int error = call.host.remove_kernel_key(key.serial))
			throw Failure(exit_of(error),
				      fmt::format("the kernel does not remove key {}: {}", name,
						  words_of(error, Action::Configure)));
	if (key.on_disk)
		folder.remove(key_file_name(key.id));
}

Exit key_remove(Call &call)
{
	const Keys all = read_keys(call.host);
	const std::vector<Key> chosen = some_keys(all, call.arguments[0]);
	const std::vector<Key> of_name = all.of(chosen[0].id.name);
	if (chosen.size() > 1 && !call.has(opt::kAll)) {
		std::vector<std::string> names;
		for (const Key &key : chosen)
			names.push_back(name_of(key.id));
		throw Failure(Exit::Ambiguous,
			      fmt::format("there are several generations of key {}; name one, or "
					  "give --all:",
					  chosen[0].id.name.c_str()),
			      join(names, "\n"));
	}
	std::size_t paths = 0;
	for (const Key &key : chosen)
		paths += paths_proven_by(call.host, key.id);
	if (paths && !call.has(opt::kForce))
		throw Failure(Exit::Busy,
			      fmt::format("cannot remove key {}: paths of this machine were proven "
					  "by it: {}",
					  call.arguments[0], paths),
			      "reconnect them, so that they take a newer generation; or give "
			      "--force: the server closes them then");
	if (chosen.size() == of_name.size() && !call.has(opt::kForce))
		throw Failure(
		    Exit::Busy,
		    fmt::format("cannot remove key {}: there is no other generation of it",
				call.arguments[0]),
		    "nobody who has to prove himself by it connects then, and its secret is gone "
		    "from this machine; give --force if that is meant");
	return call.each(chosen.size(), [&](std::size_t i) { remove_key(call, chosen[i]); });
}

const char *const kNextSteps =
    R"(
then, on the client:
    bring it the file {0} by a safe way
    rnbdadm key add FILE
    rnbdadm path reconnect PATH, for one path after the other
and once rnbdadm list paths -c session,name,proven says {1} for all paths, on both machines:
)";

Exit key_rotate(Call &call)
{
	const rtrs::KeyName name = key_name(call.arguments[0]);
	const Keys all = read_keys(call.host);
	const std::vector<Key> old = some_keys(all, name.c_str());
	if (client_loaded(call.host) && !server_loaded(call.host) && !call.has(opt::kForce))
		throw Failure(
		    Exit::Failed,
		    "this machine is a client, which proves itself by its newest key: the "
		    "server must have that first",
		    fmt::format("rotate on the server, then here: rnbdadm key add FILE\n"
				"or give --force, and take the file to the server at "
				"once: rnbdadm key rotate {} --force",
				name.c_str()));
	Secret secret;
	const rtrs::KeyId id{name, next_generation(call, name, old)};
	Key key = make_key(call, all, id, secret);
	if (all.keyring) {
		put_into_kernel(call, id, secret);
		key.in_kernel = true;
	}
	if (call.dry_run)
		return Exit::Done;
	print_made(call, key);
	if (!all.keyring)
		say_not_loaded(call);
	if (call.style.format != Format::Table)
		return Exit::Done;
	call.out << fmt::format(fmt::runtime(kNextSteps), key_file(id), name_of(id));
	for (const Key &k : old)
		call.out << fmt::format("    rnbdadm key remove {}\n", name_of(k.id));
	return Exit::Done;
}

} // namespace

std::vector<Command> key_commands()
{
	const Argument name = {"NAME", "name of the key: of a client, or of a group of them",
			       "key"};
	const Argument key = {"NAME[:GENERATION]", "a key, or one generation of it", "key"};
	return {
	    {"key generate",
	     "make a key",
	     "Writes 32 random bytes, with name and generation, to /etc/rnbd/keys.d, where only "
	     "root can read them, and prints their fingerprint. The file is for both machines: "
	     "bring it to the other one by a safe way, such as scp, and give it to 'rnbdadm key "
	     "add' there. If rtrs_core is loaded the kernel has it at once, as a running server "
	     "needs it; but a client that has an older one, which proves itself by its newest, "
	     "keeps "
	     "that until 'rnbdadm key load'. rnbd-keys.service loads all keys at each start.",
	     {name},
	     {{opt::kGeneration, "instead of the one that follows the newest"}},
	     {{"rnbdadm key generate client7", ""}},
	     &kKeyKind,
	     key_generate},
	    {"key add",
	     "take a key that was made on another machine",
	     "Puts it into /etc/rnbd/keys.d, and into the kernel if rtrs_core is loaded. The "
	     "file must be such that only its owner could read it, and can be removed "
	     "afterwards.",
	     {{"FILE", "the file from the other machine, or - for the standard input", "file"}},
	     {},
	     {{"rnbdadm key add client7.1", ""},
	      {"ssh server cat /etc/rnbd/keys.d/client7.1 | rnbdadm key add -", ""}},
	     &kKeyKind,
	     key_add},
	    {"key list",
	     "list keys: those on the disk, and those that the kernel has",
	     "Secrets are never shown. Equal fingerprints are equal secrets.",
	     {},
	     {},
	     {{"rnbdadm key list", ""}},
	     &kKeyKind,
	     key_list},
	    {"key show-fingerprint",
	     "print the fingerprint of a key",
	     "The same on both machines if they have the same secret.",
	     {key},
	     {},
	     {{"rnbdadm key show-fingerprint client7", ""}},
	     &kKeyKind,
	     key_show_fingerprint},
	    {"key check",
	     "say what is wrong with keys",
	     "Files that others can read or change, that are damaged, misnamed or links, secrets "
	     "that were thought of by somebody, keys that the kernel lacks, and those that it "
	     "has and that no file has. A line for each; exits with 12 if there is one.",
	     {},
	     {},
	     {{"rnbdadm key check", ""}},
	     &kFindingKind,
	     key_check},
	    {"key load",
	     "give the kernel all keys of the disk",
	     "Loads rtrs_core if need be. What the kernel has already stays, so it may be called "
	     "at any time. A file that is refused costs itself only. Called by "
	     "rnbd-keys.service, before anything is mapped or served.",
	     {},
	     {},
	     {{"rnbdadm key load", ""}},
	     &kOutcomeKind,
	     key_load},
	    {"key remove",
	     "remove a key from the kernel and from the disk",
	     "A server closes within a second all paths that were proven by it. Its secret is "
	     "gone from this machine.",
	     {key},
	     {{opt::kAll, "every generation of it"},
	      {opt::kForce, "even if paths were proven by it, or there is no other generation"}},
	     {{"rnbdadm key remove client7:1", "after a rotation"},
	      {"rnbdadm key remove client7 --all --force", "a client that is gone for good"}},
	     nullptr,
	     key_remove,
	     false,
	     ""},
	    {"key rotate",
	     "make the next generation of a key",
	     "On the server, while clients go on: makes a new secret, gives it to the kernel, and "
	     "says what is to be done on the client, and when the old one can be removed. Both "
	     "are valid until then.",
	     {name},
	     {{opt::kForce, "on a client, which the server refuses until it has the key"}},
	     {{"rnbdadm key rotate client7", ""}},
	     &kKeyKind,
	     key_rotate},
	};
}

} // namespace rnbdadm
