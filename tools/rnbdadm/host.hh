// SPDX-License-Identifier: GPL-2.0
// The machine that is administered: its files below a root folder, and the few other facts that
// commands ask for. Tests put a folder of their own, and answers of their own, in its place.
#pragma once

#include <cstdint>
#include <functional>
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

class Host {
public:
	// All paths are absolute and looked up below `root` ("" for this machine).
	explicit Host(std::string root = "") : root_(std::move(root)) {}
	Host(const Host &) = delete;
	Host &operator=(const Host &) = delete;
	virtual ~Host() = default;

	const std::string &root() const { return root_; }
	std::string place(const std::string &path) const { return root_ + path; }

	// The content without its last newline; nothing if it cannot be read. Never blocks on a
	// device: only sysfs, procfs and plain files are read.
	std::optional<std::string> read(const std::string &path) const;
	// The same, "" if it cannot be read.
	std::string text(const std::string &path) const;
	std::optional<std::uint64_t> number(const std::string &path) const;
	std::optional<std::int64_t> integer(const std::string &path) const;
	bool exists(const std::string &path) const;
	// Names in a folder, in natural order; none if there is no such folder.
	std::vector<std::string> list(const std::string &path) const;
	// Last component of what a link leads to, or "".
	std::string link(const std::string &path) const;

	// Writes `text` and a newline in one write(2), 0 or a positive errno. What the kernel does
	// with it may take its time: after `seconds` the answer is ETIMEDOUT, and the kernel goes
	// on.
	virtual int write(const std::string &path, const std::string &text, double seconds);
	// Called about once a second, with the seconds so far, while write() waits.
	std::function<void(double)> on_wait;
	// Whether this user may open it for writing; so is what does not exist.
	virtual bool may_write(const std::string &path) const;
	virtual int make_folder(const std::string &path);
	virtual int remove_folder(const std::string &path);
	// Replaces a plain file as a whole, so that no reader ever sees half of it.
	int replace_file(const std::string &path, const std::string &content);
	int remove_file(const std::string &path);

	virtual std::vector<NetAddress> addresses() const;
	// Seconds on a clock that only goes forward.
	virtual double now() const;
	virtual void sleep(double seconds);

private:
	std::string root_;
};

} // namespace rnbdadm
