// SPDX-License-Identifier: GPL-2.0
// Why can a client not have an export.
#include "bypass.hh"
#include "diagnosis.hh"
#include "disk_users.hh"
#include "exports.hh"
#include "keys.hh"
#include "text.hh"

#include <arpa/inet.h>

#include <fmt/format.h>
#include <rnbd/pure/export_rules.hh>

namespace rnbdadm {

namespace {

// A rule or an address, of which check_address_rule() has made a normal text.
rtrs::AddressRule rule_of(const std::string &normal)
{
	const std::size_t slash = normal.find('/');
	const std::string address = normal.substr(0, slash);
	rtrs::AddressRule rule{{}, 0};
	unsigned char v4[4];
	unsigned before = 0; // bits of IPv6 that lie before those of IPv4
	if (inet_pton(AF_INET, address.c_str(), v4) == 1) {
		rule.address = rtrs::HostAddress::from_ipv4(v4);
		before = rtrs::kIpv4Offset;
	} else {
		inet_pton(AF_INET6, address.c_str(), rule.address.bytes);
	}
	rule.bits = slash == std::string::npos
			? rtrs::kAddressBits
			: before + static_cast<unsigned>(
				       parse_number(normal.substr(slash + 1)).value_or(0));
	return rule;
}

// What the kernel has taken as a rule, and is written in a way that is not known here, is left out.
bool comes_from(const std::string &rules, const std::string &address)
{
	const rtrs::HostAddress host = rule_of(check_address_rule(address)).address;
	for (const std::string &rule : split(rules))
		try {
			if (rule_of(check_address_rule(rule)).matches(host))
				return true;
		} catch (const Failure &) {
		}
	return split(rules).empty();
}

Finding judge_device(const Host &host, const Export &e)
{
	const FileKind kind = host.kind_of(e.device_path);
	if (kind.error)
		return {"device", "problem",
			fmt::format("{} is not there: whoever opens the export gets an error",
				    e.device_path),
			"lsblk"};
	if (!kind.block)
		return {"device", "problem", e.device_path + " is no block device", ""};
	ExportRequest request;
	request.device_path = e.device_path;
	request.local_use = e.local_use.value_or("");
	if (const std::string users = unwanted_users(DiskUsers(host), request); !users.empty())
		return {"device", "problem",
			fmt::format("this machine uses {}: {}", e.device_path, users),
			"clients cannot open it before that ends (EBUSY)"};
	return {"device", "ok", e.device_path, ""};
}

void judge_keys(const Host &host, const Export &e, std::vector<Finding> &findings)
{
	const std::vector<std::string> keys = split(e.keys.value_or(""));
	for (const auto &[what, advice] : missing_keys(host, keys))
		findings.push_back({"keys", "problem", what, advice});
	if (!keys.empty() && module_parameter(host, "rtrs_server", "auth") == "off")
		findings.push_back({"keys", "problem",
				    "it wants a proof, and rtrs_server takes none (auth=off)",
				    "echo optional > /sys/module/rtrs_server/parameters/auth"});
	if (opens_by_path(host, e.device_path) && !is_meant_open(host))
		findings.push_back({"rules", "problem",
				    fmt::format("clients can open {} by its path all the same, as "
						"rnbd_server was loaded with exports_only=N",
						e.device_path),
				    kCloseBypass});
}

// Who has it, and by what.
void judge_openers(const Host &host, const Export &e, std::vector<Finding> &findings)
{
	const std::vector<Session> sessions = read_sessions(host, true);
	for (const Opened &opened : read_opened(host)) {
		if (opened.client_path != e.name)
			continue;
		std::string text = fmt::format("has it open, {}", opened.access);
		for (const Session &session : sessions)
			for (const Path &path : session.paths) {
				if (session.name != opened.session)
					continue;
				text += fmt::format("; from {} by {}", path.source, path.hca);
				if (path.proven && *path.proven != "none")
					text += fmt::format(", key {}", *path.proven);
				if (path.counts.in_flight)
					text += fmt::format(", {} requests in flight",
							    *path.counts.in_flight);
			}
		findings.push_back({"session " + opened.session, "ok", text, ""});
	}
	if (e.denied.value_or(0))
		findings.push_back(
		    {"refusals", "note",
		     fmt::format("{} times a client was refused by its rules", *e.denied),
		     "dmesg | grep rnbd_server"});
}

// What its rules say to one client; what is not said of it is not judged.
Finding judge_client(const Export &e, const ExportClient &client)
{
	std::string stranger;
	if (!client.session.empty() &&
	    !rnbd::session_allowed(view(e.clients.value_or("")), view(client.session)))
		stranger = fmt::format("session {} is none of: {}", client.session, *e.clients);
	else if (!client.address.empty() && !comes_from(e.addresses.value_or(""), client.address))
		stranger = fmt::format("{} is none of: {}", client.address, *e.addresses);
	const auto mode = rnbd::parse_access_mode(view(e.access));
	const rnbd::AccessMode most = mode.ok() ? mode.value() : rnbd::AccessMode::ReadWrite;
	const auto access = rnbd::access_by_key(view(e.keys.value_or("")), view(client.key), most);
	if (stranger.empty() && !access.ok())
		stranger = client.key.empty()
			       ? fmt::format("it has to prove one of: {}", *e.keys)
			       : fmt::format("key {} is none of: {}", client.key, *e.keys);
	if (!stranger.empty())
		return {"client", "problem", "it is refused (EACCES): " + stranger,
			"rnbdadm server export set " + e.name};
	return {"client", "ok",
		fmt::format("it may ask for {} at the most", rnbd::to_text(access.value())), ""};
}

} // namespace

std::vector<Finding> explain_export(const Host &host, const Export &e,
				    const std::optional<ExportClient> &client)
{
	std::vector<Finding> findings;
	judge_serving(host, findings);
	const std::string what =
	    fmt::format("{}, open by {} sessions", e.access, e.users.value_or(0));
	if (e.enabled == "0")
		findings.push_back({"export " + e.name, "problem",
				    "disabled: no client can open it",
				    "rnbdadm server export enable " + e.name});
	else
		findings.push_back({"export " + e.name, "ok", what, ""});
	findings.push_back(judge_device(host, e));
	judge_keys(host, e, findings);
	if (client)
		findings.push_back(judge_client(e, *client));
	judge_openers(host, e, findings);
	return findings;
}

} // namespace rnbdadm
