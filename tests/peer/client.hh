// SPDX-License-Identifier: GPL-2.0
// An RTRS client that keeps the protocol as long as it is not told otherwise: the ground that the
// attacks start from. It uses the modules' own layouts, so that a test says only what it breaks.
#pragma once

#include "verbs.hh"

#include <map>
#include <memory>

#include <rtrs/wire/immediate.hh>
#include <rtrs/wire/io_header.hh>
#include <rtrs/wire/private_data.hh>

namespace peer {

// Protocol J.3; without a name there is none.
struct Key {
	std::string name;
	uint32_t generation = 1;
	Bytes secret; // 32
};

struct Target {
	std::string server;
	uint16_t port = 1234;
	std::string source; // address of this machine to come from; if empty the kernel chooses
	std::string device; // a device path that the server exports
	Key key;	    // that the server has
};

template <class T> Bytes bytes_of(const T &value)
{
	auto *p = reinterpret_cast<const std::byte *>(&value);
	return Bytes(p, p + sizeof(value));
}

rtrs::Uuid random_uuid();

// The answer to one request.
struct Answer {
	enum class Kind { Came, PathClosed, Silence } kind = Kind::Silence;
	int error = 0; // 0 or a negative errno
	bool operator==(const Answer &) const = default;
};

class Client {
public:
	explicit Client(Target target, uint16_t connections = 2);

	// ---- the steps of the handshake, each of which may be done on its own
	rtrs::ConnectRequestFields request_fields(uint16_t cid) const;
	ConnectResult connect(uint16_t cid);
	ConnectResult connect_raw(uint16_t cid, const Bytes &private_data);
	void connect_all();
	// Posts the receive for INFO_RSP and sends these bytes as INFO_REQ.
	void send_info(const Bytes &message);
	Bytes info_message(const std::string &name) const;
	// False if the path was closed instead.
	bool receive_info(milliseconds timeout = milliseconds(10000));
	// All of it; throws if the server refuses.
	void establish(const std::string &name);

	// ---- requests
	struct Request {
		uint32_t slot = 0;
		uint16_t con = 1;
		Bytes data;		     // in front of the message
		Bytes message;		     // user message
		Bytes header;		     // RTRS header
		std::optional<uint32_t> imm; // overrides the right one
	};
	Request make_write(uint32_t slot, Bytes message, Bytes data = {}) const;
	// `room` bytes are left free at the start of the chunk; the answer goes to answer().
	Request make_read(uint32_t slot, Bytes message, uint32_t room, uint32_t answer_len);
	void send(const Request &r);
	Answer wait_answer(uint32_t slot, milliseconds timeout = milliseconds(10000));
	Answer call(const Request &r);

	// ---- fences (protocol J.1)
	// What the next connects offer.
	void offer_fences(uint32_t epoch) { epoch_ = epoch; }
	uint32_t path_serial() const { return reply_.path_serial; }
	void send_fence(uint32_t serial);
	// Whether FENCE_DONE for it comes in time.
	bool wait_fence_done(uint32_t serial, milliseconds timeout = milliseconds(10000));

	// ---- capsules (protocol J.2)
	// What the next connects offer.
	void offer_capsules() { offers_capsules_ = true; }
	// As the server has answered.
	bool capsules() const { return reply_.capsules; }
	// The capsule of a request that carries no data: prefix, message, header.
	Bytes capsule_of(const Request &r) const;
	// Sends it, and takes back the key of this slot's chunk.
	void send_capsule(const Request &r)
	{
		send_capsule(capsule_of(r), slot(r.slot).rkey.value, r.con);
	}
	void send_capsule(const Bytes &capsule, uint32_t closed_key, uint16_t con = 1);

	// ---- proofs (protocol J.3)
	// What the next connects offer.
	void offer_proof() { offers_proof_ = true; }
	// As the server has answered.
	bool challenged() const { return reply_.authentication; }
	// REQ and REP of cid 0, and INFO_RSP, as they were sent.
	const Bytes &sent_request() const { return sent_request_; }
	const Bytes &raw_reply() const { return raw_reply_; }
	const Bytes &raw_info() const { return raw_info_; }
	uint16_t connection_count() const { return connection_count_; }
	const rtrs::Uuid &path_uuid() const { return path_; }
	// The next connects begin that path's attempt of this number.
	void take_path(const rtrs::Uuid &path, uint16_t attempt)
	{
		path_ = path;
		attempt_ = attempt;
	}

	// ---- RNBD on top
	Answer session_info();
	Answer open(const std::string &path, uint8_t access_mode, uint16_t con = 0);
	Answer close(uint32_t device_id);
	uint32_t device_id() const { return device_id_; }

	// Throws std::out_of_range if it was not made.
	Connection &con(uint16_t cid)
	{
		auto &c = connections_.at(cid);
		return c ? *c : throw std::out_of_range("no such connection");
	}
	std::span<std::byte> answer() { return answer_->span(); }
	bool closed(milliseconds timeout = milliseconds(10000));
	uint32_t queue_depth() const { return reply_.queue_depth.value; }
	uint32_t chunk_size() const { return reply_.chunk_size().value; }
	uint32_t max_io_size() const { return reply_.max_io_size.value; }
	bool new_rkey() const { return reply_.new_rkey; }
	rtrs::RemoteBuffer slot(uint32_t i) const { return slots_.at(i); }
	const rtrs::Uuid &session_uuid() const { return session_; }
	void join_session(const rtrs::Uuid &session) { session_ = session; }
	void set_first(bool first) { first_ = first; }
	// Fewer than by default make a session that begins sooner; before receive_info().
	void set_receives(unsigned count) { receive_count_ = count; }
	rtrs::ImmLayout layout() const;

private:
	void post_receives(uint16_t cid, unsigned count);

	Target target_;
	uint16_t connection_count_;
	rtrs::Uuid path_;
	rtrs::Uuid session_;
	bool first_ = true;
	std::optional<uint32_t> epoch_;
	bool offers_capsules_ = false;
	bool offers_proof_ = false;
	uint16_t attempt_ = 1;
	Bytes sent_request_;
	Bytes raw_reply_;
	Bytes raw_info_;
	unsigned receive_count_ = 128; // of each connection
	std::vector<std::unique_ptr<Connection>> connections_;
	rtrs::ConnectReplyFields reply_{};
	std::unique_ptr<Memory> info_;
	std::unique_ptr<Memory> answer_;
	std::vector<std::unique_ptr<Memory>> receives_;
	std::vector<rtrs::RemoteBuffer> slots_;
	std::map<uint32_t, int> answers_; // slot → error, of those not waited for yet
	uint32_t device_id_ = 0;
};

} // namespace peer
