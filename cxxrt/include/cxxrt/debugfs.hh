// SPDX-License-Identifier: GPL-2.0
// debugfs directories as owning objects, their files as methods that write text.
//
// Removal of a directory waits until every running method has returned; after it no method is
// called. A kernel without debugfs gives empty directories: debug output is never a reason to
// fail.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/types.hh>

namespace cxxrt {

// What a method prints to. Any length.
class DebugText {
public:
	explicit DebugText(seq_file *file) : file_(file) {}

	[[gnu::format(printf, 2, 3)]] void print(const char *format, ...)
	{
		va_list args;
		va_start(args, format);
		seq_vprintf(file_, format, args);
		va_end(args);
	}

private:
	seq_file *file_;
};

namespace detail {

// Static data of a template: local to each translation unit by this tag, since the build has no
// weak symbols that could merge it.
namespace {
struct DebugUnit;
}

template <class T, void (T::*kShow)(DebugText &), class = DebugUnit> struct DebugFileOps {
	static int show(seq_file *file, void *)
	{
		DebugText text(file);
		(static_cast<T *>(file->private_)->*kShow)(text);
		return 0;
	}
	static int open(struct inode *node, struct file *f)
	{
		return single_open(f, show, node->i_private);
	}
	static constexpr file_operations kOps = [] {
		file_operations o{};
		o.owner = THIS_MODULE;
		o.llseek = seq_lseek;
		o.read = seq_read;
		o.open = open;
		o.release = single_release;
		return o;
	}();
};

} // namespace detail

class DebugDir {
public:
	constexpr DebugDir() = default;
	// Below `parent`, or at the top. May sleep.
	static DebugDir create(const char *name, const DebugDir *parent = nullptr)
	{
		return DebugDir(debugfs_create_dir(name, parent ? parent->entry_ : nullptr));
	}
	DebugDir(DebugDir &&o) : entry_(exchange(o.entry_, static_cast<dentry *>(nullptr))) {}
	DebugDir &operator=(DebugDir &&o)
	{
		if (this != &o) {
			reset();
			entry_ = exchange(o.entry_, static_cast<dentry *>(nullptr));
		}
		return *this;
	}
	constexpr ~DebugDir()
	{
		if (entry_)
			reset();
	}

	// A file that shows what the method prints.
	template <class T, void (T::*kShow)(DebugText &)> void add_file(const char *name, T *owner)
	{
		debugfs_create_file(name, 0444, entry_, owner,
				    &detail::DebugFileOps<T, kShow>::kOps);
	}
	// Removes the directory and all below it. May sleep.
	void reset() { debugfs_remove(exchange(entry_, static_cast<dentry *>(nullptr))); }

private:
	explicit DebugDir(dentry *entry) : entry_(entry) {}

	dentry *entry_ = nullptr;
};

} // namespace cxxrt
