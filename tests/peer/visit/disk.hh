// SPDX-License-Identifier: GPL-2.0
// The kernel's client as its user sees it: a session with one disk, through sysfs and the block
// device.
#pragma once

#include <cstdint>
#include <string>

namespace peer {

struct Addresses {
	std::string client, server;
};

class MappedDisk {
public:
	MappedDisk(const Addresses &addresses, std::string session);

	// The errno of map_device, 0 if it worked. `options` are more of its own.
	int map(uint16_t port, const std::string &options = "");
	int unmap(const char *mode);
	// Writes a random block at the sector of the lies, or reads it back. Whether it worked, and
	// for read_back(), whether it is what was written.
	bool write_block();
	bool read_back();
	// The errno of a question what the server exports, in the session of the disk.
	int discover();
	// The errno of a registration with the disk, or what its driver says; see EBADE.
	int reserve() const;
	int reconnect() { return command("reconnect"); }
	int disconnect() { return command("disconnect"); }
	// Of its path; 0 or a negative errno.
	int last_error() const;
	int heartbeat_interval() const;
	int set_request_timeout(unsigned seconds) const;

	std::string state() const { return attribute("rnbd/state"); }
	// A file of the disk's directory, as text or number.
	std::string attribute(const std::string &name) const;
	uint64_t number(const std::string &name) const;
	// Whether the transport still has the session.
	bool session_exists() const;

private:
	int command(const std::string &name) const;
	bool transfer(bool write, void *block) const;

	Addresses addresses_;
	std::string session_;
	std::string disk_; // rnbdN
	unsigned char written_[4096];
};

} // namespace peer
