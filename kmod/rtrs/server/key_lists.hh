// SPDX-License-Identifier: GPL-2.0
// Which names of sessions the keys open: /sys/kernel/config/rtrs/keys/<key>/ (protocol J.3).
//
// A folder is a rule for the keys of its name, whether there are any or not: secrets are in the
// keyring, and names only here. Each path looks every second whether the rules still give it its
// session's name (Path::revalidate_auth), so who changes a list ends nothing by himself.
//
// Lock: the one of KeyLists guards all lists. It is taken inside of configfs's locks, and none is
// taken inside of it.
#pragma once

#include <cxxrt/configfs.hh>
#include <cxxrt/guarded.hh>
#include <cxxrt/list.hh>
#include <rtrs/pure/key_rules.hh>

namespace rtrs::server {

class KeyList : public cxxrt::ConfigfsObject<KeyList> {
public:
	KeyList(const char *name, const config_item_type *type) : ConfigfsObject(name, type) {}

	// The file.
	void show_sessions(cxxrt::SysfsText &out);
	Status store_sessions(TextView text);

	cxxrt::ListNode table_node;

private:
	friend class KeyLists;

	enum : usize { kMaxText = 1024 };

	cxxrt::TextBuffer<kMaxText> sessions_; // under the lock
};

class KeyLists {
public:
	// One at a time: configfs gives its calls nothing of ours.
	KeyLists();

	// From here on there are folders. Nothing may fail afterwards: a tree in which somebody has
	// made something stays, and so does the module. EEXIST, ENOMEM. May sleep.
	Status create();

	// Whether a client that has proven `key`, or nothing if that is empty, may call its session
	// so. May sleep.
	bool open(TextView key, TextView session);
	// Whether the name is more than the client's word. May sleep.
	bool bound(TextView key, TextView session);

	// ---- for the files ----

	config_group *make(const char *name);
	void drop(KeyList &list);
	template <class F> void locked(F &&f)
	{
		lists_.with([&](Lists &) { f(); });
	}

private:
	using Lists = cxxrt::List<KeyList, &KeyList::table_node>;
	template <class Rule> bool ask(Rule &&rule);

	cxxrt::Guarded<Lists, cxxrt::Mutex> lists_{cxxrt::lock_class<"rtrs_key_lists">()};
	cxxrt::ConfigfsSubsystem subsystem_;
};

} // namespace rtrs::server
