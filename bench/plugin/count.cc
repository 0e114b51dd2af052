// SPDX-License-Identifier: GPL-2.0
// A plugin for QEMU's emulator that counts each execution of each block of instructions, in a file
// that others read while the machine runs.
//
// Arguments: out=PATH. The file, all numbers 64 bits in the host's order:
//	[0] the magic number [1] slots in use [2] slots there are [3] blocks that found no slot
//	from byte 4096 on, a slot each: address of the first instruction, number of instructions,
//	times executed
// A slot stays where it is once it is there, so a reader may keep its number. All code of programs
// in the machine shares the slots of address 0, one for each length of a block.
//
// Executions of a function are those of the blocks that begin at its first instruction;
// instructions are executions times length. A block that is left in its midst (a fault) counts as a
// whole. A function is called for each block, since machines here have several CPUs, be it that
// they use one: what the translated code adds by itself would lose counts.

#include "file.hh"
#include "qemu_plugin.hh"

#include <mutex>
#include <new>

#define EXPORT __attribute__((visibility("default")))

namespace {

constexpr uint64_t kMagic = 0x314e434344424e52; // "RNBDCCN1"
constexpr uint64_t kSlots = 1 << 20;
constexpr uint64_t kHeaderBytes = 4096;
constexpr uint64_t kBuckets = kSlots * 2;

struct Header {
	uint64_t magic;
	uint64_t used;
	uint64_t capacity;
	uint64_t lost;
};

struct Slot {
	uint64_t address;
	uint64_t length;
	uint64_t executions;
};

Header *header;
Slot *slots;
std::mutex translating;
uint32_t buckets[kBuckets]; // number of a slot, plus one

// Kernel addresses have the top bit set.
uint64_t key_of(uint64_t address)
{
	return address >> 63 ? address : 0;
}

uint64_t hash(uint64_t address, uint64_t length)
{
	uint64_t h = (address ^ length << 48) * 0x9e3779b97f4a7c15;
	return (h ^ h >> 29) % kBuckets;
}

// The slot of a block, the same one for each time that it is translated; null when there is no
// more.
Slot *slot_of(uint64_t address, uint64_t length)
{
	std::lock_guard hold(translating);
	for (uint64_t b = hash(address, length);; b = (b + 1) % kBuckets) {
		if (buckets[b]) {
			Slot *slot = &slots[buckets[b] - 1];
			if (slot->address == address && slot->length == length)
				return slot;
			continue;
		}
		if (header->used == kSlots) {
			header->lost++;
			return nullptr;
		}
		Slot *slot = &slots[header->used];
		slot->address = address;
		slot->length = length;
		buckets[b] = static_cast<uint32_t>(header->used + 1);
		// Whoever reads the number finds the slot filled in.
		__atomic_store_n(&header->used, header->used + 1, __ATOMIC_RELEASE);
		return slot;
	}
}

void executed(unsigned int, void *counter)
{
	__atomic_fetch_add(static_cast<uint64_t *>(counter), 1, __ATOMIC_RELAXED);
}

void translated(qemu_plugin_id_t, qemu_plugin_tb *tb)
{
	Slot *slot = slot_of(key_of(qemu_plugin_tb_vaddr(tb)), qemu_plugin_tb_n_insns(tb));
	if (slot)
		qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, QEMU_PLUGIN_CB_NO_REGS,
						     &slot->executions);
}

} // namespace

extern "C" {

EXPORT int qemu_plugin_version = interface_version();

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	void *memory =
	    file_of_arguments("count", kHeaderBytes + kSlots * sizeof(Slot), info, argc, argv);
	if (!memory)
		return -1;
	header = new (memory) Header{.magic = kMagic, .used = 0, .capacity = kSlots, .lost = 0};
	slots = reinterpret_cast<Slot *>(static_cast<char *>(memory) + kHeaderBytes);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
}
