// SPDX-License-Identifier: GPL-2.0
// A completion queue whose user learns where a batch of completions ends, to do once for all of
// them what one handler after the other would do each time.
//
// It is one of ib_core for IB_POLL_WORKQUEUE or IB_POLL_SOFTIRQ with a work or poll function of
// ours: its interrupt, its work queue, its moderation (cq->dim), its end and what ib_drain_qp()
// wants of it are ib_core's. Only that function, which is not told to the user by ib_core, is
// replaced: before a queue pair uses the queue, so nothing has run it.
//
// Quiet sends (connection.hh) have a second queue, whose interrupt runs the poll function of the
// first, which looks at both: sends first, so that an answer finds what it answers covered. So
// handlers of either never run beside each other.
//
// Tear-down: the queue pair is drained, then the batch is waited for that had the marker in it; the
// owner lets a grace period pass, once for all its connections, since the softirq reads its own
// after irq_poll_complete(); the queue pair is destroyed; and then ib_free_cq() disarms the queue,
// cancels the work or disables the polling, and destroys it.
#pragma once

#include <rtrs/core/connection.hh>

namespace rtrs {

// ENOMEM. `con.cq` and `con.send_cq` are queues of its own, without a queue pair.
Status poll_in_batches(rtrs_connection &con, rtrs_batch_handler *handler);

// Of a drained queue: the last batch has ended. May sleep.
void await_batch(rtrs_connection &con);

} // namespace rtrs
