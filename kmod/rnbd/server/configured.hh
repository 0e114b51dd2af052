// SPDX-License-Identifier: GPL-2.0
// Exports that an administrator has configured: /sys/kernel/config/rnbd/exports/<name>/.
//
// A client that gives the name of one gets its device, if the rules allow; dev_search_path has no
// part in it. Changes hold at once, also for those who have the device open: who is no longer
// allowed is closed out. rmdir is refused while somebody has it open.
//
// Locks: the one of ConfiguredExports guards all rules and uses. It is taken inside of the
// transport's and of configfs's locks, and none of them is taken inside of it.
#pragma once

#include <cxxrt/configfs.hh>
#include <cxxrt/guarded.hh>
#include <cxxrt/list.hh>
#include <cxxrt/memory.hh>
#include <rnbd/pure/device_path.hh>
#include <rnbd/pure/export_rules.hh>
#include <rnbd/pure/local_use.hh>
#include <rnbd/server/mapping.hh>
#include <rnbd/server/opening.hh>

namespace rnbd::server {

class ConfiguredExport;
class Module;
class Session;

constexpr usize kMaxListText = 1024;
constexpr u32 kMaxAddressRules = 32;

// One session that opens, or has open, a configured export. Made by admit(), owned by the mapping.
class ExportUse {
public:
	ExportUse(ConfiguredExport &entry, Session &session, AccessMode mode)
	    : entry_(entry), session_(session), mode_(mode)
	{
	}
	ExportUse(const ExportUse &) = delete;
	ExportUse &operator=(const ExportUse &) = delete;
	// May sleep.
	~ExportUse();

	// As those of Mapping.
	Status published(Mapping &mapping);
	Status still_allowed();
	// The device behind it, constant while it is in use.
	Result<dev_t> find_device() const;
	// Opens it, claimed for the exports of this server unless the export shares it with this
	// machine. EBUSY if something of this machine has claimed it, which the log names; what
	// looks like a short look of udev's is waited for, a second. ECONNABORTED if the OPEN is
	// given up, or as BlockDevice::open(). Sleeps as long as the device does.
	Result<BlockDevice> open(dev_t number, bool write, const Opener &opener);

private:
	friend class ConfiguredExport;
	friend class ConfiguredExports;

	bool claims() const;

	ConfiguredExport &entry_;
	Session &session_;
	const AccessMode mode_;
	bool depends_ = false; // rmdir is refused
	// Under the lock.
	Mapping *mapping_ = nullptr;
	dev_t number_ = 0; // once it has a mapping
	bool revoked_ = false;
	cxxrt::ListNode node_;
};

class ConfiguredExport : public cxxrt::ConfigfsObject<ConfiguredExport> {
public:
	ConfiguredExport(const char *name, const config_item_type *type)
	    : ConfigfsObject(name, type)
	{
	}

	// The files.
	void show_device_path(cxxrt::SysfsText &out);
	Status store_device_path(TextView text);
	void show_access(cxxrt::SysfsText &out);
	Status store_access(TextView text);
	void show_sessions(cxxrt::SysfsText &out);
	Status store_sessions(TextView text);
	void show_keys(cxxrt::SysfsText &out);
	Status store_keys(TextView text);
	void show_addresses(cxxrt::SysfsText &out);
	Status store_addresses(TextView text);
	void show_local_use(cxxrt::SysfsText &out);
	Status store_local_use(TextView text);
	void show_enable(cxxrt::SysfsText &out);
	Status store_enable(TextView text);
	void show_users(cxxrt::SysfsText &out);
	void show_denied(cxxrt::SysfsText &out);

	cxxrt::ListNode table_node;

private:
	friend class ExportUse;
	friend class ConfiguredExports;

	// All under the lock.
	// The most that the session may ask for; EACCES.
	Result<AccessMode> most_of(Session &session) const;
	bool permits(Session &session, AccessMode mode) const;
	bool permits_host(const HostAddress &host) const;
	template <class F> Status change(F &&f);
	// Not under the lock.
	Status await_revoked();
	Status check_local_users();
	// Named, for objtool bounds the length of a function's name, and this is in two of them.
	struct ListText : cxxrt::TextBuffer<kMaxListText> {};
	Status change_list(ListText &list, TextView text);

	u32 number_ = 0; // rises from one export to the next
	cxxrt::TextBuffer<kPathSize> device_path_;
	ListText sessions_;
	ListText keys_;
	ListText addresses_text_;
	AddressRule addresses_[kMaxAddressRules];
	u32 address_count_ = 0;
	AccessMode access_ = AccessMode::ReadWrite;
	LocalUse local_use_ = LocalUse::Exclusive;
	bool enabled_ = false;
	u64 denied_ = 0;
	cxxrt::List<ExportUse, &ExportUse::node_> uses_;
};

class ConfiguredExports {
public:
	explicit ConfiguredExports(bool exports_only);
	ConfiguredExports(const ConfiguredExports &) = delete;
	ConfiguredExports &operator=(const ConfiguredExports &) = delete;

	// Makes the tree. EEXIST, ENOMEM. May sleep.
	Status create();

	// Whether the session may open the name: EACCES, counted, if a rule is against it, or if
	// there is no such export and only exports may be opened; EACCES for a mode that takes an
	// export where there is none; no use if there is none otherwise. May sleep.
	Result<cxxrt::Box<ExportUse>> admit(Session &session, TextView name, AccessMode mode);
	// A path of the session comes from that host. EACCES if an export that the session uses
	// does not allow it. May sleep.
	Status add_host(Session &session, const HostAddress &host);
	// After an add_host() that succeeded.
	void remove_host(Session &session, const HostAddress &host);

	// One that a session may open, at least to read.
	struct Seen {
		u32 number;
		AccessMode access; // the most that it may ask for
		cxxrt::TextBuffer<kDeviceNameSize> name;
		cxxrt::TextBuffer<kPathSize> device_path;
	};
	// The one with the lowest number from `first` on; false if there is none. May sleep.
	bool see(Session &session, u32 first, Seen &seen);
	// Whether names that are no exports can be opened.
	bool paths_too() const { return !exports_only_; }

	// f(name) for each export by which a session has the device of that number open. Under the
	// lock of the rules. May sleep.
	template <class F> void for_each_open(dev_t number, F &&f)
	{
		entries_.with([&](Entries &entries) {
			for (ConfiguredExport &e : entries)
				for (ExportUse &use : e.uses_)
					if (use.number_ == number)
						f(e.item_name());
		});
	}

	// configfs.
	config_group *make(const char *name);
	void drop(ConfiguredExport &entry);
	void show_denied_unlisted(cxxrt::SysfsText &out);
	// f(), while nothing of the table and of its exports changes. May sleep.
	template <class F> void locked(F &&f)
	{
		entries_.with([&](Entries &) { f(); });
	}

private:
	friend class ConfiguredExport;
	friend class ExportUse;

	using Entries = cxxrt::List<ConfiguredExport, &ConfiguredExport::table_node>;

	static ConfiguredExport *find(Entries &entries, TextView name);

	const bool exports_only_;
	u32 last_number_ = 0;	  // under the lock
	u64 denied_unlisted_ = 0; // under the lock
	cxxrt::Guarded<Entries, cxxrt::Mutex> entries_;
	cxxrt::ConfigfsSubsystem subsystem_;
};

// Of the one module: configfs gives its calls nothing of ours.
ConfiguredExports &configured_exports();

// The address of a client as the rules have it.
HostAddress host_of(const sockaddr_storage &address);

} // namespace rnbd::server
