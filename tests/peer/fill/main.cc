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
	long filled = 0;
	while (free_memory() > spared + static_cast<long>(kStep >> 20)) {
		void *p = mmap(nullptr, kStep, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);
		if (p == MAP_FAILED)
			break;
		auto *at = static_cast<unsigned char *>(p);
		for (size_t i = 0; i < kStep; i += sizeof(peer::stain::kPattern))
			std::memcpy(at + i, peer::stain::kPattern, sizeof(peer::stain::kPattern));
		filled += static_cast<long>(kStep >> 20);
	}
	std::printf("%ld\n", filled);
	return filled ? 0 : 1;
}
