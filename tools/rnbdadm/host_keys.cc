// SPDX-License-Identifier: GPL-2.0
// The kernel's keyring .rnbd, by libkeyutils, and the module that makes it, by libkmod.
#include "host.hh"

#include <cerrno>
#include <memory>

#include <keyutils.h>
#include <libkmod.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace rnbdadm {

namespace {

struct Free {
	void operator()(void *memory) const { free(memory); }
};

// 0 if there is none. Nobody but the kernel makes keyrings whose names begin with a dot.
key_serial_t keyring()
{
	key_serial_t ring = find_key_by_type_and_desc("keyring", ".rnbd", 0);
	return ring < 0 ? 0 : ring;
}

// "type;uid;gid;permissions;description": the last one may have anything in it.
KernelKey described(key_serial_t serial)
{
	KernelKey key;
	key.serial = serial;
	char *text = nullptr;
	if (keyctl_describe_alloc(serial, &text) < 0) {
		key.error = errno;
		return key;
	}
	const std::unique_ptr<char, Free> owner(text);
	const std::string line = text;
	std::size_t at = 0;
	for (int i = 0; i < 4 && at != std::string::npos; i++)
		at = line.find(';', at + (i ? 1 : 0));
	key.type = line.substr(0, line.find(';'));
	key.description = at == std::string::npos ? "" : line.substr(at + 1);
	return key;
}

} // namespace

std::optional<std::vector<KernelKey>> Host::kernel_keys() const
{
	// Another machine's files have no kernel.
	const key_serial_t ring = root_.empty() ? keyring() : 0;
	if (!ring)
		return std::nullopt;
	void *content = nullptr;
	const int size = keyctl_read_alloc(ring, &content);
	if (size < 0)
		return std::nullopt;
	const std::unique_ptr<void, Free> owner(content);
	const key_serial_t *serials = static_cast<const key_serial_t *>(content);
	std::vector<KernelKey> keys;
	for (std::size_t i = 0; i < static_cast<std::size_t>(size) / sizeof *serials; i++) {
		KernelKey key = described(serials[i]);
		// One that goes away at this moment.
		if (key.error != ENOKEY)
			keys.push_back(key);
	}
	return keys;
}

int Host::add_kernel_key(const std::string &description, const unsigned char *secret,
			 std::size_t size)
{
	const key_serial_t ring = keyring();
	if (!ring)
		return ENOKEY;
	return add_key("logon", description.c_str(), secret, size, ring) < 0 ? errno : 0;
}

int Host::remove_kernel_key(std::int32_t serial)
{
	const key_serial_t ring = keyring();
	if (!ring)
		return ENOKEY;
	return keyctl_unlink(serial, ring) < 0 ? errno : 0;
}

int Host::load_module(const std::string &name)
{
	struct Unref {
		void operator()(struct kmod_ctx *context) const { kmod_unref(context); }
	};
	const std::unique_ptr<struct kmod_ctx, Unref> context(kmod_new(nullptr, nullptr));
	struct kmod_list *found = nullptr;
	if (!context)
		return ENOMEM;
	int error = kmod_module_new_from_lookup(context.get(), name.c_str(), &found);
	if (error < 0 || !found)
		return error < 0 ? -error : ENOENT;
	struct kmod_module *module = kmod_module_get_module(found);
	kmod_module_unref_list(found);
	// As modprobe does: with what it needs, and the options of modprobe.d.
	error = kmod_module_probe_insert_module(module, 0, nullptr, nullptr, nullptr, nullptr);
	kmod_module_unref(module);
	return error < 0 ? -error : 0;
}

void Host::keep_secrets() const
{
	prctl(PR_SET_DUMPABLE, 0);
	const struct rlimit none = {};
	setrlimit(RLIMIT_CORE, &none);
}

std::uint32_t Host::key_owner() const
{
	return 0;
}

bool Host::is_privileged() const
{
	return geteuid() == 0;
}

int Host::input() const
{
	return STDIN_FILENO;
}

} // namespace rnbdadm
