// SPDX-License-Identifier: GPL-2.0
// Kernel log lines with a subject: `<module> <subject>: text`. The _limited forms are for
// everything that a peer or an I/O error can cause, and lose lines beyond a fixed rate.
//
// The macros take the subject as a C string (session or path name). They stay macros because each
// call site needs a printk index entry and a rate limit of its own.
#pragma once

#include <cxxrt/kernel.hh>

#define CXXRT_LOG(level, subject, format, ...) \
	printk(level KBUILD_MODNAME " %s: " format "\n", (subject), ##__VA_ARGS__)
#define CXXRT_LOG_LIMITED(level, subject, format, ...) \
	printk_ratelimited(level KBUILD_MODNAME " %s: " format "\n", (subject), ##__VA_ARGS__)

#define log_error(subject, format, ...) CXXRT_LOG(KERN_ERR, subject, format, ##__VA_ARGS__)
#define log_warning(subject, format, ...) CXXRT_LOG(KERN_WARNING, subject, format, ##__VA_ARGS__)
#define log_info(subject, format, ...) CXXRT_LOG(KERN_INFO, subject, format, ##__VA_ARGS__)
#define log_error_limited(subject, format, ...) \
	CXXRT_LOG_LIMITED(KERN_ERR, subject, format, ##__VA_ARGS__)
#define log_warning_limited(subject, format, ...) \
	CXXRT_LOG_LIMITED(KERN_WARNING, subject, format, ##__VA_ARGS__)
#define log_info_limited(subject, format, ...) \
	CXXRT_LOG_LIMITED(KERN_INFO, subject, format, ##__VA_ARGS__)
