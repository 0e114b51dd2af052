// SPDX-License-Identifier: GPL-2.0
// One RC connection through librdmacm, with a queue pair whose every step a test can leave out or
// do wrongly. Errors of the local machine throw; what the peer does is returned.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <rtrs/pure/auth_proof.hh>

namespace peer {

using Bytes = std::vector<std::byte>;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Something of this machine failed, not the peer.
class LocalError : public std::runtime_error {
public:
	using std::runtime_error::runtime_error;
};

// Registered memory of one connection.
class Memory {
public:
	Memory(ibv_pd *pd, size_t size,
	       int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	Memory(Memory &&o) noexcept;
	~Memory();
	// The same memory under another key; the old one opens nothing any more.
	void renew();

	std::byte *data() { return bytes_.data(); }
	std::span<std::byte> span() { return bytes_; }
	size_t size() const { return bytes_.size(); }
	uint32_t lkey() const { return mr_->lkey; }
	uint32_t rkey() const { return mr_->rkey; }
	uint64_t address() const { return reinterpret_cast<uint64_t>(bytes_.data()); }

private:
	void enroll(ibv_pd *pd);

	Bytes bytes_;
	int access_;
	ibv_mr *mr_;
};

// What became of a connect request.
struct ConnectResult {
	enum class Kind { Accepted, Rejected, Failed } kind;
	int cm_event = 0;
	Bytes private_data; // of REP or REJ
};

class Connection {
public:
	// Resolves address and route and creates the queue pair; no request is sent yet.
	Connection(const std::string &server, uint16_t port, const std::string &source = {});
	// The other end: takes over the id of a connect request, whose event was acknowledged, and
	// which said this number of the client's queue pair.
	Connection(rdma_cm_id *request, uint32_t peer_qp);
	~Connection();
	Connection(const Connection &) = delete;
	Connection &operator=(const Connection &) = delete;

	// Sends the connect request with exactly these private bytes and waits for the answer.
	ConnectResult connect(std::span<const std::byte> private_data,
			      milliseconds timeout = milliseconds(10000));
	// Sends the request and does not wait: for half-open connections.
	void connect_without_waiting(std::span<const std::byte> private_data);
	// Answers the request that this end was made of.
	void accept(std::span<const std::byte> private_data);
	void disconnect();

	ibv_pd *pd() const { return id_->pd; }
	// Of the queue pairs at both ends, once it is connected (protocol J.3).
	rtrs::QueuePairNumbers numbers() const
	{
		return accepts_ ? rtrs::QueuePairNumbers{peer_qp_, id_->qp->qp_num}
				: rtrs::QueuePairNumbers{id_->qp->qp_num, peer_qp_};
	}
	const sockaddr &local_address() const { return *rdma_get_local_addr(id_); }
	const sockaddr &peer_address() const { return *rdma_get_peer_addr(id_); }

	void post_recv(uint64_t wr_id, Memory *memory = nullptr);
	void post_send(std::span<const std::byte> data, std::optional<uint32_t> imm = {});
	// A SEND that takes the peer's right of access by this key away.
	void post_send_invalidating(uint32_t rkey, std::span<const std::byte> data = {});
	// RDMA write of `data` (which may be empty) to the address, with an immediate if given.
	void post_write(std::span<const std::byte> data, uint64_t address, uint32_t rkey,
			std::optional<uint32_t> imm);

	// The next receive completion; nothing if none comes in time or the connection broke.
	std::optional<ibv_wc> wait_recv(milliseconds timeout);
	// The same without any wait.
	std::optional<ibv_wc> poll_recv();
	// Whether the peer has closed the connection, or it broke, within the time.
	bool wait_closed(milliseconds timeout);
	// The same without any wait.
	bool poll_closed();
	// Whether the last posted sends were carried out (all completions came with success).
	bool wait_sends(milliseconds timeout);
	// Why the first work request failed; IBV_WC_SUCCESS if none did.
	ibv_wc_status failure() const { return failure_; }

private:
	static constexpr size_t kStaging = 1 << 20;

	void create_queues();
	void post(ibv_send_wr &wr);
	rdma_cm_event *wait_event(milliseconds timeout);
	bool poll_once();
	void look_for_end(milliseconds timeout);
	std::byte *stage(std::span<const std::byte> data);

	rdma_event_channel *channel_ = nullptr;
	rdma_cm_id *id_ = nullptr;
	ibv_cq *cq_ = nullptr;
	uint32_t peer_qp_ = 0;
	bool accepts_ = false;		// it is the server's end
	std::optional<Memory> staging_; // where data lies until it was sent
	size_t staged_ = 0;
	uint32_t sends_ = 0;
	bool broken_ = false;
	ibv_wc_status failure_ = IBV_WC_SUCCESS;
	std::vector<ibv_wc> received_;
};

} // namespace peer
