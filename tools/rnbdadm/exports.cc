// SPDX-License-Identifier: GPL-2.0
// Exports through configfs.
#include "exports.hh"

#include "disk_users.hh"
#include "names.hh"
#include "text.hh"

#include <algorithm>
#include <ostream>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <rnbd/pure/export_rules.hh>
#include <rnbd/pure/local_use.hh>
#include <rtrs/wire/key_name.hh>

namespace rnbdadm {

std::string check_address_rule(const std::string &text)
{
	Failure wrong(Exit::Usage, fmt::format("'{}' is no address of clients", text),
		      "it is ADDRESS or ADDRESS/BITS: 192.0.2.7, 192.0.2.0/24, fd00::/8, a GID, or "
		      "the name of a machine");
	const std::string plain = without_brackets(text);
	auto rule = rtrs::split_address_rule(view(plain));
	if (!rule.ok())
		throw wrong;
	std::string address(rule.value().address.data(), rule.value().address.size());
	for (int family : {AF_INET, AF_INET6}) {
		unsigned char bytes[16];
		char canonical[INET6_ADDRSTRLEN];
		if (inet_pton(family, address.c_str(), bytes) != 1 ||
		    !inet_ntop(family, bytes, canonical, sizeof canonical))
			continue;
		unsigned all = family == AF_INET ? 32 : rtrs::kAddressBits;
		unsigned bits = rule.value().has_bits ? rule.value().bits : all;
		if (bits > all)
			break;
		return bits == all ? canonical : fmt::format("{}/{}", canonical, bits);
	}
	throw wrong;
}

std::string address_rule_word(const std::string &word)
{
	return is_host_name(word) ? word : check_address_rule(word);
}

std::vector<std::string> resolved_rules(const Host &host, const std::vector<std::string> &words)
{
	std::vector<std::string> rules;
	auto add = [&](const std::string &rule) {
		if (std::find(rules.begin(), rules.end(), rule) == rules.end())
			rules.push_back(rule);
	};
	for (const std::string &word : words) {
		if (!is_host_name(word)) {
			add(check_address_rule(word));
			continue;
		}
		for (const std::string &address : addresses_of(host, word))
			add(check_address_rule(address));
	}
	return rules;
}

void check_local_use(const std::string &text)
{
	if (!rnbd::parse_local_use(view(text)).ok())
		throw Failure(Exit::Usage,
			      fmt::format("local use '{}' is not exclusive or shared{}", text,
					  did_you_mean(text, {"exclusive", "shared"})));
}

std::string unwanted_users(const DiskUsers &users, const ExportRequest &request)
{
	if (request.local_use == rnbd::to_text(rnbd::LocalUse::Shared))
		return "";
	return join(users.users_of(request.device_path), ", ");
}

std::string key_of_rule(const std::string &rule)
{
	return rule.substr(0, rnbd::name_of_key_word(view(rule)).size());
}

void check_key_rule(const std::string &text)
{
	const std::string name = key_of_rule(text);
	const bool open = name.ends_with('*');
	const std::string stem = name.substr(0, name.size() - open);
	if (!(open && stem.empty()) && !rtrs::check_key_name(view(stem)).ok())
		throw Failure(
		    Exit::Usage, fmt::format("'{}' is no name of a key", text),
		    "it is a name, or 'name*' for all that begin so; '*' is any key; with "
		    "':ro' behind it, for clients that may read only");
}

namespace {

// What the kernel has taken is a rule, also if it is written in a way that is not known here.
std::string comparable_rule(const std::string &text)
{
	try {
		return check_address_rule(text);
	} catch (const Failure &) {
		return text;
	}
}

} // namespace

std::vector<std::array<std::string, 3>> export_differences(const ExportRequest &wanted,
							   const Export &running)
{
	std::vector<std::array<std::string, 3>> found;
	auto list = [](std::vector<std::string> words) {
		std::sort(words.begin(), words.end());
		return join(words, " ");
	};
	auto add = [&](const char *key, const std::string &want, const std::string &have) {
		if (want != have)
			found.push_back({key, want, have});
	};
	add("device", wanted.device_path, running.device_path);
	if (!wanted.access.empty())
		add("access", wanted.access, running.access);
	if (!wanted.local_use.empty())
		add("local-use", wanted.local_use, running.local_use.value_or(""));
	// A rule that the module cannot keep differs as long as it is wanted.
	add("client", list(wanted.clients), list(split(running.clients.value_or(""))));
	add("key", list(wanted.keys), list(split(running.keys.value_or(""))));
	std::vector<std::string> have = split(running.addresses.value_or(""));
	std::transform(have.begin(), have.end(), have.begin(), comparable_rule);
	add("address", list(wanted.addresses), list(have));
	if (running.enabled)
		add("enabled", "1", *running.enabled);
	return found;
}

void need_exports(const Host &host)
{
	need_server(host);
	if (host.exists(kExports))
		return;
	if (!host.exists("/sys/kernel/config/rnbd") && !host.exists("/sys/kernel/config/nullb") &&
	    host.list("/sys/kernel/config").empty())
		throw Failure(
		    Exit::Missing, "configfs is not mounted, or no module uses it",
		    "mount it with: mount -t configfs configfs /sys/kernel/config\n"
		    "if that changes nothing, the loaded rnbd_server has no exports by name");
	throw Failure(Exit::Missing, "the loaded module rnbd_server has no exports by name",
		      "it offers what lies below its parameter dev_search_path");
}

void need_export_list(const Host &host)
{
	need_server(host);
	if (host.exists("/sys/module/rnbd_server/parameters/exports_only"))
		need_exports(host);
}

bool can_be_mapped(const std::string &name)
{
	return name.find_first_of(" \n") == std::string::npos;
}

void check_export_name(const std::string &name)
{
	if (name.empty() || name.size() > 254 || name == "." || name == ".." ||
	    name.find('/') != std::string::npos || !can_be_mapped(name))
		throw Failure(Exit::Usage,
			      fmt::format("'{}' cannot be the name of an export: it has 1 to 254 "
					  "characters without blank and '/'",
					  name),
			      "a client that maps it says its name in words that blanks separate");
}

namespace {

// A list of who may use it; the module may lack it, which matters only if there is something to
// say.
void fill_list(Call &call, const ExportRequest &request, const std::string &file,
	       const std::vector<std::string> &list, const char *whom)
{
	std::string what = "cannot export " + request.name;
	if (!list.empty() && !call.dry_run && !call.host.exists(file))
		throw Failure(Exit::Missing,
			      fmt::format("{}: the loaded module cannot limit the {} of one export",
					  what, whom));
	if (!list.empty())
		call.write(file, join(list, " "), Action::Export, what);
}

void fill(Call &call, const ExportRequest &request, const std::string &folder)
{
	std::string what = "cannot export " + request.name;
	if (!request.access.empty())
		call.write(folder + "/access", request.access, Action::Export, what);
	if (!request.local_use.empty()) {
		if (!call.dry_run && !call.host.exists(folder + "/local_use"))
			throw Failure(Exit::Missing,
				      what +
					  ": the loaded module claims no devices, so it knows no "
					  "local use");
		call.write(folder + "/local_use", request.local_use, Action::Export, what);
	}
	call.write(folder + "/device_path", request.device_path, Action::Export, what);
	fill_list(call, request, folder + "/allowed_sessions", request.clients, "clients");
	fill_list(call, request, folder + "/allowed_keys", request.keys, "keys");
	fill_list(call, request, folder + "/allowed_addresses", request.addresses, "addresses");
	// Last, so that no client opens what is half set up.
	if (call.dry_run || call.host.exists(folder + "/enable"))
		call.write(folder + "/enable", "1", Action::Export, what);
}

} // namespace

void check_device(const std::string &path)
{
	if (!path.starts_with('/'))
		throw Failure(
		    Exit::Usage,
		    fmt::format("'{}' is no absolute name of a block device, such as /dev/sdb",
				path));
}

bool may_be_exported(const Host &host, const std::string &path)
{
	const FileKind kind = host.kind_of(path);
	return kind.error || kind.block;
}

void add_export(Call &call, const ExportRequest &request)
{
	check_export_name(request.name);
	check_device(request.device_path);
	if (!may_be_exported(call.host, request.device_path))
		throw Failure(Exit::Usage,
			      fmt::format("cannot export {}: {} is no block device", request.name,
					  request.device_path),
			      "a file is one by a loop device: losetup --find --show FILE");
	need_exports(call.host);
	std::string folder = kExports + "/" + request.name;
	if (call.host.exists(folder))
		throw Failure(Exit::Exists,
			      fmt::format("there is an export '{}' already", request.name));
	if (const std::string users = unwanted_users(DiskUsers(call.host), request); !users.empty())
		throw Failure(Exit::Busy,
			      fmt::format("cannot export {}: this machine uses {}: {}",
					  request.name, request.device_path, users),
			      "--local-use shared, or local-use = shared in rnbd.conf, exports it "
			      "all the same: "
			      "what is not made for two writers is destroyed by them");
	if (call.dry_run) {
		call.out << fmt::format("make folder {}\n", folder);
		fill(call, request, folder);
		return;
	}
	if (int error = call.host.make_folder(folder))
		throw Failure(exit_of(error), fmt::format("cannot export {}: {}", request.name,
							  words_of(error, Action::Export)));
	try {
		fill(call, request, folder);
	} catch (const Failure &) {
		call.host.remove_folder(folder);
		throw;
	}
}

namespace {

// A change of one rule of an export.
struct Change {
	std::string key, want, have;

