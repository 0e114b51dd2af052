// SPDX-License-Identifier: GPL-2.0
// Exports through configfs.
#include "exports.hh"

#include "text.hh"

#include <ostream>

#include <fmt/format.h>

namespace rnbdadm {

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

namespace {

void check_name(const std::string &name)
{
	if (name.empty() || name.size() > 254 || name == "." || name == ".." ||
	    name.find_first_of("/ \n") != std::string::npos)
		throw Failure(Exit::Usage,
			      fmt::format("'{}' cannot be the name of an export", name),
			      "it has 1 to 254 characters without blank and '/'");
}

// The first of the files that the module has, or "".
std::string file_of(const Host &host, const std::string &folder,
		    std::initializer_list<const char *> names)
{
	for (const char *name : names)
		if (host.exists(folder + "/" + name))
			return folder + "/" + name;
	return "";
}

void fill(Call &call, const ExportRequest &request, const std::string &folder)
{
	std::string what = "cannot export " + request.name;
	if (!request.access.empty())
		call.write(folder + "/access", request.access, Action::Export, what);
	call.write(folder + "/device_path", request.device_path, Action::Export, what);
	if (!request.clients.empty()) {
		std::string file = file_of(call.host, folder, {"allowed_sessions"});
		if (file.empty() && !call.dry_run)
			throw Failure(
			    Exit::Missing,
			    what + ": the loaded module cannot limit the clients of one export");
		call.write(file.empty() ? folder + "/allowed_sessions" : file,
			   join(request.clients, " "), Action::Export, what);
	}
	// Last, so that no client opens what is half set up.
	std::string enable = file_of(call.host, folder, {"enable"});
	if (!enable.empty())
		call.write(enable, "1", Action::Export, what);
}

} // namespace

void add_export(Call &call, const ExportRequest &request)
{
	check_name(request.name);
	need_exports(call.host);
	std::string folder = kExports + "/" + request.name;
	if (call.host.exists(folder))
		throw Failure(Exit::Exists,
			      fmt::format("there is an export '{}' already", request.name));
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

void remove_export(Call &call, const std::string &name)
{
	std::string folder = kExports + "/" + name;
	// Closes out those that have it open; without, the kernel keeps an export with users.
	if (call.has("force") && call.host.exists(folder + "/enable"))
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
