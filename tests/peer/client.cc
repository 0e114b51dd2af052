// SPDX-License-Identifier: GPL-2.0
#include "client.hh"

#include "stain.hh"

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>

#include <rnbd/wire/messages.hh>
#include <rtrs/wire/authentication.hh>
#include <rtrs/wire/capsule.hh>
#include <rtrs/wire/info.hh>
#include <rtrs/wire/rkey.hh>

namespace peer {

using namespace rtrs;

namespace {
constexpr size_t kAnswerSize = size_t{1} << 20;
constexpr size_t kAnswerSearched = size_t{128} << 10;
} // namespace

Uuid random_uuid()
{
	static std::random_device source;
	Uuid u;
	for (auto &b : u.bytes)
		b = static_cast<u8>(source() | 1);
	return u;
}

Client::Client(Target target, uint16_t connections)
    : target_(std::move(target)), connection_count_(connections), path_(random_uuid()),
      session_(random_uuid())
{
}

ConnectRequestFields Client::request_fields(uint16_t cid) const
{
	return {.cid = {cid},
		.connection_count = connection_count_,
		.reconnect_count = attempt_,
		.path = path_,
		.session = session_,
		.first_connection = first_,
		.fences = epoch_.has_value(),
		.epoch = epoch_.value_or(0),
		.capsules = offers_capsules_,
		.authentication = offers_proof_,
		.algorithms = kKnownAlgorithms};
}

ConnectResult Client::connect_raw(uint16_t cid, const Bytes &private_data)
{
	if (connections_.size() <= cid)
		connections_.resize(cid + 1u);
	connections_[cid] =
	    std::make_unique<Connection>(target_.server, target_.port, target_.source);
	ConnectResult r = connections_[cid]->connect(private_data);
	if (r.kind == ConnectResult::Kind::Accepted && cid == 0) {
		auto reply = parse_connect_reply({r.private_data.data(), r.private_data.size()});
		if (!reply.ok())
			throw LocalError("the server's REP is not acceptable");
		reply_ = reply.value();
		sent_request_ = private_data;
		raw_reply_.assign(r.private_data.begin(),
				  r.private_data.begin() + kPrivateDataSize);
	}
	return r;
}

ConnectResult Client::connect(uint16_t cid)
{
	return connect_raw(cid, bytes_of(make_connect_request(request_fields(cid))));
}

void Client::connect_all()
{
	for (uint16_t cid = 0; cid < connection_count_; cid++)
		if (connect(cid).kind != ConnectResult::Kind::Accepted)
			throw LocalError("connection " + std::to_string(cid) + " was not accepted");
}

Bytes Client::info_message(const std::string &name) const
{
	auto n = SessionName::from({name.data(), name.size()});
	if (!n.ok())
		throw LocalError("bad session name");
	return bytes_of(make_info_request(n.value()));
}

void Client::send_info(const Bytes &message)
{
	info_ = std::make_unique<Memory>(con(0).pd(), proven_info_response_size(queue_depth()));
	con(0).post_recv(0, info_.get());
	con(0).post_send(message);
}

bool Client::receive_info(milliseconds timeout)
{
	auto wc = con(0).wait_recv(timeout);
	if (!wc)
		return false;
	raw_info_.assign(info_->data(), info_->data() + wc->byte_len);
	// Whether its code is right is for whoever wants to know.
	const size_t tail = challenged() ? sizeof(InfoResponseTail) : 0;
	Status s = for_each_remote_slot(
	    {info_->data(), wc->byte_len - std::min<size_t>(tail, wc->byte_len)}, {queue_depth()},
	    {chunk_size()},
	    [&](Slot, RemoteAddress a, Rkey k) { slots_.push_back({a, k, {chunk_size()}}); });
	if (!s.ok())
		throw LocalError("the server's INFO_RSP is not acceptable");
	for (uint16_t cid = 0; cid < connection_count_; cid++)
		post_receives(cid, receive_count_);
	answer_ = std::make_unique<Memory>(con(1).pd(), kAnswerSize);
	return true;
}

void Client::establish(const std::string &name)
{
	connect_all();
	send_info(info_message(name));
	if (!receive_info())
		throw LocalError("the server closed the path instead of answering INFO_REQ");
}

void Client::post_receives(uint16_t cid, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		receives_.push_back(std::make_unique<Memory>(con(cid).pd(), sizeof(RkeyResponse)));
		con(cid).post_recv(receives_.size() - 1, receives_.back().get());
	}
}

ImmLayout Client::layout() const
{
	return ImmLayout::create({queue_depth()}, {chunk_size()}).take();
}

Client::Request Client::make_write(uint32_t slot, Bytes message, Bytes data) const
{
	Request r{.slot = slot,
		  .con = 1,
		  .data = std::move(data),
		  .message = {},
		  .header = {},
		  .imm = {}};
	r.header = bytes_of(make_write_header(static_cast<u16>(message.size())));
	r.message = std::move(message);
	return r;
}

Client::Request Client::make_read(uint32_t slot, Bytes message, uint32_t room, uint32_t answer_len)
{
	Request r{
	    .slot = slot, .con = 1, .data = Bytes(room), .message = {}, .header = {}, .imm = {}};
	// The region of an ordinary memory registration can't be invalidated by the peer, so the
	// flag stays clear.
	r.header = bytes_of(
	    make_read_header(static_cast<u16>(message.size()),
			     {{answer_->address()}, {answer_->rkey()}, {answer_len}}, false));
	r.message = std::move(message);
	return r;
}