	bool is_list() const { return key == "client" || key == "key" || key == "address"; }
	// Of both lists, word by word. An empty list is for all.
	std::vector<std::string> common() const
	{
		const std::vector<std::string> before = split(have), after = split(want);
		if (before.empty() || after.empty())
			return before.empty() ? after : before;
		std::vector<std::string> both;
		for (const std::string &word : after)
			if (std::count(before.begin(), before.end(), word))
				both.push_back(word);
		return both;
	}
	// It lets in nobody whom the rule of before has not let in.
	bool narrows() const
	{
		// From least to most.
		static const std::vector<std::string> kAccess = {"ro", "rw", "migration", "shared"};
		if (key == "access")
			return std::find(kAccess.begin(), kAccess.end(), want) <
			       std::find(kAccess.begin(), kAccess.end(), have);
		if (!is_list())
			return want == "0";
		return !want.empty() && common() == split(want);
	}
	// It keeps out nobody whom that has let in.
	bool widens() const
	{
		if (!is_list())
			return !narrows();
		return want.empty() || (!have.empty() && common().size() == split(have).size());
	}
};

// Narrow first, then wide: in between nobody gets in who may do so neither before nor afterwards.
// One list that loses some and gets others comes behind what is narrow. Of several each is first
// what it is before and afterwards; where two have nothing in common, either one first would let
// somebody in, so the export is disabled meanwhile.
std::vector<std::pair<std::string, std::string>> in_order(const std::vector<Change> &changes,
							  bool is_enabled)
{
	std::vector<std::pair<std::string, std::string>> narrow, common, exchange, widen;
	std::size_t disjoint = 0;
	for (const Change &c : changes) {
		const bool narrows = c.narrows(), widens = c.widens();
		if (narrows)
			narrow.emplace_back(c.key, c.want);
		else if (widens)
			widen.emplace_back(c.key, c.want);
		else {
			const std::string both = join(c.common(), " ");
			disjoint += both.empty();
			if (!both.empty())
				common.emplace_back(c.key, both);
			exchange.emplace_back(c.key, c.want);
		}
	}
	if (exchange.size() > 1)
		narrow.insert(narrow.end(), common.begin(), common.end());
	if (disjoint > 1 && is_enabled) {
		narrow.insert(narrow.begin(), {"enabled", "0"});
		widen.emplace_back("enabled", "1");
	}
	narrow.insert(narrow.end(), exchange.begin(), exchange.end());
	narrow.insert(narrow.end(), widen.begin(), widen.end());
	return narrow;
}

} // namespace

bool change_export(Call &call, const Export &running, const ExportRequest &request)
{
	auto found = export_differences(request, running);
	for (const auto &[key, want, have] : found)
		if (key == "device")
			throw Failure(
			    Exit::Failed,
			    fmt::format("export {} has the device {}, and {} is configured",
					running.name, have, want),
			    fmt::format("remove it first: rnbdadm server export remove {}",
					running.name));
	static const std::map<std::string, const char *> kFiles = {
	    {"access", "/access"},	 {"client", "/allowed_sessions"},
	    {"key", "/allowed_keys"},	 {"address", "/allowed_addresses"},
	    {"local-use", "/local_use"}, {"enabled", "/enable"},
	};
	std::vector<Change> changes;
	for (const auto &[key, want, have] : found) {
		if (!call.host.exists(running.folder + kFiles.at(key)))
			throw Failure(
			    Exit::Missing,
			    fmt::format("the loaded module has no rule '{}' for export {}", key,
					running.name));
		changes.push_back({key, want, have});
	}
	const std::string enable = running.folder + kFiles.at("enabled");
	const bool is_enabled = call.host.exists(enable) && call.host.text(enable) == "1";
	for (const auto &[key, text] : in_order(changes, is_enabled))
		call.write(running.folder + kFiles.at(key), text, Action::Export,
			   fmt::format("cannot change {} of export {}", key, running.name));
	return !found.empty();
}

void remove_export(Call &call, const std::string &name)
{
	std::string folder = kExports + "/" + name;
	// Closes out those that have it open; without, the kernel keeps an export with users.
	if (call.has(opt::kForce) && call.host.exists(folder + "/enable"))
		call.write(folder + "/enable", "0", Action::Export,
			   "cannot disable export " + name);
	if (call.dry_run) {
		call.out << fmt::format("remove folder {}\n", folder);
		return;
	}
	if (int error = call.host.remove_folder(folder))
		throw Failure(exit_of(error), fmt::format("cannot remove export {}: {}", name,
							  words_of(error, Action::Export)));
}

} // namespace rnbdadm
