// SPDX-License-Identifier: GPL-2.0
// The machine that is administered: its files below a root folder, and the few other facts that
// commands ask for. Tests put a folder of their own, and answers of their own, in its place.
#pragma once

#include "network.hh"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rnbdadm {

// An address of a network interface.
struct NetAddress {
	std::string netdev;
	std::string address; // literal, without prefix length
	bool link_local = false;
	bool up = false;
};

// A file that modprobe would load.
struct ModuleFile {
	std::string path; // below /lib/modules/<release>
	std::string version, srcversion;
	bool is_signed = false;
	std::string signer;
	std::string kernel; // tested or untested: the series that it was built for
};

// A key in the kernel's keyring of the modules; one that cannot be described (it has expired, or
// was revoked) has no name, but the reason.
struct KernelKey {
	std::int32_t serial = 0;
	std::string type, description;
	int error = 0;
};

// A message of the kernel, and when it came, in seconds since 1970.
struct KernelEvent {
	double time = 0;
	std::map<std::string, std::string> properties;
};

// What a name stands for: literal addresses of both families, the best first; or why not.
struct Resolved {
	std::vector<std::string> addresses;
	std::string error;
};

// How a program ended: not started (an errno), by the limit, or with an exit code, which is 128 and
// the signal for one that was killed.
struct ProgramEnd {
	int error = 0;
	bool late = false;
	int status = 0;
};

// What a path leads to, links followed; an errno if it leads to nothing.
struct FileKind {
	int error = 0;
	bool folder = false, plain = false, block = false;
	std::uint32_t owner = 0;
	unsigned mode = 0; // its permissions
};

class Host {
public:
	// All paths are absolute and looked up below `root` ("" for this machine).
	explicit Host(std::string root = "") : root_(std::move(root)) {}
	Host(const Host &) = delete;
	Host &operator=(const Host &) = delete;
	virtual ~Host() = default;

	const std::string &root() const { return root_; }
	std::string place(const std::string &path) const { return root_ + path; }

	// What is absent is an answer; what is there and cannot be looked at is a Failure of all
	// that follow. The content without its last newline; nothing if there is none. Never
	// blocks on a device: only sysfs, procfs and plain files are read.
	std::optional<std::string> read(const std::string &path) const;
	// The same, "" if there is none.
	std::string text(const std::string &path) const;
	std::optional<std::uint64_t> number(const std::string &path) const;
	std::optional<std::int64_t> integer(const std::string &path) const;
	bool exists(const std::string &path) const;
	// Names in a folder, in natural order; none if there is no such folder.
	std::vector<std::string> list(const std::string &path) const;
	// Last component of what a link leads to, or "".
	std::string link(const std::string &path) const;

	// Writes `text` and a newline in one write(2), 0 or a positive errno of the kernel. What
	// the kernel does with it may take its time: after `seconds` it is asked to give up, and
	// the answer is kCancelled if it did, kGoesOn if it does not let go.
	static constexpr int kCancelled = -1, kGoesOn = -2;
	virtual int write(const std::string &path, const std::string &text, double seconds);
	// Several writes at once, with one limit for all; an answer for each.
	struct Order {
		std::string path, text;
	};
	virtual std::vector<int> write_all(const std::vector<Order> &orders, double seconds);
	// Called about once a second while writes wait, with the seconds so far and how many are
	// not answered.
	std::function<void(double, std::size_t)> on_wait;
	// Whether this user may open it for writing; so is what does not exist.
	virtual bool may_write(const std::string &path) const;
	virtual int make_folder(const std::string &path);
	virtual int remove_folder(const std::string &path);
	// Replaces a plain file as a whole, so that no reader ever sees half of it. A folder that
	// is missing is made for what is this program's own; elsewhere a name that was mistyped
	// would make one.
	enum class Folders { MustExist, Make };
	int replace_file(const std::string &path, const std::string &content,
			 Folders folders = Folders::MustExist);
	int remove_file(const std::string &path);
	// A symbolic link, with the folders that it lies in; one that is there is replaced.
	int make_link(const std::string &path, const std::string &target);

	virtual std::vector<NetAddress> addresses() const;
	// May take as long as the resolver's own limits allow.
	virtual Resolved resolve(const std::string &name) const;
	// The way to a literal address, from `source` if it is not "".
	virtual Route route(const std::string &destination, const std::string &source) const;
	// What the kernel knows of who has that address there, in its own words ("reachable",
	// "failed" ...); "" if it has not asked.
	virtual std::string neighbour(const std::string &netdev, const std::string &address) const;
	// Of all RDMA devices; a kernel that does not tell has none.
	virtual std::vector<RdmaQueuePair> rdma_queue_pairs() const;
	virtual std::vector<RdmaConnection> rdma_connections() const;
	virtual std::map<std::string, RdmaCounts> rdma_counts() const; // by device
	// A device of soft-RoCE on a network interface, and its end. 0 or a positive errno; EINVAL
	// for the end of one that is hardware.
	virtual int add_hca(const std::string &name, const std::string &netdev);
	virtual int remove_hca(const std::string &name);

	// What modprobe would load by that name under that kernel; nothing if there is none.
	virtual std::optional<ModuleFile> module_file(const std::string &release,
						      const std::string &name) const;
	// What is in the keyring .rnbd; nothing while there is none, and for who is not root.
	virtual std::optional<std::vector<KernelKey>> kernel_keys() const;
	// 0 or a positive errno.
	virtual int add_kernel_key(const std::string &description, const unsigned char *secret,
				   std::size_t size);
	virtual int remove_kernel_key(std::int32_t serial);
	virtual int load_module(const std::string &name);
	// From now on nobody reads this process, and nothing writes its memory down.
	virtual void keep_secrets() const;
	// Who has to own files with secrets; root.
	virtual std::uint32_t key_owner() const;
	virtual bool is_privileged() const;
	// Descriptor of the standard input.
	virtual int input() const;

	// Calls `take` for each event of these subsystems until it returns false or `seconds` are
	// over (0: never). Failure.
	virtual void watch_events(const std::vector<std::string> &subsystems, double seconds,
				  const std::function<bool(const KernelEvent &)> &take) const;

	// Runs a program of this machine, by its place and without a shell, and waits for its end;
	// after `seconds` it is ended, with all that it has started in its process group.
	virtual ProgramEnd run_program(const std::vector<std::string> &words,
				       const std::vector<std::string> &environment,
				       double seconds) const;

	// Seconds on a clock that only goes forward.
	virtual double now() const;
	// Seconds since 1970.
	virtual double wall_clock() const;
	virtual void sleep(double seconds);
	virtual FileKind kind_of(const std::string &path) const;

private:
	std::string root_;
};

} // namespace rnbdadm
