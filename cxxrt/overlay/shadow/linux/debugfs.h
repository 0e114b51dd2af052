/* SPDX-License-Identifier: GPL-2.0 */
/* Since 6.14 a _Generic chooses between two kinds of operations. C++ has the older one. */
#pragma GCC system_header

#include_next <linux/debugfs.h>
#ifdef debugfs_create_file
#undef debugfs_create_file
static inline struct dentry *debugfs_create_file(const char *name, umode_t mode,
						 struct dentry *parent, void *data,
						 const struct file_operations *fops)
{
	return debugfs_create_file_full(name, mode, parent, data, NULL, fops);
}
#endif
