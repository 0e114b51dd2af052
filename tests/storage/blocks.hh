// SPDX-License-Identifier: GPL-2.0
// What a disk may hold after a crash: a record of blocks that were written, kept where no crash
// reaches it.
//
// Each write of a block has a number, and every sector says which block and which write it is of.
// After a crash a sector may be of any write from the last one that is durable on; of an older one,
// or of none, is a loss.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace storage {

constexpr size_t kSector = 512;
constexpr size_t kBlock = 4096;

struct BlockState {
	uint64_t issued = 0;	   // number of the last write that was given to the disk
	uint64_t acknowledged = 0; // of the last one that the disk said it has done
	uint64_t durable = 0;	   // of the last one that a flush, or FUA, covers
};

class Record {
public:
	Record(uint64_t seed, size_t blocks) : seed_(seed), states_(blocks) {}
	// The program ends if the file can't be read.
	static Record load(const std::string &file);
	void save(const std::string &file) const;

	size_t count() const { return states_.size(); }
	BlockState &operator[](size_t block) { return states_[block]; }
	const BlockState &operator[](size_t block) const { return states_[block]; }
	uint64_t next_write() { return ++writes_; }
	uint64_t writes() const { return writes_; }

	// The content of one write of one block; write 0 is a disk that was never written: zeroes.
	void fill(uint8_t *data, size_t block, uint64_t write) const;
	// What is wrong with this content of a block, empty if nothing is.
	std::string judge(const uint8_t *data, size_t block) const;

private:
	void fill_sector(uint8_t *data, size_t block, size_t sector, uint64_t write) const;

	uint64_t seed_;
	uint64_t writes_ = 0;
	std::vector<BlockState> states_;
};

// "write-order: text: errno", and the end.
[[noreturn]] void die(const std::string &text, int error = 0);

} // namespace storage
