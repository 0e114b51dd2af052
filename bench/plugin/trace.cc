// SPDX-License-Identifier: GPL-2.0
// A plugin for QEMU's emulator that writes down each access to memory by some of the kernel's
// modules, for as long as whoever reads its file wants it to.
//
// Arguments: out=PATH. The file, all numbers 64 bits in the host's order:
//	[0] the magic number [1] events there is room for
//	[2] events so far, which may be more than there was room for
//	[3] marks so far [4] marks that are wanted: what comes behind the last is not written down
//	[5] address of a function whose executions are the marks
//	[6] ranges of code in use, then a pair for each: first address, the one behind the last
//	from byte 4096 on, an event each: address of the instruction, and what it did: the low 56
//	bits of the address that it accessed (0: a mark), the CPU's number, and bit 63 for a store
// The reader writes [2] to [6], [4] last. An event that is still being written is zero.
//
// Instructions are looked at when they are translated, before anybody knows which modules there
// will be. So all of the kernel's modules call accessed(), and it asks.
//
// QEMU 7.2 also calls it for what its own code accesses later, be it for an instruction elsewhere
// (one that saves the registers of the FPU) until another one is followed. So each block says
// that it is executed, and what does not lie in the CPU's present one is not written down.

#include "file.hh"
#include "qemu_plugin.hh"

#include <bit>

#define EXPORT __attribute__((visibility("default")))

namespace {

constexpr uint64_t kMagic = 0x3143525444424e52; // "RNBDTRC1"
constexpr uint64_t kEvents = 4 << 20;
constexpr uint64_t kHeaderBytes = 4096;
constexpr uint64_t kRanges = 16;
// Where x86-64 has them.
constexpr uint64_t kKernel = 0xffffffff80000000;
constexpr uint64_t kModules = 0xffffffffc0000000;
constexpr uint64_t kAddressBits = 56;
constexpr uint64_t kCpus = 0x80;

struct Range {
	uint64_t from;
	uint64_t to;
};

struct Header {
	uint64_t magic;
	uint64_t capacity;
	uint64_t used;
	uint64_t marks;
	uint64_t wanted;
	uint64_t mark;
	uint64_t ranges;
	Range code[kRanges];
};

// Code of the kernel, whose addresses differ in 32 bits; with no bytes what is not.
struct Block {
	uint32_t first;
	uint32_t bytes;

	bool has(uint64_t code) const { return static_cast<uint32_t>(code) - first < bytes; }
};

struct Event {
	uint64_t code;
	uint64_t access;
};

Header *header;
Event *events;
Block present[kCpus]; // each is its CPU's alone

bool recording()
{
	return __atomic_load_n(&header->marks, __ATOMIC_RELAXED) <
	       __atomic_load_n(&header->wanted, __ATOMIC_ACQUIRE);
}

void write_down(uint64_t code, uint64_t access)
{
	const uint64_t n = __atomic_fetch_add(&header->used, 1, __ATOMIC_RELAXED);
	if (n >= kEvents)
		return;
	events[n].access = access;
	__atomic_store_n(&events[n].code, code, __ATOMIC_RELEASE);
}

void accessed(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
	const auto code = reinterpret_cast<uint64_t>(data);
	if (!recording() || !present[cpu % kCpus].has(code))
		return;
	for (uint64_t n = 0; n < header->ranges && n < kRanges; n++) {
		if (code < header->code[n].from || code >= header->code[n].to)
			continue;
		write_down(code, (address & ((1ULL << kAddressBits) - 1)) |
				     static_cast<uint64_t>(cpu) << kAddressBits |
				     static_cast<uint64_t>(qemu_plugin_mem_is_store(info)) << 63);
		return;
	}
}

void executed(unsigned int cpu, void *data)
{
	const Block block = std::bit_cast<Block>(data);
	present[cpu % kCpus] = block;
	if (!block.bytes || block.first != static_cast<uint32_t>(header->mark) || !recording())
		return;
	write_down(header->mark, static_cast<uint64_t>(cpu) << kAddressBits);
	__atomic_fetch_add(&header->marks, 1, __ATOMIC_RELAXED);
}

void translated(qemu_plugin_id_t, qemu_plugin_tb *tb)
{
	const uint64_t first = qemu_plugin_tb_vaddr(tb);
	const size_t instructions = qemu_plugin_tb_n_insns(tb);
	const uint64_t last = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, instructions - 1));
	Block block{};
	if (first >= kKernel)
		block = {static_cast<uint32_t>(first), static_cast<uint32_t>(last - first + 1)};
	qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, QEMU_PLUGIN_CB_NO_REGS,
					     std::bit_cast<void *>(block));
	if (first < kModules)
		return;
	for (size_t n = 0; n < instructions; n++) {
		qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, n);
		qemu_plugin_register_vcpu_mem_cb(
		    insn, accessed, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
		    reinterpret_cast<void *>(qemu_plugin_insn_vaddr(insn)));
	}
}

} // namespace

extern "C" {

EXPORT int qemu_plugin_version = interface_version();

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	void *memory =
	    file_of_arguments("trace", kHeaderBytes + kEvents * sizeof(Event), info, argc, argv);
	if (!memory)
		return -1;
	header = static_cast<Header *>(memory);
	header->magic = kMagic;
	header->capacity = kEvents;
	events = reinterpret_cast<Event *>(static_cast<char *>(memory) + kHeaderBytes);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return 0;
}
}
