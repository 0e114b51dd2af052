// SPDX-License-Identifier: GPL-2.0
// Whether the modules can be loaded, now and after the next reboot: their files for the running and
// for the newest kernel, what DKMS made of them, and whose signature the kernel wants.
#include "diagnosis.hh"
#include "text.hh"

#include <algorithm>
#include <regex>

#include <fmt/format.h>

namespace rnbdadm {

namespace {

const char *const kModules[] = {"rtrs_core", "rtrs_client", "rtrs_server", "rnbd_client",
				"rnbd_server"};
const std::string kDkms = "/var/lib/dkms/rnbd";
const std::string kSecureBoot =
    "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";

// Kernels that can be booted: folders of headers alone are none.
std::vector<std::string> installed_kernels(const Host &host)
{
	std::vector<std::string> kernels;
	for (const std::string &release : host.list("/lib/modules"))
		if (host.exists("/boot/vmlinuz-" + release) ||
		    host.exists("/lib/modules/" + release + "/vmlinuz") ||
		    host.exists("/lib/modules/" + release + "/kernel"))
			kernels.push_back(release);
	return kernels;
}

std::string dkms_version(const Host &host)
{
	std::string newest;
	for (const std::string &name : host.list(kDkms))
		if (!name.starts_with("kernel-") && host.exists(kDkms + "/" + name + "/source"))
			newest = name;
	return newest;
}

// Sources that are installed for DKMS, which may know nothing of them.
std::string sources_version(const Host &host)
{
	const std::string prefix = "rnbd-";
	std::string newest;
	for (const std::string &name : host.list("/usr/src"))
		if (name.starts_with(prefix) && host.exists("/usr/src/" + name + "/dkms.conf"))
			newest = name.substr(prefix.size());
	return newest;
}

// What dkms.conf says of a key, on this machine: a line of it may be for one architecture alone.
std::string dkms_setting(const Host &host, const std::string &tree, const std::string &arch,
			 const std::string &key)
{
	std::string value;
	for (std::string line : split(host.text(tree + "/source/dkms.conf"), "\n")) {
		const std::string others = "[ \"$arch\" != " + arch + " ] || ";
		if (line.starts_with(others))
			line.erase(0, others.size());
		if (line.starts_with(key + "=\"") && line.ends_with("\""))
			value = line.substr(key.size() + 2, line.size() - key.size() - 3);
	}
	return value;
}

bool fits(const std::string &word, const std::string &pattern)
{
	return std::regex_search(word, std::regex(pattern, std::regex::extended));
}

// Our own build's reason in the log of DKMS, if the log is of a build for that kernel.
std::string reason_in(const std::string &log, const std::string &release)
{
	if (log.find(" for kernel " + release + " ") == std::string::npos)
		return "";
	std::string last; // there may be a notice before it
	for (const std::string &line : split(log, "\n"))
		if (line.starts_with("cxxrt: "))
			last = ": " + line.substr(7);
	return last;
}

// Why there are no modules for a kernel, and what to do: DKMS is asked in its own files.
Finding missing_files(const Host &host, const std::string &check, const std::string &release)
{
	const std::string version = dkms_version(host);
	if (const std::string lost = version.empty() ? sources_version(host) : ""; !lost.empty())
		return {check, "problem",
			fmt::format("DKMS has forgotten rnbd {}, as it does when the last kernel "
				    "that had it is removed",
				    lost),
			fmt::format("dkms install rnbd/{} -k {}", lost, release)};
	if (version.empty())
		return {check, "problem", "there are no modules for it",
			"install the package rnbd-dkms, or build them: make && make install"};
	const std::string tree = kDkms + "/" + version, built = tree + "/" + release;
	const std::string arch = trim(host.text("/proc/sys/kernel/arch"));
	if (!arch.empty() && !fits(arch, dkms_setting(host, tree, arch, "BUILD_EXCLUSIVE_ARCH")))
		return {check, "problem",
			fmt::format("DKMS does not build rnbd {} for {}", version, arch),
			"README names the kernels and the machines that have modules"};
	if (!fits(release, dkms_setting(host, tree, arch, "BUILD_EXCLUSIVE_KERNEL")))
		return {check, "problem",
			fmt::format("rnbd {} is not for kernels of this series", version),
			"boot a kernel that it supports; README names the series"};
	if (!host.list(built).empty())
		return {check, "problem",
			fmt::format("DKMS has built rnbd {} and not installed it", version),
			fmt::format("dkms install rnbd/{} -k {}", version, release)};
	if (!host.exists("/lib/modules/" + release + "/build/Makefile"))
		return {
		    check, "problem",
		    fmt::format("DKMS could not build rnbd {}: the kernel's headers are missing",
				version),
		    "apt install linux-headers-" + release +
			", or its meta package, such as linux-headers-amd64"};
	const std::string log = tree + "/build/make.log";
	if (host.exists(log))
		return {
		    check, "problem",
		    fmt::format("DKMS failed to build rnbd {}{}", version,
				reason_in(host.text(log), release)),
		    fmt::format("see {}, then: dkms install rnbd/{} -k {}", log, version, release)};
	return {check, "problem", fmt::format("DKMS has not built rnbd {}", version),
		fmt::format("dkms install rnbd/{} -k {}", version, release)};
}

bool comes_with_kernel(const ModuleFile &file)
{
	return file.path.starts_with("kernel/");
}

// Keys that the kernel has, by their names in /proc/keys; root alone sees them.
bool trusts(const Host &host, const std::string &signer)
{
	for (const std::string &line : split(host.text("/proc/keys"), "\n"))
		if (line.find(" asymmetri ") != std::string::npos &&
		    line.find(" " + signer + ":") != std::string::npos)
			return true;
	return false;
}

// "Secure Boot is on", "...": why unsigned modules are refused, or empty.
std::string signature_wanted(const Host &host)
{
	if (trim(host.text("/sys/module/module/parameters/sig_enforce")) == "Y")
		return "the kernel loads signed modules only (module.sig_enforce)";
	const std::string lockdown = host.text("/sys/kernel/security/lockdown");
	if (!lockdown.empty() && lockdown.find("[none]") == std::string::npos)
		return "the kernel is locked down, and loads signed modules only";
	return "";
}

bool secure_boot(const Host &host)
{
	const std::string value = host.text(kSecureBoot);
	// Four bytes of attributes, then the value.
	return value.size() == 5 && value[4] == 1;
}

void examine_signatures(const Host &host, const std::string &check,
			const std::vector<ModuleFile> &files, std::vector<Finding> &findings)
{
	std::string wanted = signature_wanted(host);
	if (wanted.empty() && secure_boot(host))
		wanted = "Secure Boot is on";
	if (wanted.empty())
		return;
	const std::string enrol = "mokutil --import /var/lib/dkms/mok.pub, then reboot and confirm "
				  "it on the console";
	for (const ModuleFile &file : files) {
		if (!file.is_signed) {
			findings.push_back(
			    {check, "problem",
			     fmt::format("{}, and {} is not signed", wanted, file.path),
			     "sign it with a key that the firmware knows; DKMS does so by itself "
			     "where "
			     "openssl and the kernel's sign-file are there: dkms install --force"});
			return;
		}
		if (!trusts(host, file.signer)) {
			findings.push_back(
			    {check, "problem",
			     fmt::format("{}, and does not know the key of {}: {}", wanted,
					 file.path,
					 file.signer.empty() ? "it has no name" : file.signer),
			     enrol});
			return;
		}
	}
	findings.push_back(
	    {check, "ok", fmt::format("{}, and knows {}", wanted, files.front().signer), ""});
}

// The modules that are loaded may be of another build than the files.
void compare_loaded(const Host &host, const std::string &check, const std::string &name,
		    const ModuleFile &file, std::vector<Finding> &findings)
{
	const std::string loaded = trim(host.text("/sys/module/" + name + "/srcversion"));
	if (!loaded.empty() && !file.srcversion.empty() && loaded != file.srcversion)
		findings.push_back(
		    {check, "note",
		     fmt::format("{} that is loaded is not the one in {}", name, file.path),
		     "the new one is loaded at the next start; before, unmap all disks "
		     "and: modprobe -r " +
			 name});
}

void examine_kernel(const Host &host, const std::string &check, const std::string &release,
		    bool running, std::vector<Finding> &findings)
{
	std::vector<ModuleFile> files;
	std::vector<std::string> missing, of_kernel;
	for (const char *name : kModules) {
		std::optional<ModuleFile> file = host.module_file(release, name);
		if (!file) {
			missing.push_back(name);
			continue;
		}
		if (comes_with_kernel(*file))
			of_kernel.push_back(name);
		files.push_back(*file);
	}
	if (files.empty()) {
		findings.push_back(missing_files(host, check, release));
		return;
	}
	if (!missing.empty())
		findings.push_back(
		    {check, "problem", "modules are missing: " + join(missing, ", "),
		     "install them again; depmod " + release + " if their files are there"});
	const ModuleFile &first = files.front();
	if (of_kernel.size() == files.size())
		findings.push_back(
		    {check, "note",
		     "modprobe takes the kernel's own modules: " + join(of_kernel, ", "),
		     "those of rnbd-dkms notice a connection that hangs, and have more "
		     "settings"});
	else if (!of_kernel.empty())
		findings.push_back(
		    {check, "problem",
		     fmt::format("modprobe takes {} of the kernel, and the others from {}",
				 join(of_kernel, ", "), first.path),
		     "they do not fit each other: install all of one kind, then depmod " +
			 release});
	else
		findings.push_back(
		    {check, "ok",
		     fmt::format("{}{}{}", first.path.substr(0, first.path.rfind('/')),
				 first.version.empty() ? "" : ", version " + first.version,
				 first.is_signed ? ", signed by " + first.signer : ", not signed"),
		     ""});
	if (first.kernel == "untested")
		findings.push_back(
		    {check, "note", "kernels of this series are not among those that are tested",
		     fmt::format("make -C /usr/src/rnbd-{} selftest tries what they are "
				 "built on, in the kernel that runs",
				 first.version)});
	examine_signatures(host, check, files, findings);
	if (!running)
		return;
	for (const char *name : kModules)
		if (auto file = host.module_file(release, name))
			compare_loaded(host, check, name, *file, findings);
}

} // namespace

void examine_module_files(const Host &host, std::vector<Finding> &findings)
{
	const std::string running = trim(host.text("/proc/sys/kernel/osrelease"));
	if (!running.empty())
		examine_kernel(host, "modules for this kernel, " + running, running, true,
			       findings);
	const std::vector<std::string> kernels = installed_kernels(host);
	if (!kernels.empty() && kernels.back() != running)
		examine_kernel(host, "modules for the newest kernel, " + kernels.back(),
			       kernels.back(), false, findings);
}

} // namespace rnbdadm
