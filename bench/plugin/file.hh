// SPDX-License-Identifier: GPL-2.0
// The file that a plugin leaves its figures in, and others read while the machine runs.

#ifndef BENCH_PLUGIN_FILE_HH
#define BENCH_PLUGIN_FILE_HH

#include "qemu_plugin.hh"

#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

// The memory of a new file of zeroes, named by the argument out=PATH; null, and a line on stderr,
// if there is none.
inline void *file_of_arguments(const char *plugin, size_t bytes, const qemu_info_t *info, int argc,
			       char **argv)
{
	const char *path = nullptr;
	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "out=", 4))
			path = argv[i] + 4;
	}
	if (!path || !info->system_emulation) {
		fprintf(stderr, "%s: want a whole machine and out=PATH\n", plugin);
		return nullptr;
	}
	const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	void *memory = MAP_FAILED;
	if (fd >= 0 && !ftruncate(fd, static_cast<off_t>(bytes)))
		memory =
		    mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (memory == MAP_FAILED)
		perror(path);
	if (fd >= 0)
		close(fd);
	return memory == MAP_FAILED ? nullptr : memory;
}

#endif
