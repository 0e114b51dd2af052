// SPDX-License-Identifier: GPL-2.0
// Reading the parameter gives the names of all misdeeds; writing a name commits it, here and now.
#include <linux/hardirq.h>
#include <linux/irqflags.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/string.h>

#include "misdeeds.h"

static int commit_set(const char *value, const struct kernel_param *param)
{
	char name[32];

	if (strscpy(name, value, sizeof(name)) < 0)
		return -EINVAL;
	return misdeeds_commit(strim(name));
}

static int commit_get(char *page, const struct kernel_param *param)
{
	return misdeeds_list(page);
}

static const struct kernel_param_ops commit_ops = {.set = commit_set, .get = commit_get};
module_param_cb(commit, &commit_ops, NULL, 0600);
MODULE_PARM_DESC(commit, "name of the misdeed to commit; reading lists them");

void misdeeds_as_interrupt(void (*handler)(void *data), void *data)
{
	local_irq_disable();
	lockdep_hardirq_enter();
	handler(data);
	lockdep_hardirq_exit();
	local_irq_enable();
}

static int __init misdeeds_init(void)
{
	return 0;
}

static void __exit misdeeds_exit(void) {}

module_init(misdeeds_init);
module_exit(misdeeds_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Does wrong on purpose, for tests of a debug kernel's checks");
