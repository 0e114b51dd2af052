// SPDX-License-Identifier: GPL-2.0
// The server's side of one path: correct, except where its lie says otherwise.
#pragma once

#include "lie.hh"

#include <map>
#include <memory>

#include <rnbd/wire/messages.hh>

namespace peer {

// Each path serves a disk of its own, in memory: paths are used side by side.
constexpr uint64_t kDiskSectors = 4096;

// The client did what it must not do: said on standard output, and the program fails.
void complain(const std::string &lie, const std::string &text);
// Whether anybody has.
bool complained();

// Who asks for a connection.
struct Caller {
	rdma_cm_id *id;
	uint32_t queue_pair; // the client's
	Bytes request;	     // REQ as it came
};

class Path {
public:
	Path(const Lie &lie, const rtrs::ConnectRequestFields &first);
	~Path();
	Path(const Path &) = delete;
	Path &operator=(const Path &) = delete;

	// Answers a connect request of this path.
	void greet(const Caller &caller, const rtrs::ConnectRequestFields &request);
	// Handles what came; whether anything did. Cheap.
	bool poll();
	// Whether the client has gone; a system call for each connection.
	bool closed();

	const Lie &lie() const { return lie_; }
	const rtrs::Uuid &uuid() const { return first_.path; }
	const rtrs::Uuid &session() const { return first_.session; }
	unsigned attempt() const { return first_.reconnect_count; }

	// ---- for lies
	Connection &con(uint16_t cid) { return *connections_.at(cid); }
	bool has_con(uint16_t cid) const { return cid < connections_.size() && connections_[cid]; }
	void send(const Response &r);
	void send_imm(uint16_t cid, rtrs::Immediate imm);
	void disconnect();
	// What the client proved itself by, once INFO_REQ is here.
	const rtrs::Mac &of_client() const { return of_client_; }
	// A path of another session that hears the same lie.
	Path *accomplice() const;
	// A path that accomplice() said has not gone, which it does by itself after a failed write.
	bool is_there(const Path *other) const;
	// Runs the function once, so much later, if the path is still there.
	void later(milliseconds pause, std::function<void()> what);
	void complain(const std::string &text) const { peer::complain(lie_.name, text); }
	// Answers are on their way for requests that have not come yet: the client may have put the
	// next one into the chunk when they do, and no request tells anything about the client any
	// more.
	void answered_early() { answered_early_ = true; }
	void remark(const std::string &text) const;

private:
	// Of what lies in a chunk.
	void complain_of_request(const std::string &text) const;
	void on_receive(uint16_t cid, const ibv_wc &wc);
	void on_info_request(size_t size);
	// What of INFO_REQ stands in front of its tail; nothing, and a complaint, if it has not the
	// length that it must have.
	std::optional<rtrs::ByteView> plain_part(rtrs::ByteView message) const;
	// Puts the tail behind INFO_RSP.
	void add_proof(rtrs::ByteView info_request, Bytes &info_response);
	bool unproven() const { return lie_.unproven_from && attempt() >= lie_.unproven_from; }
	void look_for_writes();
	void on_request(uint16_t cid, rtrs::ServerImm imm);
	Kind serve(const Request &request, Response &response);
	Kind serve_io(const Request &request, rtrs::ByteView message, Response &response);
	Response new_response(uint16_t cid, rtrs::Slot slot);

	static inline std::vector<Path *> all_;

	const Lie &lie_;
	Bytes disk_;
	rtrs::ConnectRequestFields first_;
	rtrs::ImmLayout layout_;
	std::vector<std::unique_ptr<Connection>> connections_;
	std::vector<rdma_cm_id *> ignored_;
	std::unique_ptr<Memory> info_;
	std::vector<std::unique_ptr<Memory>> chunks_;
	std::vector<std::pair<Clock::time_point, std::function<void()>>> timers_;
	bool named_ = false;
	unsigned opens_ = 0;
	unsigned closes_ = 0;
	bool answered_early_ = false;
	// Protocol J.3
	bool challenged_ = false;
	rtrs::ServerNonce nonce_{};
	Seen seen_;
	rtrs::Mac of_client_{};
};

} // namespace peer
