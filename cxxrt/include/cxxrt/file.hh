// SPDX-License-Identifier: GPL-2.0
// Small files that tell what the kernel exports in no other way, read as a program would.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/types.hh>

namespace cxxrt {

// The first `size` bytes of the file: how many there are. 0 also for a file that is not there, or
// where its file system is not mounted at its place. Process context, may sleep.
inline usize read_file(const char *path, char *text, usize size)
{
	file *opened = filp_open(path, O_RDONLY, 0);
	if (IS_ERR(opened))
		return 0;
	loff_t position = 0;
	const ssize_t n = kernel_read(opened, text, size, &position);
	filp_close(opened, nullptr);
	return n > 0 ? static_cast<usize>(n) : 0;
}

} // namespace cxxrt
