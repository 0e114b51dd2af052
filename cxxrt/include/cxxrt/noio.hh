// SPDX-License-Identifier: GPL-2.0
// Memory without I/O: for who must not wait for a disk that waits for him.
#pragma once

#include <cxxrt/kernel.hh>

namespace cxxrt {

// In its scope, whatever this task allocates, with whatever flags, is looked for without writing to
// disks. It may nest.
class [[nodiscard]] NoIoScope {
public:
	NoIoScope() : saved_(memalloc_noio_save()) {}
	~NoIoScope() { memalloc_noio_restore(saved_); }
	NoIoScope(const NoIoScope &) = delete;
	NoIoScope &operator=(const NoIoScope &) = delete;

private:
	unsigned int saved_;
};

} // namespace cxxrt
