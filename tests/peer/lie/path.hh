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

class Path {
public:
	Path(const Lie &lie, const rtrs::ConnectRequestFields &first);
	~Path();
	Path(const Path &) = delete;
	Path &operator=(const Path &) = delete;

	// Answers a connect request of this path.
	void greet(rdma_cm_id *id, const rtrs::ConnectRequestFields &request);
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
	// A path of another session that hears the same lie.
	Path *accomplice() const;
	// A path that accomplice() said has not gone, which it does by itself after a failed write.
	bool is_there(const Path *other) const;
	// Runs the function once, so much later, if the path is still there.
	void later(milliseconds pause, std::function<void()> what);
	// The client did what it must not do: said on standard output, and the program fails.
	void complain(const std::string &text) const;
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
};

// Whether any path complained.
bool complained();

} // namespace peer
