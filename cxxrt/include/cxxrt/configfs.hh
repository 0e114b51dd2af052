// SPDX-License-Identifier: GPL-2.0
// configfs: objects that an administrator makes by mkdir and ends by rmdir, their files methods.
//
// An object derives from ConfigfsObject<T> first, and lives by configfs's count: of its directory
// and of open files. The last one deletes it.
#pragma once

#include <cxxrt/bytes.hh>
#include <cxxrt/kernel.hh>
#include <cxxrt/lock.hh>
#include <cxxrt/new.hh>
#include <cxxrt/print.hh>
#include <cxxrt/result.hh>

namespace cxxrt {

template <class T> class ConfigfsObject {
public:
	ConfigfsObject(const ConfigfsObject &) = delete;
	ConfigfsObject &operator=(const ConfigfsObject &) = delete;

	static T &of(config_item *item)
	{
		return static_cast<T &>(
		    *container_of(to_config_group(item), ConfigfsObject, group_));
	}
	// One that lives by configfs's count from here on; null if there is no memory. `T` takes
	// the name and the type. May sleep.
	static T *create(const char *name, const config_item_type *type)
	{
		T *object = new (GFP_KERNEL) T(name, type);
		if (object && !object->item_name()) {
			config_item_put(object->item());
			return nullptr;
		}
		return object;
	}
	static void release(config_item *item) { delete &of(item); }

	config_group *group() { return &group_; }
	config_item *item() { return &group_.cg_item; }
	const char *item_name() { return config_item_name(item()); }

protected:
	// The name is copied; item_name() is null if there is no memory for that.
	ConfigfsObject(const char *name, const config_item_type *type)
	{
		config_group_init_type_name(&group_, name, type);
	}
	~ConfigfsObject() = default;

private:
	config_group group_{};
};

namespace detail {
template <class T, void (T::*kShow)(SysfsText &)>
ssize_t configfs_show(config_item *item, char *page)
{
	SysfsText text(page);
	(T::of(item).*kShow)(text);
	return text.length();
}

template <class T, Status (T::*kStore)(TextView)>
ssize_t configfs_store(config_item *item, const char *text, size_t size)
{
	// One trailing newline is not part of the input.
	const Status s =
	    (T::of(item).*kStore)(TextView(text, size && text[size - 1] == '\n' ? size - 1 : size));
	return s.ok() ? static_cast<ssize_t>(size) : s.code();
}
} // namespace detail

template <class T, void (T::*kShow)(SysfsText &)>
constexpr configfs_attribute configfs_read_only(const char *name)
{
	configfs_attribute a{};
	a.ca_name = name;
	a.ca_owner = THIS_MODULE;
	a.ca_mode = 0444;
	a.show = detail::configfs_show<T, kShow>;
	return a;
}

// Of a directory that is no object.
template <void (*kShow)(SysfsText &)>
constexpr configfs_attribute configfs_read_only(const char *name)
{
	configfs_attribute a{};
	a.ca_name = name;
	a.ca_owner = THIS_MODULE;
	a.ca_mode = 0444;
	a.show = [](config_item *, char *page) -> ssize_t {
		SysfsText text(page);
		kShow(text);
		return text.length();
	};
	return a;
}

template <class T, void (T::*kShow)(SysfsText &), Status (T::*kStore)(TextView)>
constexpr configfs_attribute configfs_read_write(const char *name)
{
	configfs_attribute a = configfs_read_only<T, kShow>(name);
	a.ca_mode = 0644;
	a.store = detail::configfs_store<T, kStore>;
	return a;
}

template <class T> constexpr configfs_item_operations configfs_object_operations()
{
	configfs_item_operations o{};
	o.release = T::release;
	return o;
}

// Of a directory in which objects are made. kMake gives the group of a new one, or configfs_error()
// why there is none; kDrop follows rmdir, and drops the reference of the directory.
template <class T, config_group *(*kMake)(const char *), void (*kDrop)(T &)>
constexpr configfs_group_operations configfs_folder_operations()
{
	configfs_group_operations o{};
	o.make_group = [](config_group *, const char *name) {
		return kMake(name);
	};
	o.drop_item = [](config_group *, config_item *item) {
		kDrop(T::of(item));
	};
	return o;
}

// What a directory is. configfs takes its tables as not const, and does not change them.
constexpr config_item_type configfs_type(configfs_attribute **files,
					 configfs_item_operations *object = nullptr,
					 configfs_group_operations *folder = nullptr)
{
	config_item_type t{};
	t.ct_owner = THIS_MODULE;
	t.ct_item_ops = object;
	t.ct_group_ops = folder;
	t.ct_attrs = files;
	return t;
}

inline config_group *configfs_error(Error why)
{
	return static_cast<config_group *>(ERR_PTR(why.code()));
}

// /sys/kernel/config/<name>. The module's use count is held by each directory in it, so it is empty
// when the module goes.
class ConfigfsSubsystem {
public:
	ConfigfsSubsystem() = default;
	ConfigfsSubsystem(const ConfigfsSubsystem &) = delete;
	ConfigfsSubsystem &operator=(const ConfigfsSubsystem &) = delete;
	~ConfigfsSubsystem()
	{
		if (registered_)
			configfs_unregister_subsystem(&subsystem_);
		if (named_)
			mutex_destroy(&subsystem_.su_mutex);
	}

	// With one directory `child` of type `child_type`, which is there from the beginning. The
	// name is that of the lock class: lock_class<"name">(). EEXIST, ENOMEM. May sleep.
	Status create(LockClass lock, const config_item_type *type, const char *child,
		      const config_item_type *child_type)
	{
		config_group_init_type_name(&subsystem_.su_group, lock.name, type);
		__mutex_init(&subsystem_.su_mutex, lock.name, lock.key);
		named_ = true;
		config_group_init_type_name(&child_, child, child_type);
		configfs_add_default_group(&child_, &subsystem_.su_group);
		TRY(Status::from_code(configfs_register_subsystem(&subsystem_)));
		registered_ = true;
		return {};
	}
	configfs_subsystem *get() { return &subsystem_; }

private:
	configfs_subsystem subsystem_{};
	config_group child_{};
	bool named_ = false;
	bool registered_ = false;
};

} // namespace cxxrt
