// SPDX-License-Identifier: GPL-2.0
// The tree in configfs: /sys/kernel/config/rnbd/exports/<name>/.
#include <rnbd/server/configured.hh>

#include <rnbd/pure/access.hh>

namespace rnbd::server {

using cxxrt::configfs_error;
using cxxrt::configfs_folder_operations;
using cxxrt::configfs_object_operations;
using cxxrt::configfs_read_only;
using cxxrt::configfs_read_write;
using cxxrt::configfs_type;
using cxxrt::SysfsText;

// Files are shown under the lock: a text that is being replaced has no end for a moment.
template <class F> static void locked(F &&f)
{
	configured_exports().locked(f);
}

void ConfiguredExport::show_device_path(SysfsText &out)
{
	locked([&] { out.print("%s\n", device_path_.c_str()); });
}

void ConfiguredExport::show_access(SysfsText &out)
{
	locked([&] { out.print("%s\n", to_text(access_)); });
}

void ConfiguredExport::show_sessions(SysfsText &out)
{
	locked([&] { out.print("%s\n", sessions_.c_str()); });
}

void ConfiguredExport::show_keys(SysfsText &out)
{
	locked([&] { out.print("%s\n", keys_.c_str()); });
}

void ConfiguredExport::show_addresses(SysfsText &out)
{
	locked([&] { out.print("%s\n", addresses_text_.c_str()); });
}

void ConfiguredExport::show_local_use(SysfsText &out)
{
	locked([&] { out.print("%s\n", to_text(local_use_)); });
}

void ConfiguredExport::show_enable(SysfsText &out)
{
	locked([&] { out.print("%d\n", enabled_); });
}

void ConfiguredExport::show_users(SysfsText &out)
{
	u32 count = 0;
	locked([&] {
		for ([[maybe_unused]] ExportUse &use : uses_)
			count++;
	});
	out.print("%u\n", count);
}

void ConfiguredExport::show_denied(SysfsText &out)
{
	locked([&] { out.print("%llu\n", static_cast<unsigned long long>(denied_)); });
}

void ConfiguredExports::show_denied_unlisted(SysfsText &out)
{
	entries_.with([&](Entries &) {
		out.print("%llu\n", static_cast<unsigned long long>(denied_unlisted_));
	});
}

namespace {

using E = ConfiguredExport;

constinit configfs_attribute files[] = {
    configfs_read_write<E, &E::show_device_path, &E::store_device_path>("device_path"),
    configfs_read_write<E, &E::show_access, &E::store_access>("access"),
    configfs_read_write<E, &E::show_sessions, &E::store_sessions>("allowed_sessions"),
    configfs_read_write<E, &E::show_keys, &E::store_keys>("allowed_keys"),
    configfs_read_write<E, &E::show_addresses, &E::store_addresses>("allowed_addresses"),
    configfs_read_write<E, &E::show_local_use, &E::store_local_use>("local_use"),
    configfs_read_write<E, &E::show_enable, &E::store_enable>("enable"),
    configfs_read_only<E, &E::show_users>("users"),
    configfs_read_only<E, &E::show_denied>("denied"),
};
constinit configfs_attribute *file_list[] = {&files[0], &files[1], &files[2], &files[3], &files[4],
					     &files[5], &files[6], &files[7], &files[8], nullptr};

void show_denied_unlisted(SysfsText &out)
{
	configured_exports().show_denied_unlisted(out);
}

constinit configfs_attribute root_files[] = {
    configfs_read_only<show_denied_unlisted>("denied_unlisted"),
};
constinit configfs_attribute *root_file_list[] = {&root_files[0], nullptr};

constinit configfs_item_operations export_operations = configfs_object_operations<E>();
constinit const config_item_type export_type = configfs_type(file_list, &export_operations);

config_group *make_export(const char *name)
{
	return configured_exports().make(name);
}

void drop_export(E &entry)
{
	configured_exports().drop(entry);
}

constinit configfs_group_operations folder_operations =
    configfs_folder_operations<E, make_export, drop_export>();
constinit const config_item_type folder_type = configfs_type(nullptr, nullptr, &folder_operations);
constinit const config_item_type root_type = configfs_type(root_file_list);

} // namespace

config_group *ConfiguredExports::make(const char *name)
{
	if (TextView::of(name).size() >= kDeviceNameSize)
		return configfs_error(err::enametoolong);
	ConfiguredExport *entry = ConfiguredExport::create(name, &export_type);
	if (!entry)
		return configfs_error(err::enomem);
	entries_.with([&](Entries &entries) {
		entry->number_ = ++last_number_;
		entries.push_back(*entry);
	});
	return entry->group();
}

Status ConfiguredExports::create()
{
	return subsystem_.create(cxxrt::lock_class<"rnbd">(), &root_type, "exports", &folder_type);
}

} // namespace rnbd::server
