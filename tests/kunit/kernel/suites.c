// SPDX-License-Identifier: GPL-2.0
/*
 * What all other suites take for granted of the kernel that they run on, where one of ours has been
 * otherwise (tests/vm/kernels/uml-faults.patch).
 */
#include "suites.h"

#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/timer.h>
#include <linux/vmalloc.h>

#define KERNEL_CASES(CASE) CASE(kernel_interrupts_stay_off_over_a_fault)

KERNEL_CASES(KUNIT_DECLARE_CASE)

#ifdef CONFIG_TRACE_IRQFLAGS
enum { PAGES = 512, PAGES_BESIDE = 64 };

struct toucher {
	struct timer_list timer;
	u8 *memory;
	unsigned int rounds;
	unsigned int enabled; /* rounds in which interrupts were enabled although they were off */
};

static void touch(struct timer_list *timer)
{
	struct toucher *toucher = container_of(timer, struct toucher, timer);
	unsigned long flags;
	unsigned int before;
	int page;

	local_irq_save(flags);
	before = current->irqtrace.hardirq_enable_event;
	for (page = 0; page < PAGES; page++)
		WRITE_ONCE(toucher->memory[page * PAGE_SIZE], 1);
	toucher->enabled += current->irqtrace.hardirq_enable_event != before;
	local_irq_restore(flags);
	toucher->rounds++;
	mod_timer(timer, jiffies + 1);
}

/*
 * User-mode Linux takes away and gives back each page of what lies between two areas that are
 * purged at once, and a timer that comes in between meets the fault. Areas too large for any hole
 * below lie on both sides of the memory.
 */
void kernel_interrupts_stay_off_over_a_fault(struct kunit *test)
{
	static struct toucher toucher;
	const unsigned long end = jiffies + 2 * HZ;
	void *below = vmalloc(PAGES_BESIDE * PAGE_SIZE);
	void *above;

	toucher = (struct toucher){.memory = vmalloc(PAGES * PAGE_SIZE)};
	above = vmalloc(PAGES_BESIDE * PAGE_SIZE);
	timer_setup(&toucher.timer, touch, 0);
	if (toucher.memory)
		mod_timer(&toucher.timer, jiffies + 1);
	while (below && toucher.memory && above && time_before(jiffies, end)) {
		vfree(below);
		vfree(above);
		vm_unmap_aliases();
		below = vmalloc(PAGES_BESIDE * PAGE_SIZE);
		above = vmalloc(PAGES_BESIDE * PAGE_SIZE);
		cond_resched();
	}
	timer_shutdown_sync(&toucher.timer);
	vfree(above);
	vfree(toucher.memory);
	vfree(below);
	KUNIT_EXPECT_GT(test, toucher.rounds, 10u);
	KUNIT_EXPECT_EQ(test, toucher.enabled, 0u);
}
#else
void kernel_interrupts_stay_off_over_a_fault(struct kunit *test)
{
	kunit_case_skipped(test, "CONFIG_TRACE_IRQFLAGS is off: nobody counts what is looked for");
}
#endif

KUNIT_SUITE(kernel, KERNEL_CASES);

kunit_test_suites(&kernel);
MODULE_DESCRIPTION("KUnit suite of the kernel below the others");
