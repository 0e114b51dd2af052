// SPDX-License-Identifier: GPL-2.0
#include <rtrs/server/key_lists.hh>

using namespace cxxrt;

namespace rtrs::server {
namespace {

constinit KeyLists *table_ = nullptr;

constinit configfs_attribute files[] = {
    configfs_read_write<KeyList, &KeyList::show_sessions, &KeyList::store_sessions>(
	"allowed_sessions"),
};
constinit configfs_attribute *file_list[] = {&files[0], nullptr};
constinit configfs_item_operations list_operations = configfs_object_operations<KeyList>();
constinit const config_item_type list_type = configfs_type(file_list, &list_operations);

config_group *make_list(const char *name)
{
	return table_->make(name);
}

void drop_list(KeyList &list)
{
	table_->drop(list);
}

constinit configfs_group_operations folder_operations =
    configfs_folder_operations<KeyList, make_list, drop_list>();
constinit const config_item_type folder_type = configfs_type(nullptr, nullptr, &folder_operations);
constinit const config_item_type root_type = configfs_type(nullptr);

} // namespace

// Under the lock: a text that is being replaced has no end for a moment.
void KeyList::show_sessions(SysfsText &out)
{
	table_->locked([&] { out.print("%s\n", sessions_.c_str()); });
}

Status KeyList::store_sessions(TextView text)
{
	if (text.size() >= kMaxText)
		return err::einval;
	TRY(check_session_list(text));
	table_->locked([&] { sessions_.assign(text); });
	return {};
}

KeyLists::KeyLists()
{
	table_ = this;
}

Status KeyLists::create()
{
	return subsystem_.create(cxxrt::lock_class<"rtrs">(), &root_type, "keys", &folder_type);
}

config_group *KeyLists::make(const char *name)
{
	if (const Status s = check_key_name(TextView::of(name)); !s.ok())
		return configfs_error(s.error());
	KeyList *list = KeyList::create(name, &list_type);
	if (!list)
		return configfs_error(err::enomem);
	lists_.with([&](Lists &lists) { lists.push_back(*list); });
	return list->group();
}

void KeyLists::drop(KeyList &list)
{
	lists_.with([&](Lists &) { list.table_node.unlink(); });
	config_item_put(list.item());
}

template <class Rule> bool KeyLists::ask(Rule &&rule)
{
	return lists_.with([&](Lists &lists) {
		return rule([&](auto &&f) {
			for (KeyList &list : lists)
				f(KeyRule{TextView::of(list.item_name()), list.sessions_.view()});
		});
	});
}

bool KeyLists::open(TextView key, TextView session)
{
	return ask([&](auto &&each) { return name_open_to(key, session, each); });
}

bool KeyLists::bound(TextView key, TextView session)
{
	return ask([&](auto &&each) { return name_is_bound(key, session, each); });
}

} // namespace rtrs::server
