// SPDX-License-Identifier: GPL-2.0
// Files of modules, looked up and read by libkmod: the way modprobe takes, for any installed
// kernel, compressed or not.
#include "host.hh"

#include "text.hh"

#include <memory>

#include <libkmod.h>

namespace rnbdadm {

namespace {

struct Unref {
	void operator()(struct kmod_ctx *context) const { kmod_unref(context); }
	void operator()(struct kmod_module *module) const { kmod_module_unref(module); }
};

void read_info(struct kmod_module *module, ModuleFile &file)
{
	struct kmod_list *all = nullptr;
	if (kmod_module_get_info(module, &all) < 0)
		return;
	for (struct kmod_list *at = all; at; at = kmod_list_next(all, at)) {
		std::string key = kmod_module_info_get_key(at),
			    value = kmod_module_info_get_value(at);
		if (key == "version")
			file.version = value;
		else if (key == "srcversion")
			file.srcversion = value;
		else if (key == "kernel")
			file.kernel = value;
		else if (key == "signer")
			file.signer = value;
		else if (key == "sig_hashalgo")
			file.is_signed = true;
	}
	kmod_module_info_free_list(all);
}

} // namespace

std::optional<ModuleFile> Host::module_file(const std::string &release,
					    const std::string &name) const
{
	const std::string folder = place("/lib/modules/" + release);
	// Without the machine's modprobe.d: what is blacklisted has a file, too.
	const char *no_config = nullptr;
	std::unique_ptr<struct kmod_ctx, Unref> context(kmod_new(folder.c_str(), &no_config));
	if (!context)
		return std::nullopt;
	struct kmod_list *found = nullptr;
	if (kmod_module_new_from_lookup(context.get(), name.c_str(), &found) < 0 || !found)
		return std::nullopt;
	std::unique_ptr<struct kmod_module, Unref> module(kmod_module_get_module(found));
	kmod_module_unref_list(found);
	const char *path = kmod_module_get_path(module.get());
	if (!path)
		return std::nullopt;
	ModuleFile file;
	file.path = path;
	if (file.path.starts_with(folder + "/"))
		file.path.erase(0, folder.size() + 1);
	read_info(module.get(), file);
	return file;
}

} // namespace rnbdadm
