// SPDX-License-Identifier: GPL-2.0
// A machine of plain files, and a kernel that does on a write what the modules would do.
#pragma once

#include "command.hh"

#include <filesystem>
#include <sstream>

namespace testing_support {

namespace fs = std::filesystem;
using rnbdadm::Exit;

// A temporary folder that ends with its owner.
class Folder {
public:
	Folder();
	Folder(const Folder &) = delete;
	Folder &operator=(const Folder &) = delete;
	~Folder();
	const std::string &path() const { return path_; }

private:
	std::string path_;
};

// The server's counts of what a session asked of a disk: reads of 4 KiB, writes of 8.
std::string requests_of_a_client(int reads, int writes, int errors);

class FakeHost : private Folder, public rnbdadm::Host {
public:
	FakeHost();

	// A file below the root, with its folders; a newline is added.
	void put(const std::string &path, const std::string &text);
	void drop(const std::string &path);

	// The usual machine: a client session "store" with two paths, of which the second is lost
	// if `degraded`; disks rnbd0 and rnbd1; two RDMA devices.
	void client(bool degraded = false);
	void server();
	void device(int number, const std::string &session, const std::string &device_path,
		    const std::string &access = "rw", const std::string &state = "open");
	void session(const std::string &name);
	void path(const std::string &session, const std::string &source,
		  const std::string &destination, const std::string &hca, const std::string &state);
	void hca(const std::string &name, const std::string &netdev, const std::string &state);

	// The modules: maps, unmaps, connects. What `errors` names is refused with its errno.
	int write(const std::string &path, const std::string &text, double seconds) override;
	std::vector<int> write_all(const std::vector<Order> &orders, double seconds) override;
	int make_folder(const std::string &path) override;
	int remove_folder(const std::string &path) override;
	std::vector<rnbdadm::NetAddress> addresses() const override { return nets; }
	std::optional<rnbdadm::ModuleFile> module_file(const std::string &release,
						       const std::string &name) const override;
	// All five modules for a kernel, below its folder; `signer` may be empty.
	void modules(const std::string &release, const std::string &folder,
		     const std::string &signer);
	// All of it at once; whoever waits for more finds the time over.
	rnbdadm::Resolved resolve(const std::string &name) const override
	{
		asked.push_back(name);
		auto found = machines.find(name);
		return found == machines.end() ? rnbdadm::Resolved{{}, "Name or service not known"}
					       : rnbdadm::Resolved{found->second, ""};
	}
	// Networks of 10.0.0.0/24 on eth0 and so on, and machines that answer.
	rnbdadm::Route route(const std::string &destination,
			     const std::string &source) const override;
	std::string neighbour(const std::string &netdev, const std::string &address) const override;
	std::vector<rnbdadm::RdmaConnection> rdma_connections() const override { return pairs; }
	std::vector<rnbdadm::RdmaQueuePair> rdma_queue_pairs() const override { return all_pairs; }
	std::map<std::string, rnbdadm::RdmaCounts> rdma_counts() const override { return held; }
	int add_hca(const std::string &name, const std::string &netdev) override;
	int remove_hca(const std::string &name) override;
	void watch_events(
	    const std::vector<std::string> &subsystems, double seconds,
	    const std::function<bool(const rnbdadm::KernelEvent &)> &take) const override;
	double wall_clock() const override { return 1795673626; }
	double now() const override { return time; }
	void sleep(double seconds) override
	{
		time += seconds;
		if (on_sleep)
			on_sleep();
	}

	bool may_write(const std::string &) const override { return is_root; }
	// A plain file may stand for a block device.
	rnbdadm::FileKind kind_of(const std::string &path) const override;

	// The kernel's keyring: a key that is there cannot be written anew.
	std::optional<std::vector<rnbdadm::KernelKey>> kernel_keys() const override { return ring; }
	int add_kernel_key(const std::string &description, const unsigned char *secret,
			   std::size_t size) override;
	int remove_kernel_key(std::int32_t serial) override;
	int load_module(const std::string &name) override;
	void keep_secrets() const override { kept_secrets = true; }
	std::uint32_t key_owner() const override { return owner; }
	bool is_privileged() const override { return is_root; }
	int input() const override { return standard_input; }

	std::map<std::string, std::vector<std::string>> machines; // by name, with their addresses
	mutable std::vector<std::string> asked;			  // of the resolver
	std::vector<rnbdadm::KernelEvent> happens;
	bool is_root = true;
	std::vector<std::string> disks;				 // paths of block devices
	std::map<std::string, rnbdadm::ModuleFile> module_files; // "<release> <name>"
	std::map<std::string, int> errors;			 // end of the path -> errno
	std::string lacks;					 // a file that sessions do not have
	std::string unknown_word;				 // EINVAL for who writes it
	std::vector<std::string> writes;			 // "path <- text"
	std::optional<std::vector<rnbdadm::KernelKey>> ring;	 // nothing: rtrs_core is not loaded
	std::map<std::string, std::string> secrets;		 // by description
	std::vector<std::string> loaded;			 // modules
	int module_error = 0, key_error = 0, hca_error = 0;
	std::uint32_t owner;
	int standard_input = -1;
	mutable bool kept_secrets = false;
	std::vector<rnbdadm::NetAddress> nets = {{"eth0", "10.0.0.2", false, true},
						 {"eth1", "10.0.1.2", false, true}};
	// What a server answers to discover.
	std::string exported = "131072 rw - data\n2048 ro here,read with blanks\n"
			       "0 migration missing gone\n4096 rw written hers\n";
	bool paths_too = false;
	std::map<std::string, rnbdadm::Route> routes;  // by destination
	std::map<std::string, std::string> neighbours; // by address
	std::vector<rnbdadm::RdmaConnection> pairs;
	std::vector<rnbdadm::RdmaQueuePair> all_pairs;
	std::map<std::string, rnbdadm::RdmaCounts> held;
	int others_ask = 0;
	std::vector<std::size_t> rounds; // how many writes began at once; none is no round
	double time = 1000;
	std::function<void()> on_sleep;

private:
	int map(const std::string &line);
	int next_ = 0, answers_ = 0;
};

struct Outcome {
	int code;
	std::string out, err;
};

Outcome run_words(FakeHost &host, const std::vector<std::string> &words);
// A command line, split at blanks.
Outcome run_line(FakeHost &host, const std::string &line);
// Compares with golden/<name>; with RNBDADM_GOLDEN=write in the environment, writes it instead.
void expect_golden(const std::string &name, const std::string &text);

} // namespace testing_support

using namespace testing_support;
