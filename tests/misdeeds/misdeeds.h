/* SPDX-License-Identifier: GPL-2.0 */
/* What the C and the C++ files have in common. */
#ifndef MISDEEDS_H
#define MISDEEDS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Commits the misdeed of this name: 0, -ENOENT if there is none, -ENOMEM. May sleep. */
int misdeeds_commit(const char *name);
/* The names, a line each, into a page; their length. */
int misdeeds_list(char *page);

/*
 * Runs the handler with interrupts off, and lockdep takes it for one of an interrupt. In C, since
 * lockdep's macros subtract by adding an unsigned -1, which C++ refuses to convert.
 */
void misdeeds_as_interrupt(void (*handler)(void *data), void *data);

#ifdef __cplusplus
}
#endif

#endif
