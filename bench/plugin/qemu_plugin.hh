// SPDX-License-Identifier: GPL-2.0
// The part of QEMU's plugin interface that is used here, which is the same from version 1 to 4.
// QEMU documents it (docs/devel/tcg-plugins.rst), Debian's package is built with it, but brings no
// header for it.

#ifndef BENCH_PLUGIN_QEMU_PLUGIN_HH
#define BENCH_PLUGIN_QEMU_PLUGIN_HH

#include <cstddef>
#include <cstdint>

extern "C" {

using qemu_plugin_id_t = uint64_t;

struct qemu_info_t {
	const char *target_name;
	struct {
		int min;
		int cur;
	} version;
	bool system_emulation;
	union {
		struct {
			int smp_vcpus;
			int max_vcpus;
		} system;
	};
};

struct qemu_plugin_tb;
struct qemu_plugin_insn;

using qemu_plugin_vcpu_tb_trans_cb_t = void (*)(qemu_plugin_id_t id, qemu_plugin_tb *tb);
using qemu_plugin_vcpu_udata_cb_t = void (*)(unsigned int cpu, void *data);
using qemu_plugin_meminfo_t = uint32_t;
using qemu_plugin_vcpu_mem_cb_t = void (*)(unsigned int cpu, qemu_plugin_meminfo_t info,
					   uint64_t address, void *data);

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_R = 1, QEMU_PLUGIN_MEM_W, QEMU_PLUGIN_MEM_RW };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_tb_trans_cb_t cb);
void qemu_plugin_register_vcpu_tb_exec_cb(qemu_plugin_tb *tb, qemu_plugin_vcpu_udata_cb_t cb,
					  qemu_plugin_cb_flags flags, void *data);
// Not called. It came with version 2.
[[gnu::weak]] void *qemu_plugin_scoreboard_new(size_t bytes);
size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const qemu_plugin_tb *tb);
qemu_plugin_insn *qemu_plugin_tb_get_insn(const qemu_plugin_tb *tb, size_t number);
uint64_t qemu_plugin_insn_vaddr(const qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_mem_cb(qemu_plugin_insn *insn, qemu_plugin_vcpu_mem_cb_t cb,
				      qemu_plugin_cb_flags flags, qemu_plugin_mem_rw which,
				      void *data);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
}

// QEMU takes those between its oldest and its own: 7.2 has 1, 10.0 takes 2 to 4.
inline int interface_version()
{
	return qemu_plugin_scoreboard_new ? 2 : 1;
}

#endif
