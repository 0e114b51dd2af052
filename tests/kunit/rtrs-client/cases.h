/* SPDX-License-Identifier: GPL-2.0 */
/* The cases of each suite of the client, in the order in which they run. */
#ifndef RTRS_CLIENT_KUNIT_CASES_H
#define RTRS_CLIENT_KUNIT_CASES_H

#include "case.h"

#define REQUEST_CASES(CASE)                                      \
	CASE(request_ends_by_its_answer)                         \
	CASE(request_slot_is_free_when_it_ends)                  \
	CASE(request_ends_once_whatever_the_server_says)         \
	CASE(request_of_a_read_ends_with_closed_memory)          \
	CASE(request_believes_an_invalidation_once)              \
	CASE(request_waits_for_its_invalidation)                 \
	CASE(request_of_a_write_waits_until_it_is_sent)          \
	CASE(request_of_a_write_that_is_sent_ends_by_its_answer) \
	CASE(request_without_pages_ends_by_its_answer)           \
	CASE(request_answered_but_not_sent_when_the_path_dies)   \
	CASE(request_ends_when_the_path_dies)                    \
	CASE(request_moves_to_the_other_path)                    \
	CASE(request_answered_before_the_path_died)              \
	CASE(request_is_refused_without_a_path)                  \
	CASE(request_ends_before_the_session_is_closed)          \
	CASE(request_answers_race_with_the_end_of_the_path)

#define BATCH_CASES(CASE)                              \
	CASE(batch_goes_with_its_last)                 \
	CASE(batch_goes_when_it_is_committed)          \
	CASE(batch_of_answers_ends_together)           \
	CASE(batch_of_writes_waits_for_one_completion) \
	CASE(batch_goes_on_every_path)                 \
	CASE(batch_goes_when_its_last_is_refused)      \
	CASE(batch_waits_for_room)                     \
	CASE(batch_passes_the_throttle)                \
	CASE(batch_is_held_till_a_completion)          \
	CASE(batch_is_not_answered_before)             \
	CASE(batch_moves_with_its_path)                \
	CASE(batch_ends_with_the_session)              \
	CASE(batch_is_found_when_forgotten)            \
	CASE(batch_throttle_forgets_nobody)            \
	CASE(batch_races_with_the_end_of_the_path)

#define DEADLINE_CASES(CASE)                           \
	CASE(deadline_leaves_a_path_that_lives)        \
	CASE(deadline_ends_a_path_without_life)        \
	CASE(deadline_forgets_who_was_answered)        \
	CASE(deadline_of_a_queue_that_is_full)         \
	CASE(deadline_wakes_a_queue_that_stands_still) \
	CASE(deadline_leaves_a_queue_alone_where_it_is_told_to)

#define FENCE_CASES(CASE)                                   \
	CASE(fence_holds_requests_until_the_path_has_ended) \
	CASE(fence_goes_over_every_path)                    \
	CASE(fence_over_a_path_that_owes_an_answer)         \
	CASE(fence_over_moves_wait_for_room)                \
	CASE(fence_given_up_bars_the_attempt_of_before)     \
	CASE(fence_without_a_path_gives_requests_up)        \
	CASE(fence_of_a_stale_path_holds_nobody_up)         \
	CASE(fence_of_an_instance_counts_as_an_attempt)

#define ATTEMPTS_CASES(CASE)                                   \
	CASE(attempts_ask_again_for_an_address)                \
	CASE(attempts_end_without_breaking_off_a_question)     \
	CASE(attempts_connect_side_by_side)                    \
	CASE(attempts_connect_so_many_at_once)                 \
	CASE(attempts_end_when_one_of_many_is_refused)         \
	CASE(attempts_end_without_breaking_off_many_questions) \
	CASE(attempts_leave_a_dead_port_at_once)               \
	CASE(attempts_keep_the_last_path)                      \
	CASE(attempts_begin_when_the_port_is_up)               \
	CASE(attempts_repeat_a_request_that_was_lost)          \
	CASE(attempts_shorten_queues_that_do_not_fit)          \
	CASE(attempts_register_pages_the_device_knows)

#define POLICY_CASES(CASE)                                \
	CASE(policy_round_robin_takes_turns)              \
	CASE(policy_min_inflight_takes_the_idle)          \
	CASE(policy_min_inflight_leaves_out_what_is_down) \
	CASE(policy_skips_a_path_that_is_down)            \
	CASE(policy_limits_do_not_come_from_the_size_of_regions)

#define STATS_CASES(CASE)                         \
	CASE(stats_are_exact_under_threads)       \
	CASE(stats_reset_loses_nothing_in_flight) \
	CASE(stats_files_show_what_was_counted)

#define PERMITS_CASES(CASE)           \
	CASE(permits_have_one_holder) \
	CASE(permits_wake_who_waits)  \
	CASE(permits_all_back_waits_for_each)

#ifdef __cplusplus
extern "C" {
#endif

REQUEST_CASES(KUNIT_DECLARE_CASE)
BATCH_CASES(KUNIT_DECLARE_CASE)
DEADLINE_CASES(KUNIT_DECLARE_CASE)
FENCE_CASES(KUNIT_DECLARE_CASE)
ATTEMPTS_CASES(KUNIT_DECLARE_CASE)
POLICY_CASES(KUNIT_DECLARE_CASE)
STATS_CASES(KUNIT_DECLARE_CASE)
PERMITS_CASES(KUNIT_DECLARE_CASE)

#ifdef __cplusplus
}
#endif

#endif
