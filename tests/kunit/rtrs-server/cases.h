/* SPDX-License-Identifier: GPL-2.0 */
/* The cases of each suite of the server, in the order in which they run. */
#ifndef RTRS_SERVER_KUNIT_CASES_H
#define RTRS_SERVER_KUNIT_CASES_H

#include "case.h"

#define SLOT_CASES(CASE)                               \
	CASE(slot_request_is_answered_and_leaves)      \
	CASE(slot_second_request_closes_its_path)      \
	CASE(slot_other_path_waits_for_the_first)      \
	CASE(slot_third_path_replaces_the_second)      \
	CASE(slot_next_request_overtakes_the_end)      \
	CASE(slot_claimed_by_who_can_not_go_on)        \
	CASE(slot_path_dies_while_it_is_answered)      \
	CASE(slot_path_is_forgotten_before_its_answer) \
	CASE(slot_forget_drops_what_is_parked)         \
	CASE(slot_forget_waits_for_who_is_on_his_way)  \
	CASE(slot_of_a_closing_path_is_not_served)     \
	CASE(slot_bad_headers_end_in_one_leave)        \
	CASE(slot_messages_of_all_lengths)             \
	CASE(slot_capsules_of_all_lengths)             \
	CASE(slot_stress_without_invalidation)         \
	CASE(slot_stress_with_invalidation)

#define ADMISSION_CASES(CASE)                           \
	CASE(admission_charges_what_is_made)            \
	CASE(admission_refusal_takes_nothing)           \
	CASE(admission_is_left_once)                    \
	CASE(admission_oldest_silent_path_gives_way)    \
	CASE(admission_counts_what_gives_way)           \
	CASE(admission_keeps_room_for_the_next)         \
	CASE(admission_waits_for_what_gives_way)        \
	CASE(admission_who_gives_way_waits_no_more)     \
	CASE(admission_waits_end)                       \
	CASE(admission_of_info_comes_again)             \
	CASE(admission_strangers_give_way_to_the_known) \
	CASE(admission_flood_stays_in_its_share)        \
	CASE(admission_strangers_leave_places)          \
	CASE(admission_none_gives_way_in_vain)          \
	CASE(admission_who_waits_gives_way_to_none)     \
	CASE(admission_end_of_the_server_ends_waits)    \
	CASE(admission_keeps_places_for_the_next)       \
	CASE(admission_takes_connections_back)

#define REQUESTS_CASES(CASE)                       \
	CASE(requests_of_a_host_keep_their_order)  \
	CASE(requests_of_a_slow_host_hold_up_none) \
	CASE(requests_of_the_known_pass_strangers) \
	CASE(requests_whose_client_is_gone_end)    \
	CASE(requests_are_handed_over_once)        \
	CASE(requests_have_a_bound)                \
	CASE(requests_free_their_places)           \
	CASE(requests_end_with_the_server)         \
	CASE(requests_of_a_storm_are_served)

#ifdef __cplusplus
extern "C" {
#endif

SLOT_CASES(KUNIT_DECLARE_CASE)
ADMISSION_CASES(KUNIT_DECLARE_CASE)
REQUESTS_CASES(KUNIT_DECLARE_CASE)

#ifdef __cplusplus
}
#endif

#endif
