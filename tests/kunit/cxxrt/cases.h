/* SPDX-License-Identifier: GPL-2.0 */
/* The cases of each suite of cxxrt, in the order in which they run. */
#ifndef CXXRT_KUNIT_CASES_H
#define CXXRT_KUNIT_CASES_H

#include "case.h"

#define REF_CASES(CASE)                      \
	CASE(ref_many_threads_destroy_once)  \
	CASE(ref_lookup_never_revives)       \
	CASE(ref_assignments_keep_the_count) \
	CASE(ref_release_and_adopt_move_the_count)

#define LOCK_CASES(CASE)                     \
	CASE(lock_guarded_mutex_excludes)    \
	CASE(lock_guarded_spinlock_excludes) \
	CASE(lock_is_left_on_early_return)   \
	CASE(lock_lockdep_sees_guarded)      \
	CASE(lock_classes_go_by_name)

#define WORK_CASES(CASE)                                     \
	CASE(work_queued_twice_runs_once)                    \
	CASE(work_never_runs_beside_itself)                  \
	CASE(work_cancel_waits_for_a_running_method)         \
	CASE(work_ref_outlives_a_running_method)             \
	CASE(work_ref_queued_twice_takes_one_reference)      \
	CASE(work_delayed_cancel_ends_a_self_requeuing_item) \
	CASE(work_ordered_queue_keeps_the_order)             \
	CASE(work_queue_reset_drains)

#define RCU_CASES(CASE)                      \
	CASE(rcu_pointer_is_seen_complete)   \
	CASE(rcu_list_walk_survives_removal) \
	CASE(rcu_circle_visits_each_once)    \
	CASE(rcu_circle_goes_on_from_a_removed_element)

#define PERCPU_CASES(CASE)                        \
	CASE(percpu_sums_are_exact_under_threads) \
	CASE(percpu_counts_on_the_cpu_it_runs_on) \
	CASE(percpu_starts_as_zero_and_moves)

#define INFLIGHT_CASES(CASE)                          \
	CASE(inflight_close_waits_for_every_user)     \
	CASE(inflight_shut_refuses_and_does_not_wait) \
	CASE(inflight_event_comes_with_the_last)      \
	CASE(inflight_event_counts_who_come_together) \
	CASE(inflight_destruction_closes)

#define GATE_CASES(CASE)                        \
	CASE(gate_tells_when_the_last_has_left) \
	CASE(gate_opens_again)                  \
	CASE(gate_is_empty_when_it_says_so)

#define WAIT_CASES(CASE)                           \
	CASE(wait_all_sleepers_wake)               \
	CASE(wait_does_not_end_before_its_time)    \
	CASE(wait_killable_ends_by_a_fatal_signal) \
	CASE(wait_completion_stays_done)

#define SYSFS_CASES(CASE)                              \
	CASE(sysfs_table_reaches_the_methods)          \
	CASE(sysfs_removal_waits_for_a_running_method) \
	CASE(sysfs_open_file_outlives_the_directory)   \
	CASE(sysfs_of_two_who_remove_themselves_one_wins)

#ifdef __cplusplus
extern "C" {
#endif

REF_CASES(KUNIT_DECLARE_CASE)
LOCK_CASES(KUNIT_DECLARE_CASE)
WORK_CASES(KUNIT_DECLARE_CASE)
RCU_CASES(KUNIT_DECLARE_CASE)
PERCPU_CASES(KUNIT_DECLARE_CASE)
INFLIGHT_CASES(KUNIT_DECLARE_CASE)
GATE_CASES(KUNIT_DECLARE_CASE)
WAIT_CASES(KUNIT_DECLARE_CASE)
SYSFS_CASES(KUNIT_DECLARE_CASE)

#ifdef __cplusplus
}
#endif

#endif
