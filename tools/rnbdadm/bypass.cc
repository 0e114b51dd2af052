// SPDX-License-Identifier: GPL-2.0
// The way past the rules of exports.
#include "bypass.hh"

#include "text.hh"

#include <algorithm>

namespace rnbdadm {

namespace {

const std::string kParameters = "/sys/module/rnbd_server/parameters/";
const std::string kModprobeFolder = "/etc/modprobe.d";

} // namespace

std::optional<std::string> open_folder(const Host &host)
{
	const std::string search = trim(host.text(kParameters + "dev_search_path"));
	if (search.empty() || trim(host.text(kParameters + "exports_only")) == "Y")
		return std::nullopt;
	std::string folder = search.substr(0, search.find('%'));
	// Of /srv/%SESSNAME and of /srv/a-%SESSNAME% as well.
	if (folder.size() < search.size())
		folder.erase(folder.rfind('/') + 1);
	while (folder.size() > 1 && folder.ends_with('/'))
		folder.pop_back();
	return folder;
}

bool opens_by_path(const Host &host, const std::string &device_path)
{
	const std::optional<std::string> folder = open_folder(host);
	return folder && device_path.starts_with(*folder == "/" ? "/" : *folder + "/");
}

bool is_meant_open(const Host &host)
{
	for (const std::string &name : host.list(kModprobeFolder)) {
		if (!name.ends_with(".conf"))
			continue;
		for (const std::string &line :
		     split(host.text(kModprobeFolder + "/" + name), "\n")) {
			const std::vector<std::string> words = split(line);
			if (words.size() < 3 || words[0] != "options" || words[1] != "rnbd_server")
				continue;
			for (const char *word :
			     {"exports_only=N", "exports_only=n", "exports_only=0"})
				if (std::count(words.begin(), words.end(), word))
					return true;
		}
	}
	return false;
}

} // namespace rnbdadm
