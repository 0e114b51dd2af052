// SPDX-License-Identifier: GPL-2.0
// sysfs directories as owning objects, their files as tables.
//
// A row is {name, mode, show, store}; show and store are methods of the owner. Directory and
// owner have separate memory: removal of a directory waits until every running show and store has
// returned, and after it no method is called, so the owner may then die whatever else still holds
// the directory's kobject.
//
// Locks: removal must not be called with a lock held that a show or store takes.
#pragma once

#include <cxxrt/bytes.hh>
#include <cxxrt/kernel.hh>
#include <cxxrt/memory.hh>
#include <cxxrt/result.hh>
#include <cxxrt/print.hh>

namespace cxxrt {

// Given to a store method. remove_file() takes the file away first, so that the method may then
// remove the directory it runs from; false when another caller does so already: then the method
// must leave the removal to that one.
class SysfsCall {
public:
	SysfsCall(kobject *dir, const attribute *file) : dir_(dir), file_(file) {}
	[[nodiscard]] bool remove_file() { return sysfs_remove_file_self(dir_, file_); }

private:
	kobject *dir_;
	const attribute *file_;
};

template <class T> struct SysfsFile {
	using Show = void (T::*)(SysfsText &);
	using Store = Status (T::*)(TextView, SysfsCall &);

	attribute attr;
	Show show;
	Store store;

	static constexpr SysfsFile make(const char *name, umode_t mode, Show show, Store store)
	{
		SysfsFile f{};
		f.attr.name = name;
		f.attr.mode = mode;
		f.show = show;
		f.store = store;
		return f;
	}
	static constexpr SysfsFile read_only(const char *name, Show show)
	{
		return make(name, 0444, show, nullptr);
	}
	static constexpr SysfsFile read_write(const char *name, Show show, Store store)
	{
		return make(name, 0644, show, store);
	}
};

namespace detail {

// One trailing newline is not part of the input.
inline TextView sysfs_input(const char *text, usize size)
{
	if (size && text[size - 1] == '\n')
		size--;
	return TextView(text, size);
}

struct SysfsNode {
	kobject kobj;
	void *owner;
};

// The tables below are static data of a template: they are kept local to each translation unit by
// this tag, since the build has no weak symbols that could merge them.
namespace {
struct UnitLocal;
}

template <class T, class = UnitLocal> struct SysfsDirType {
	static const SysfsFile<T> *row(const attribute *a)
	{
		return container_of(a, SysfsFile<T>, attr);
	}
	static ssize_t show(kobject *kobj, attribute *a, char *page)
	{
		SysfsNode *node = container_of(kobj, SysfsNode, kobj);
		SysfsText text(page);
		(static_cast<T *>(node->owner)->*row(a)->show)(text);
		return text.length();
	}
	static ssize_t store(kobject *kobj, attribute *a, const char *text, size_t size)
	{
		SysfsNode *node = container_of(kobj, SysfsNode, kobj);
		if (!row(a)->store)
			return -EIO;
		SysfsCall call(kobj, a);
		const Status s =
		    (static_cast<T *>(node->owner)->*row(a)->store)(sysfs_input(text, size), call);
		return s.ok() ? static_cast<ssize_t>(size) : s.code();
	}
	static void release(kobject *kobj) { kfree(container_of(kobj, SysfsNode, kobj)); }

	static constexpr sysfs_ops kOps = [] {
		sysfs_ops o{};
		o.show = show;
		o.store = store;
		return o;
	}();
	static constexpr kobj_type kType = [] {
		kobj_type t{};
		t.release = release;
		t.sysfs_ops = &kOps;
		return t;
	}();
};

} // namespace detail

// A directory below a kobject, with files that are methods of T.
class SysfsDir {
public:
	constexpr SysfsDir() = default;
	// The name is copied; `files` is a static table. EEXIST, ENOMEM. May sleep.
	template <class T, usize N>
	static Result<SysfsDir> create(kobject *parent, const char *name, T *owner,
				       const SysfsFile<T> (&files)[N])
	{
		SysfsDir dir = TRY(create_empty<T>(parent, name, owner));
		for (const SysfsFile<T> &f : files)
			TRY(Status::from_code(sysfs_create_file(&dir.node_->kobj, &f.attr)));
		return dir;
	}
	// A directory that only holds other directories.
	template <class T>
	static Result<SysfsDir> create_empty(kobject *parent, const char *name, T *owner)
	{
		auto *node = static_cast<detail::SysfsNode *>(
		    kzalloc(sizeof(detail::SysfsNode), GFP_KERNEL));
		if (!node)
			return err::enomem;
		node->owner = owner;
		const int code = kobject_init_and_add(
		    &node->kobj, const_cast<kobj_type *>(&detail::SysfsDirType<T>::kType), parent,
		    "%s", name);
		if (code) {
			kobject_put(&node->kobj);
			return Error::from_code(code);
		}
		return SysfsDir(node);
	}
	SysfsDir(SysfsDir &&o) : node_(exchange(o.node_, static_cast<detail::SysfsNode *>(nullptr)))
	{
	}
	SysfsDir &operator=(SysfsDir &&o)
	{
		if (this != &o) {
			reset();
			node_ = exchange(o.node_, static_cast<detail::SysfsNode *>(nullptr));
		}
		return *this;
	}
	constexpr ~SysfsDir()
	{
		if (node_)
			reset();
	}

	// Removes the directory; waits for running methods. May sleep.
	void reset()
	{
		detail::SysfsNode *node =
		    exchange(node_, static_cast<detail::SysfsNode *>(nullptr));
		if (!node)
			return;
		kobject_del(&node->kobj);
		kobject_put(&node->kobj);
	}
	kobject *kobj() const { return &node_->kobj; }
	explicit operator bool() const { return node_ != nullptr; }

private:
	explicit SysfsDir(detail::SysfsNode *node) : node_(node) {}

	detail::SysfsNode *node_ = nullptr;
};

} // namespace cxxrt
