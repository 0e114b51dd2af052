// SPDX-License-Identifier: GPL-2.0
// Wrong RNBD messages over a correct transport (protocol D, G.2 rows user msg to IO).
#include "attack.hh"

#include <cstring>
#include <thread>

#include <rnbd/wire/extension.hh>

namespace peer {

using rnbd::MessageHeader;
using rnbd::MessageType;

namespace {

constexpr int kNotPermitted = -1;
constexpr int kInvalid = -22;
constexpr int kNotConnected = -107;
constexpr uint8_t kReadOnly = 0, kMigration = 2;

using Step = std::function<std::string(Client &, const Target &)>;

Attack established(std::string name, std::string row, Step run)
{
	return {std::move(name), std::move(row), [run](const Target &t) {
			Client c(t);
			c.establish(fresh_name());
			std::string text = expect_alive(c);
			return text.empty() ? run(c, t) : text;
		}};
}

// Two writers may have a device in a migration. One is the honest client; the other may still be
// the attack before, whose session ends when the server has got round to it.
Answer open_in_turn(Client &c, const std::string &device, uint8_t mode)
{
	constexpr milliseconds kPause(50);
	Answer answer = c.open(device, mode);
	for (milliseconds waited(0);
	     mode == kMigration && answer.error == kNotPermitted && waited < milliseconds(10000);
	     waited += kPause) {
		std::this_thread::sleep_for(kPause);
		answer = c.open(device, mode);
	}
	return answer;
}

// With the target's device open read-only, which any number of clients may have.
Attack opened(std::string name, std::string row, Step run, uint8_t mode = kReadOnly)
{
	return established(
	    std::move(name), std::move(row), [run, mode](Client &c, const Target &t) {
		    std::string text = expect_answer(open_in_turn(c, t.device, mode), 0);
		    return text.empty() ? run(c, t) : "OPEN: " + text;
	    });
}

rnbd::Io io(uint32_t id, uint32_t rw, uint64_t sector, uint32_t size)
{
	rnbd::Io m{};
	m.header = MessageHeader::of(MessageType::Io);
	m.device_id = id;
	m.sector = sector;
	m.rw = rw;
	m.bi_size = size;
	return m;
}

constexpr uint32_t kRead = 0, kWrite = 1, kFlush = 2, kDiscard = 3;

Answer read_io(Client &c, const rnbd::Io &m, uint32_t room)
{
	return c.call(c.make_read(1, bytes_of(m), room, room));
}

Answer write_io(Client &c, const rnbd::Io &m, uint32_t data)
{
	return c.call(c.make_write(1, bytes_of(m), Bytes(data)));
}

Attack bad_read(std::string name, std::string row, uint32_t rw, uint64_t sector, uint32_t size,
		uint32_t room)
{
	return opened(name, row, [=](Client &c, const Target &) {
		return first_of(
		    {expect_refused(read_io(c, io(c.device_id(), rw, sector, size), room)),
		     expect_alive(c)});
	});
}

Attack bad_write(std::string name, std::string row, uint32_t rw, uint64_t sector, uint32_t size,
		 uint32_t data)
{
	auto run = [=](Client &c, const Target &) {
		return first_of(
		    {expect_refused(write_io(c, io(c.device_id(), rw, sector, size), data)),
		     expect_alive(c)});
	};
	return opened(name, row, run, kMigration);
}

Attack unknown_message(uint16_t type)
{
	return established("message-type-" + std::to_string(type), "G.2 user msg type",
			   [type](Client &c, const Target &) {
				   Bytes m(264);
				   std::memcpy(m.data(), &type, sizeof(type));
				   return first_of(
				       {expect_answer(c.call(c.make_read(0, m, 64, 64)), kInvalid),
					expect_alive(c)});
			   });
}

Attack short_message(MessageType type, size_t size)
{
	return established(
	    "message-short-" + std::to_string(static_cast<int>(type)), "G.2 usr_len",
	    [=](Client &c, const Target &) {
		    Bytes m(size);
		    MessageHeader h = MessageHeader::of(type);
		    std::memcpy(m.data(), &h, sizeof(h));
		    return first_of(
			{expect_refused(c.call(c.make_read(0, m, 64, 64))), expect_alive(c)});
	    });
}

Attack bad_open(std::string name, std::string path, uint8_t mode = kReadOnly)
{
	return established("open-" + name, "G.2 OPEN", [=](Client &c, const Target &) {
		return first_of({expect_refused(c.open(path, mode)), expect_alive(c)});
	});
}

std::string small_open_answer(Client &c, const Target &t)
{
	rnbd::Open m{};
	m.header = MessageHeader::of(MessageType::Open);
	std::memcpy(m.device_name, t.device.data(), t.device.size());
	return first_of(
	    {expect_refused(c.call(c.make_read(0, bytes_of(m), 55, 55))), expect_alive(c)});
}

// G.3-1: the spellings of one device must neither collide nor block the session.
std::string aliases(Client &c, const Target &t)
{
	for (const std::string &path : {t.device, t.device.substr(1), "/" + t.device,
					"//" + t.device.substr(1), "/dev/../" + t.device}) {
		Answer a = c.open(path, kReadOnly);
		if (a.kind != Answer::Kind::Came)
			return "no answer to the OPEN of " + path;
	}
	return expect_alive(c);
}

// G.3-2: of several CLOSEs at once one closes, none does harm.
std::string concurrent_close(Client &c, const Target &t)
{
	for (int round = 0; round < 10; round++) {
		rnbd::Close m{MessageHeader::of(MessageType::Close), c.device_id()};
		for (uint32_t slot = 0; slot < 8; slot++) {
			Client::Request r = c.make_write(slot, bytes_of(m));
			r.con = static_cast<uint16_t>(slot % 2);
			c.send(r);
		}
		for (uint32_t slot = 0; slot < 8; slot++)
			if (auto text = expect_answer(c.wait_answer(slot), 0); !text.empty())
				return text;
		if (auto text = expect_answer(c.open(t.device, kReadOnly), 0); !text.empty())
			return text;
	}
	return expect_alive(c);
}

std::string io_while_closing(Client &c, const Target &t)
{
	for (int round = 0; round < 10; round++) {
		for (uint32_t slot = 2; slot < 34; slot++)
			c.send(c.make_read(slot, bytes_of(io(c.device_id(), kRead, 0, 4096)), 4096,
					   4096));
		rnbd::Close m{MessageHeader::of(MessageType::Close), c.device_id()};
		c.send(c.make_write(1, bytes_of(m)));
		for (uint32_t slot = 1; slot < 34; slot++)
			if (c.wait_answer(slot).kind != Answer::Kind::Came)
				return "a request had no answer";
		if (auto text = expect_answer(c.open(t.device, kReadOnly), 0); !text.empty())
			return text;
	}
	return expect_alive(c);
}

std::string closed_device(Client &c, const Target &)
{
	const uint32_t id = c.device_id();
	return first_of({expect_answer(c.close(id), 0), expect_answer(c.close(id), 0),
			 expect_answer(read_io(c, io(id, kRead, 0, 4096), 4096), kNotConnected),
			 expect_alive(c)});
}

std::string foreign_device(Client &c, const Target &t)
{
	Client other(t);
	other.establish(fresh_name());
	// The id is the first of its session there; here nothing is open.
	return first_of(
	    {expect_answer(other.session_info(), 0),
	     expect_answer(read_io(other, io(c.device_id(), kRead, 0, 4096), 4096), kNotConnected),
	     expect_alive(c)});
}

std::string write_to_read_only(Client &c, const Target &)
{
	const uint32_t id = c.device_id();
	return first_of({expect_refused(write_io(c, io(id, kWrite, 0, 4096), 4096)),
			 expect_refused(write_io(c, io(id, kDiscard, 0, 4096), 0)),
			 expect_alive(c)});
}

// I/O that heartbeats and fences would wait behind.
std::string io_on_service(Client &c, const Target &)
{
	auto read = c.make_read(1, bytes_of(io(c.device_id(), kRead, 0, 4096)), 4096, 4096);
	read.con = 0;
	return first_of({expect_answer(c.call(read), kInvalid),
			 expect_answer(read_io(c, io(c.device_id(), kRead, 0, 4096), 4096), 0),
			 expect_alive(c)});
}

// A read answers what was read and touches nothing else of the client.
std::string read_is_exact(Client &c, const Target &)
{
	std::memset(c.answer().data(), 0x5a, 65536);
	std::string text = expect_answer(read_io(c, io(c.device_id(), kRead, 0, 4096), 4096), 0);
	for (size_t i = 4096; i < 65536; i++)
		if (c.answer()[i] != std::byte{0x5a})
			return "byte " + std::to_string(i) + " behind the data was written";
	return text;
}

std::string failed_read_gives_nothing(Client &c, const Target &)
{
	std::memset(c.answer().data(), 0x5a, 65536);
	std::string text =
	    expect_refused(read_io(c, io(c.device_id(), kRead, ~0ull >> 10, 4096), 4096));
	for (size_t i = 0; i < 65536; i++)
		if (c.answer()[i] != std::byte{0x5a})
			return "a failed read wrote into the client's memory";
	return text;
}

std::string bad_priority(Client &c, const Target &)
{
	rnbd::Io m = io(c.device_id(), kRead, 0, 4096);
	m.prio = 0xffff;
	Answer a = read_io(c, m, 4096);
	return first_of({a.kind == Answer::Kind::Came ? "" : "no answer", expect_alive(c)});
}

// A session that has agreed on all there is.
std::string introduce(Client &c)
{
	constexpr size_t kInfo = sizeof(rnbd::SessionInfo);
	return expect_answer(
	    c.call(c.make_read(0, bytes_of(rnbd::make_extended_session_info(1)), kInfo, kInfo)), 0);
}

Answer discover(Client &c, uint32_t first, uint32_t room, size_t size = 8)
{
	Bytes m = bytes_of(rnbd::make_discover(first));
	m.resize(size);
	return c.call(c.make_read(0, m, room, room));
}

// Where the session has agreed on the question: too short, no room, as a write, from beyond the
// end.
std::string bad_discover(Client &c, const Target &)
{
	constexpr uint32_t kRoom = rnbd::kMaxDiscoverSize;
	const Client::Request written = c.make_write(0, bytes_of(rnbd::make_discover(0)));
	return first_of({introduce(c), expect_refused(discover(c, 0, kRoom, 7)),
			 expect_refused(discover(c, 0, kRoom - 1)), expect_refused(c.call(written)),
			 expect_answer(discover(c, 0, kRoom), 0),
			 expect_answer(discover(c, rnbd::kNoMoreExports, kRoom), 0),
			 expect_alive(c)});
}

Answer reserve(Client &c, rnbd::ReserveQuestion m, uint32_t room = rnbd::kMaxReserveKeysSize,
	       size_t size = sizeof(rnbd::ReserveQuestion))
{
	Bytes bytes = bytes_of(m);
	bytes.resize(size);
	return c.call(c.make_read(0, bytes, room, room));
}

// Every field that can be wrong, of a device that has no reservations anyway, and of none.
std::string bad_reserve(Client &c, const Target &t)
{
	constexpr int kNotSupported = -95;
	using rnbd::ReserveQuestion;
	const auto good = [&] {
		return rnbd::make_reserve({c.device_id()},
					  {.operation = rnbd::ReserveOperation::Register,
					   .type = rnbd::ReservationType::None,
					   .ignore_key = false,
					   .serial = 1,
					   .key = 0,
					   .second_key = 2});
	};
	const auto bad = [&](auto change) {
		ReserveQuestion m = good();
		change(m);
		return expect_answer(reserve(c, m), kInvalid);
	};
	ReserveQuestion keys = good();
	keys.operation = 7;
	keys.second_key = 0;
	ReserveQuestion nowhere = good();
	nowhere.device_id = c.device_id() + 1;
	return first_of({// Before the agreement nobody knows it.
			 expect_answer(reserve(c, good()), kInvalid),
			 introduce(c),
			 expect_answer(open_in_turn(c, t.device, kMigration), 0),
			 expect_answer(reserve(c, good()), kNotSupported),
			 expect_answer(reserve(c, keys), kNotSupported),
			 expect_answer(reserve(c, nowhere), kNotConnected),
			 expect_refused(reserve(c, good(), 23)),
			 expect_refused(reserve(c, keys, 4095)),
			 expect_refused(reserve(c, good(), 4096, 39)),
			 expect_refused(c.call(c.make_write(0, bytes_of(good())))),
			 bad([](auto &m) { m.operation = 0; }),
			 bad([](auto &m) { m.operation = 9; }),
			 bad([](auto &m) { m.operation = 255; }),
			 bad([](auto &m) { m.type = 1; }),
			 bad([](auto &m) { m.flags = 2; }),
			 bad([](auto &m) { m.flags = 0xffff; }),
			 bad([](auto &m) { m.reserved = 1; }),
			 bad([](auto &m) { m.serial = 0; }),
			 bad([](auto &m) {
				 m.operation = 2;
				 m.second_key = 0;
				 m.type = 7;
			 }),
			 bad([](auto &m) {
				 m.operation = 4;
				 m.type = 255;
			 }),
			 expect_alive(c)});
}

} // namespace

std::vector<Attack> rnbd_attacks()
{
	std::vector<Attack> all{
	    bad_open("empty", ""),
	    bad_open("unterminated", std::string(255, 'x')),
	    bad_open("dots", ".."),
	    bad_open("parent", "dev/../etc/passwd"),
	    bad_open("missing", "/dev/there-is-no-such-device"),
	    bad_open("file", "/etc/passwd"),
	    bad_open("directory", "/dev"),
	    bad_open("character-device", "/dev/null"),
	    bad_open("mode-3", "/dev/ram0", 3),
	    bad_open("mode-255", "/dev/ram0", 255),
	    established("open-small-answer", "G.2 OPEN", small_open_answer),
	    established("discover", "D.5 DISCOVER", bad_discover),
	    established("reserve", "D.5 Reservations", bad_reserve),
	    established("open-aliases", "G.3-1", aliases),
	    opened("close-concurrent", "G.3-2", concurrent_close),
	    opened("io-while-closing", "G.1-17", io_while_closing),
	    opened("io-closed-device", "G.2 IO device_id", closed_device),
	    opened("io-foreign-device", "G.2 IO device_id", foreign_device),
	    opened("io-on-service", "G.2 IO connection", io_on_service),
	    opened("io-read-only", "G.3-4", write_to_read_only),
	    opened("io-read-exact", "G.3-6", read_is_exact),
	    opened("io-read-failed", "G.3-6", failed_read_gives_nothing),
	    opened("io-priority", "G.2 IO prio", bad_priority),
	    bad_read("io-size-below-data", "G.1-62", kRead, 0, 4096, 8192),
	    bad_read("io-size-above-data", "G.1-62", kRead, 0, 8192, 4096),
	    bad_read("io-size-huge", "G.1-62", kRead, 0, 0xfffff000, 4096),
	    bad_read("io-size-unaligned", "G.2 IO bi_size", kRead, 0, 511, 511),
	    bad_read("io-write-as-read", "G.2 IO rw", kWrite, 0, 4096, 4096),
	    bad_read("io-op-6", "G.2 IO rw", 6, 0, 4096, 4096),
	    bad_read("io-op-255", "G.2 IO rw", 255, 0, 4096, 4096),
	    bad_read("io-sector-beyond", "G.2 IO sector", kRead, 1ull << 40, 4096, 4096),
	    bad_read("io-sector-overflow", "G.2 IO sector", kRead, ~0ull, 4096, 4096),
	    // In bytes these are 0, and what ends at byte 4096.
	    bad_read("io-sector-wraps", "G.4-4", kRead, 1ull << 55, 4096, 4096),
	    bad_read("io-end-wraps", "G.4-4", kRead, (1ull << 55) - 8, 8192, 8192),
	    bad_write("io-write-sector-wraps", "G.4-4", kWrite, 1ull << 55, 4096, 4096),
	    bad_write("io-write-end-wraps", "G.4-4", kWrite, (1ull << 55) - 8, 8192, 8192),
	    bad_write("io-discard-end-wraps", "G.4-4", kDiscard, (1ull << 55) - 8, 8192, 0),
	    bad_write("io-read-as-write", "G.2 IO rw", kRead, 0, 4096, 4096),
	    bad_write("io-write-size-above", "G.1-62", kWrite, 0, 1 << 20, 4096),
	    bad_write("io-write-size-zero", "G.2 IO bi_size", kWrite, 0, 0, 0),
	    bad_write("io-discard-with-data", "G.2 IO bi_size", kDiscard, 0, 4096, 4096),
	    bad_write("io-discard-zero", "G.2 IO bi_size", kDiscard, 0, 0, 0),
	    bad_write("io-discard-beyond", "G.2 IO sector", kDiscard, 1ull << 40, 4096, 0),
	    bad_write("io-flush-as-write", "G.2 IO rw", kFlush, 0, 0, 0),
	    short_message(MessageType::SessionInfo, 35),
	    short_message(MessageType::Open, 263),
	    short_message(MessageType::Io, 23),
	    short_message(MessageType::Close, 7),
	};
	for (uint16_t type : {1, 3, 6, 0x8006, 0x8008, 0xffff})
		all.push_back(unknown_message(type));
	return all;
}

} // namespace peer
