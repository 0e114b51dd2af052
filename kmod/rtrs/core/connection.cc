// SPDX-License-Identifier: GPL-2.0
// Creation and end of the queues of a connection.
#include <cxxrt/err_ptr.hh>
#include <rtrs/core/batch_queue.hh>
#include <rtrs/core/connection.hh>
#include <rtrs/core/device.hh>

using namespace cxxrt;

namespace rtrs {
namespace {

// ib_drain_qp() posts one marker to each queue, at a time when both may be full.
constexpr u32 kDrainMarkers = 1;

// A completion queue that is polled by its user, or in batches, can't come from the device's pool,
// whose queues are shared and polled by ib_core (protocol G.1-35).
Status create_cq(rtrs_connection &con, ib_device *ibdev, const rtrs_queue_config &config)
{
	// Every posted work request can complete at once, when the queue pair breaks.
	const bool quiet = config.batch && config.poll == IB_POLL_SOFTIRQ;
	const u32 sends = config.send_wrs + kDrainMarkers;
	const u32 entries = config.recv_wrs + kDrainMarkers + (quiet ? 0 : sends);
	const bool own = config.poll == IB_POLL_DIRECT || config.batch;
	con.cq = TRY(cxxrt::from_err_ptr(
	    own ? ib_alloc_cq(ibdev, &con, entries, config.cq_vector, config.poll)
		: ib_cq_pool_get(ibdev, entries, config.cq_vector, config.poll)));
	con.cqes = entries;
	con.private_cq = own;
	if (quiet)
		con.send_cq = TRY(cxxrt::from_err_ptr(
		    ib_alloc_cq(ibdev, &con, sends, config.cq_vector, config.poll)));
	return config.batch ? poll_in_batches(con, config.batch) : Status();
}

// That of sends first, whose interrupt schedules the poll of the other.
void destroy_cq(rtrs_connection &con)
{
	if (!con.cq)
		return;
	if (con.send_cq)
		ib_free_cq(con.send_cq);
	con.send_cq = nullptr;
	if (con.private_cq)
		ib_free_cq(con.cq);
	else
		ib_cq_pool_put(con.cq, con.cqes);
	con.cq = nullptr;
	con.completions.reset();
}

Status create_qp(rtrs_connection &con, ib_pd *pd, const rtrs_queue_config &config)
{
	ib_qp_init_attr attr{};
	attr.event_handler = config.qp_event;
	attr.qp_context = &con;
	attr.cap.max_send_wr = config.send_wrs + kDrainMarkers;
	attr.cap.max_recv_wr = config.recv_wrs + kDrainMarkers;
	attr.cap.max_send_sge = config.send_sges;
	attr.cap.max_recv_sge = 1;
	attr.qp_type = IB_QPT_RC;
	attr.send_cq = con.send_cq ? con.send_cq : con.cq;
	attr.recv_cq = con.cq;
	attr.sq_sig_type = IB_SIGNAL_REQ_WR;
	TRY(Status::from_code(rdma_create_qp(con.cm_id, pd, &attr)));
	con.qp = con.cm_id->qp;
	return {};
}

} // namespace
} // namespace rtrs

CXXRT_FOR_C int rtrs_connection_create_queues(rtrs_connection *con, rtrs_device *device,
					      rdma_cm_id *id, const rtrs_queue_config *config)
{
	con->cm_id = id;
	Status s = rtrs::create_cq(*con, device->ibdev, *config);
	if (s.ok())
		s = rtrs::create_qp(*con, device->pd, *config);
	if (!s.ok())
		rtrs::destroy_cq(*con);
	return s.code();
}

CXXRT_FOR_C void rtrs_connection_drain(rtrs_connection *con)
{
	// Both queues: each side posts a marker behind everything else, moves the queue pair to the
	// error state and waits for the marker; a work request's completion comes before it.
	if (!con->qp)
		return;
	ib_drain_qp(con->qp);
	// The marker was in a batch, whose end may still be to come.
	if (con->batch)
		rtrs::await_batch(*con);
}

CXXRT_FOR_C void rtrs_connection_destroy_queues(rtrs_connection *con)
{
	if (con->qp) {
		rdma_destroy_qp(con->cm_id);
		con->qp = nullptr;
	}
	rtrs::destroy_cq(*con);
}
