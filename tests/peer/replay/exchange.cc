// SPDX-License-Identifier: GPL-2.0
#include "exchange.hh"

#include <cstring>

#include <rnbd/wire/operations.hh>

namespace peer {

using namespace rtrs;

namespace {

enum class Step { Connect0, Connect1, Info, SessionInfo, Open, Close, Read, Write, Flush, Discard };

constexpr milliseconds kWaitForAnswer{100};
constexpr milliseconds kWaitForInfo{2000};
constexpr uint32_t kSlots = 8; // of those in use at a time
constexpr uint32_t kIoSize = 4096;
constexpr uint8_t kReadWrite = 1;

std::vector<Step> plan(Mutator &m)
{
	std::vector<Step> steps{Step::Connect0, Step::Connect1, Step::Info, Step::SessionInfo,
				Step::Open};
	constexpr Step kBody[] = {Step::Read,	     Step::Write, Step::Flush, Step::Discard,
				  Step::SessionInfo, Step::Open,  Step::Close};
	for (uint32_t n = 8 + m.below(24); n; n--)
		steps.push_back(kBody[m.one_in(3) ? m.below(std::size(kBody)) : m.below(2)]);
	steps.push_back(Step::Close);
	// Mostly in order: else few would get far.
	while (m.one_in(3))
		m.reorder(steps);
	return steps;
}

Bytes io(Client &c, Mutator &m, rnbd::Operation op, uint32_t size)
{
	return bytes_of(rnbd::make_io({c.device_id()}, op, m.one_in(4) ? m.odd_number() : 0,
				      {m.below(1024) * 8}, size, 0));
}

class Player {
public:
	Player(const Target &target, Mutator &m, Tally &tally)
	    : target_(target), m_(m), tally_(tally), client_(target), harsh_(2 + m.below(8))
	{
		client_.set_receives(2 * kSlots);
	}

	// False: the path has ended.
	bool play(Step step, const std::string &session_name);

private:
	bool connect(uint16_t cid);
	bool request(Client::Request r);
	Client::Request make(Step step);
	void spoil(Client::Request &r);
	// Whether the next thing is mutated; each session has its own rate.
	bool now() { return m_.one_in(harsh_); }

	const Target &target_;
	Mutator &m_;
	Tally &tally_;
	Client client_;
	uint32_t harsh_;
	uint32_t next_slot_ = 0;
	bool established_ = false;
};

bool Player::connect(uint16_t cid)
{
	Bytes data = bytes_of(make_connect_request(client_.request_fields(cid)));
	// Rarely: a session that does not begin shows nothing else.
	if (now() && m_.one_in(4)) {
		m_.mutate(data);
		data.resize(std::min<size_t>(data.size(), kPrivateDataSize));
		tally_.mutated++;
	}
	tally_.sent++;
	const ConnectResult r = client_.connect_raw(cid, data);
	return r.kind == ConnectResult::Kind::Accepted;
}

Client::Request Player::make(Step step)
{
	const uint32_t slot = next_slot_++ % kSlots;
	switch (step) {
	case Step::SessionInfo:
		return client_.make_read(slot, bytes_of(rnbd::make_session_info()), 36, 36);
	case Step::Open: {
		rnbd::Open o{};
		o.header = rnbd::MessageHeader::of(rnbd::MessageType::Open);
		o.access_mode = kReadWrite;
		std::memcpy(o.device_name, target_.device.data(), target_.device.size());
		return client_.make_read(slot, bytes_of(o), 56, 56);
	}
	case Step::Close:
		return client_.make_write(slot, bytes_of(rnbd::make_close({client_.device_id()})));
	case Step::Read:
		return client_.make_read(slot, io(client_, m_, rnbd::Operation::Read, kIoSize),
					 kIoSize, kIoSize);
	case Step::Write:
		return client_.make_write(slot, io(client_, m_, rnbd::Operation::Write, kIoSize),
					  Bytes(kIoSize, static_cast<std::byte>(m_.below(256))));
	case Step::Flush: {
		Client::Request r =
		    client_.make_write(slot, io(client_, m_, rnbd::Operation::Flush, 0));
		r.header = bytes_of(make_read_header(static_cast<u16>(r.message.size())));
		return r;
	}
	default:
		return client_.make_write(slot, io(client_, m_, rnbd::Operation::Discard, kIoSize));
	}
}

void Player::spoil(Client::Request &r)
{
	tally_.mutated++;
	switch (m_.below(8)) {
	case 0:
	case 1:
	case 2:
		m_.mutate(r.message);
		break;
	case 3:
	case 4:
		m_.mutate(r.header);
		break;
	case 5:
		m_.mutate(r.data);
		break;
	case 6: {
		// Type mostly a request's: others end the session.
		const uint32_t type = m_.one_in(4) ? m_.below(16) : 0;
		r.imm = type << kImmPayloadBits | (m_.odd_number() & ((1u << kImmPayloadBits) - 1));
		break;
	}
	case 7:
		r.slot = m_.below(client_.queue_depth());
		r.con = static_cast<uint16_t>(m_.below(2));
		break;
	}
}

bool Player::request(Client::Request r)
{
	if (now())
		spoil(r);
	tally_.sent++;
	client_.send(r);
	// Often the next one goes out while this one is under way.
	if (m_.one_in(2))
		return !client_.closed(milliseconds(1));
	const Answer a = client_.wait_answer(r.slot, kWaitForAnswer);
	tally_.answered += a.kind == Answer::Kind::Came;
	return a.kind != Answer::Kind::PathClosed;
}

bool Player::play(Step step, const std::string &session_name)
{
	switch (step) {
	case Step::Connect0:
		return connect(0);
	case Step::Connect1:
		return connect(1);
	case Step::Info: {
		Bytes message = client_.info_message(session_name);
		if (now() && m_.one_in(4)) {
			m_.mutate(message);
			tally_.mutated++;
		}
		tally_.sent++;
		client_.send_info(message);
		established_ = client_.receive_info(kWaitForInfo);
		return established_;
	}
	default:
		break;
	}
	if (!established_)
		throw std::out_of_range("no chunks yet");
	if (step == Step::Open && !now()) {
		// The honest form, which also takes note of the device's id.
		tally_.sent++;
		const Answer a = client_.open(target_.device, kReadWrite, 1);
		tally_.answered += a.kind == Answer::Kind::Came;
		return a.kind != Answer::Kind::PathClosed;
	}
	return request(make(step));
}

} // namespace

void play(const Target &target, Mutator &m, const std::string &session_name, Tally &tally)
{
	Player player(target, m, tally);
	for (Step step : plan(m)) {
		try {
			if (!player.play(step, session_name))
				return;
		} catch (const std::out_of_range &) {
			// A step that needs one which was left out.
		}
	}
}

} // namespace peer
