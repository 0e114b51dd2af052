// SPDX-License-Identifier: GPL-2.0
#include "blocks.hh"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace storage {

void die(const std::string &text, int error)
{
	fprintf(stderr, "write-order: %s%s%s\n", text.c_str(), error ? ": " : "",
		error ? strerror(error) : "");
	exit(1);
}

Record Record::load(const std::string &file)
{
	std::ifstream in(file);
	uint64_t seed = 0, writes = 0;
	size_t blocks = 0;
	in >> seed >> writes >> blocks;
	Record record(seed, blocks);
	record.writes_ = writes;
	for (BlockState &s : record.states_)
		in >> s.issued >> s.acknowledged >> s.durable;
	if (!in)
		die("can't read " + file);
	// What no flush covered may be lost since, so no later flush covers it.
	for (BlockState &s : record.states_)
		s.acknowledged = s.durable;
	return record;
}

void Record::save(const std::string &file) const
{
	std::ofstream out(file);
	out << seed_ << ' ' << writes_ << ' ' << states_.size() << '\n';
	for (const BlockState &s : states_)
		out << s.issued << ' ' << s.acknowledged << ' ' << s.durable << '\n';
	if (!out.flush())
		die("can't write " + file);
}

void Record::fill_sector(uint8_t *data, size_t block, size_t sector, uint64_t write) const
{
	if (!write) {
		memset(data, 0, kSector);
		return;
	}
	uint64_t words[kSector / sizeof(uint64_t)] = {seed_, block, sector, write};
	uint64_t mix = seed_ ^ block << 40 ^ sector << 32 ^ write;
	for (size_t i = 4; i < kSector / sizeof(uint64_t); i++)
		words[i] = mix = mix * 6364136223846793005u + 1442695040888963407u;
	memcpy(data, words, kSector);
}

void Record::fill(uint8_t *data, size_t block, uint64_t write) const
{
	for (size_t sector = 0; sector < kBlock / kSector; sector++)
		fill_sector(data + sector * kSector, block, sector, write);
}

std::string Record::judge(const uint8_t *data, size_t block) const
{
	const BlockState &state = states_[block];
	for (size_t sector = 0; sector < kBlock / kSector; sector++) {
		const uint8_t *found = data + sector * kSector;
		uint64_t write = 0;
		memcpy(&write, found + 3 * sizeof(write), sizeof(write));
		uint8_t wanted[kSector];
		fill_sector(wanted, block, sector, write);
		const std::string where =
		    "block " + std::to_string(block) + " sector " + std::to_string(sector);
		if (memcmp(found, wanted, kSector) != 0)
			return where + " holds nothing that was ever written to it";
		if (write < state.durable || write > state.issued)
			return where + " is of write " + std::to_string(write) + "; write " +
			       std::to_string(state.durable) + " is durable, " +
			       std::to_string(state.issued) + " the last one";
	}
	return {};
}

} // namespace storage
