// SPDX-License-Identifier: GPL-2.0
// rtrs-stain: fills the free memory of this machine with the stain and gives it back, all but some
// MiB that the kernel needs meanwhile. What is allocated next without being cleared shows it.
//
//	rtrs-stain [SPARED MiB]
#include "../stain.hh"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr size_t kStep = size_t{4} << 20;

// MiB
long free_memory()
{
	std::ifstream file("/proc/meminfo");
	std::string word;
	while (file >> word)
		if (word == "MemFree:" && file >> word)
			return std::stol(word) >> 10;
	return 0;
}

} // namespace

int main(int argc, char **argv)
{
	const long spared = argc > 1 ? std::atol(argv[1]) : 64;
	std::vector<unsigned char> stained(kStep);
	for (size_t i = 0; i < kStep; i += sizeof(peer::stain::kPattern))
		std::memcpy(&stained[i], peer::stain::kPattern, sizeof(peer::stain::kPattern));
	// By a file in memory: user-mode Linux takes a millisecond for each page that a process
	// maps.
	const int file = memfd_create("stain", 0);
	long filled = 0;
	while (file >= 0 && free_memory() > spared + static_cast<long>(kStep >> 20)) {
		if (write(file, stained.data(), kStep) != static_cast<ssize_t>(kStep))
			break;
		filled += static_cast<long>(kStep >> 20);
	}
	std::printf("%ld\n", filled);
	return filled ? 0 : 1;
}
