// SPDX-License-Identifier: GPL-2.0
// Small files and folders that tell what the kernel exports in no other way, read as a program
// would, and paths as programs know them.
#pragma once

#include <cxxrt/bytes.hh>
#include <cxxrt/kernel.hh>
#include <cxxrt/probes.h>
#include <cxxrt/result.hh>
#include <cxxrt/types.hh>

namespace cxxrt {

// A scope in which paths lead to where they lead for the programs of this machine. Who looks one up
// for a thread of the kernel, as a work item does, needs it: since 7.3 these have an empty file
// system of their own. A program that calls the kernel keeps its own view. Process context; scopes
// may lie within each other. It is what scoped_with_init_fs() does around a statement.
#if CXXRT_PROBE_init_fs
class ProgramPaths {
public:
	ProgramPaths() : changed_(current->flags & PF_KTHREAD)
	{
		if (changed_)
			own_ = __override_init_fs();
	}
	ProgramPaths(const ProgramPaths &) = delete;
	ProgramPaths &operator=(const ProgramPaths &) = delete;
	~ProgramPaths()
	{
		if (changed_)
			__revert_init_fs(own_);
	}

private:
	bool changed_;
	fs_struct *own_ = nullptr;
};
#else
class ProgramPaths {
public:
	ProgramPaths() {}
	ProgramPaths(const ProgramPaths &) = delete;
	ProgramPaths &operator=(const ProgramPaths &) = delete;
};
#endif

// The first `size` bytes of the file: how many there are. 0 also for a file that is not there, or
// where its file system is not mounted at its place. Process context, may sleep.
inline usize read_file(const char *path, char *text, usize size)
{
	const ProgramPaths scope;
	file *opened = filp_open(path, O_RDONLY, 0);
	if (IS_ERR(opened))
		return 0;
	loff_t position = 0;
	const ssize_t n = kernel_read(opened, text, size, &position);
	filp_close(opened, nullptr);
	return n > 0 ? static_cast<usize>(n) : 0;
}

// f(line) for each line of the file, without its end; one that is longer than the buffer is left
// out. None where there is no such file. The file is not locked while f runs. Process context, may
// sleep.
template <class F> void read_lines(const char *path, char *buffer, usize size, const F &f)
{
	const ProgramPaths scope;
	file *opened = filp_open(path, O_RDONLY, 0);
	if (IS_ERR(opened))
		return;
	loff_t position = 0;
	usize used = 0;
	bool too_long = false;
	for (;;) {
		const ssize_t n = kernel_read(opened, buffer + used, size - used, &position);
		if (n <= 0)
			break;
		used += static_cast<usize>(n);
		usize begin = 0;
		for (usize i = 0; i < used; i++) {
			if (buffer[i] != '\n')
				continue;
			if (!exchange(too_long, false))
				f(TextView(buffer + begin, i - begin));
			begin = i + 1;
		}
		used -= begin;
		__builtin_memmove(buffer, buffer + begin, used);
		if (used == size) {
			too_long = true;
			used = 0;
		}
	}
	filp_close(opened, nullptr);
}

namespace detail {
template <class F> struct FolderLister {
	dir_context context;
	const F *f;
	bool called;

	static bool entry(dir_context *context, const char *name, int size, loff_t, u64,
			  unsigned int type)
	{
		auto *self = container_of(context, FolderLister, context);
		self->called = true;
		const TextView text(name, static_cast<usize>(size));
		if (!(text == TextView(".")) && !(text == TextView("..")))
			(*self->f)(text, type);
		return true;
	}
};
} // namespace detail

// Whether anybody may make entries in a folder.
enum class Folder : u8 {
	Any,
	OnlyOfSome,
};

// f(name, type) for each entry of the folder, which is locked meanwhile; `type` is DT_REG and such,
// or DT_UNKNOWN. ENOTDIR, also for a link to a folder, EACCES if it is none that is wanted, ENOENT,
// ... May sleep.
template <class F> Status list_folder(const char *path, Folder wanted, const F &f)
{
	const ProgramPaths scope;
	file *opened = filp_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (IS_ERR(opened))
		return Error::from_code(PTR_ERR(opened));
	if (wanted == Folder::OnlyOfSome && file_inode(opened)->i_mode & S_IWOTH) {
		filp_close(opened, nullptr);
		return err::eacces;
	}
	using Lister = detail::FolderLister<F>;
	Lister lister{};
	lister.context.actor = Lister::entry;
	lister.f = &f;
	int code;
	do {
		lister.called = false;
		code = iterate_dir(opened, &lister.context);
	} while (!code && lister.called);
	filp_close(opened, nullptr);
	return Status::from_code(code);
}

} // namespace cxxrt
