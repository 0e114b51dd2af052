/* SPDX-License-Identifier: GPL-2.0 */
/* The cases of each suite of rtrs-core, in the order in which they run. */
#ifndef RTRS_CORE_KUNIT_CASES_H
#define RTRS_CORE_KUNIT_CASES_H

#include "case.h"

#define BATCH_QUEUE_CASES(CASE)                            \
	CASE(batch_queue_hands_on_everything)              \
	CASE(batch_queue_misses_nothing_while_it_is_armed) \
	CASE(batch_queue_yields_in_a_flood)                \
	CASE(quiet_sends_come_with_receives)               \
	CASE(quiet_sends_flood)                            \
	CASE(quiet_sends_wake_who_waits)                   \
	CASE(quiet_sends_wake_until_all_is_covered)        \
	CASE(quiet_sends_make_room)                        \
	CASE(quiet_sends_tell_why_first)

#define HEARTBEAT_CASES(CASE)                       \
	CASE(heartbeat_silent_peer_is_lost_once)    \
	CASE(heartbeat_traffic_keeps_the_path)      \
	CASE(heartbeat_ack_measures_and_goes_on)    \
	CASE(heartbeat_stop_ends_all_posts)         \
	CASE(heartbeat_full_queue_is_no_loss)       \
	CASE(heartbeat_refused_post_is_a_loss)      \
	CASE(heartbeat_of_the_peer_is_acknowledged) \
	CASE(heartbeat_starts_anew_after_a_loss)

#define SEND_QUEUE_CASES(CASE)                       \
	CASE(send_queue_is_never_overrun)            \
	CASE(send_queue_refusal_gives_the_room_back) \
	CASE(send_queue_must_signal_is_signaled)     \
	CASE(send_queue_links_keep_their_order)

#ifdef __cplusplus
extern "C" {
#endif

BATCH_QUEUE_CASES(KUNIT_DECLARE_CASE)
HEARTBEAT_CASES(KUNIT_DECLARE_CASE)
SEND_QUEUE_CASES(KUNIT_DECLARE_CASE)

#ifdef __cplusplus
}
#endif

#endif