void Client::send(const Request &r)
{
	Bytes all = r.data;
	all.insert(all.end(), r.message.begin(), r.message.end());
	const auto offset = static_cast<u32>(all.size());
	all.insert(all.end(), r.header.begin(), r.header.end());
	const RemoteBuffer b = slots_.at(r.slot);
	const u32 imm = r.imm.value_or(layout().request({r.slot}, {offset}).value());
	con(r.con).post_write(all, b.address.value, b.rkey.value, imm);
}

Answer Client::wait_answer(uint32_t slot, milliseconds timeout)
{
	auto deadline = Clock::now() + timeout;
	while (!answers_.contains(slot)) {
		auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
		if (left.count() <= 0)
			return {.kind = Answer::Kind::Silence};
		bool idle = true;
		for (uint16_t cid = 0; cid < connection_count_; cid++) {
			auto wc = con(cid).poll_recv();
			if (!wc) {
				if (con(cid).poll_closed())
					return {.kind = Answer::Kind::PathClosed};
				continue;
			}
			idle = false;
			if (!(wc->wc_flags & IBV_WC_WITH_IMM))
				continue;
			Memory &m = *receives_.at(wc->wr_id);
			auto imm =
			    layout().decode_at_client(Immediate::from_network(wc->imm_data), {cid});
			if (imm.ok() && imm->kind == ClientImm::Kind::Response) {
				answers_[imm->slot.value] = imm->error;
				if (wc->opcode == IBV_WC_RECV) {
					auto key = parse_rkey_response({m.data(), wc->byte_len},
								       imm->slot);
					if (key.ok())
						slots_.at(imm->slot.value).rkey = key.value();
				}
			} else if (imm.ok() && imm->kind == ClientImm::Kind::Heartbeat) {
				con(0).post_write({}, 0, 0, kHeartbeatAckImm.value());
			}
			con(cid).post_recv(wc->wr_id, &m);
		}
		if (idle)
			std::this_thread::sleep_for(std::chrono::microseconds(200));
	}
	// The next answer may lie over this one; what is beyond is looked at in the end.
	stain::search(answer_->span().first(kAnswerSearched));
	int error = answers_[slot];
	answers_.erase(slot);
	return {.kind = Answer::Kind::Came, .error = error};
}

Answer Client::call(const Request &r)
{
	send(r);
	return wait_answer(r.slot);
}

void Client::send_fence(uint32_t serial)
{
	con(0).post_write({}, 0, 0, Immediate(ImmType::Fence, serial).value());
}

bool Client::wait_fence_done(uint32_t serial, milliseconds timeout)
{
	const u32 done = Immediate(ImmType::FenceDone, serial).to_network();
	const auto deadline = Clock::now() + timeout;
	while (Clock::now() < deadline && !con(0).wait_closed(milliseconds(0))) {
		auto wc = con(0).wait_recv(milliseconds(100));
		if (!wc)
			continue;
		const bool found = (wc->wc_flags & IBV_WC_WITH_IMM) && wc->imm_data == done;
		con(0).post_recv(wc->wr_id, receives_.at(wc->wr_id).get());
		if (found)
			return true;
	}
	return false;
}

Bytes Client::capsule_of(const Request &r) const
{
	const auto usr_len = static_cast<u16>(r.message.size());
	const auto offset = static_cast<u32>(r.data.size() + r.message.size());
	const Immediate imm = layout().request({r.slot}, {offset});
	Bytes all =
	    bytes_of(make_request_capsule(r.imm ? Immediate::from_value(*r.imm) : imm, usr_len));
	all.insert(all.end(), r.message.begin(), r.message.end());
	all.insert(all.end(), r.header.begin(), r.header.end());
	return all;
}

void Client::send_capsule(const Bytes &capsule, uint32_t closed_key, uint16_t on)
{
	con(on).post_send_invalidating(closed_key, capsule);
}

Answer Client::session_info()
{
	return call(make_read(0, bytes_of(rnbd::make_session_info()), sizeof(rnbd::SessionInfo),
			      sizeof(rnbd::SessionInfo)));
}

Answer Client::open(const std::string &path, uint8_t access_mode, uint16_t con)
{
	rnbd::Open m{};
	m.header = rnbd::MessageHeader::of(rnbd::MessageType::Open);
	m.access_mode = access_mode;
	std::memcpy(m.device_name, path.data(), std::min(path.size(), sizeof(m.device_name)));
	Request r =
	    make_read(0, bytes_of(m), sizeof(rnbd::OpenResponse), sizeof(rnbd::OpenResponse));
	r.con = con;
	Answer a = call(r);
	if (a == Answer{Answer::Kind::Came, 0}) {
		rnbd::OpenResponse answer;
		std::memcpy(&answer, this->answer().data(), sizeof(answer));
		device_id_ = answer.device_id.get();
	}
	return a;
}

Answer Client::close(uint32_t device_id)
{
	rnbd::Close m{rnbd::MessageHeader::of(rnbd::MessageType::Close), device_id};
	return call(make_write(0, bytes_of(m)));
}

bool Client::closed(milliseconds timeout)
{
	return con(0).wait_closed(timeout);
}

} // namespace peer
