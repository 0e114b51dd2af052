// SPDX-License-Identifier: GPL-2.0
// Request headers, and the RNBD message before them, as the server takes them from a chunk.
// Input: offset (4), version (1), then the chunk's content from its end backwards: what is missing
// in front is zero.
#include "fuzz.hh"

#include <rnbd/wire/operations.hh>
#include <rtrs/wire/io_header.hh>

using namespace rtrs;

namespace {
constexpr ByteCount kChunk{8192};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	Input input(data, size);
	const ChunkOffset off{input.take<std::uint32_t>() % (2 * kChunk.value)};
	const std::uint8_t version = input.take<std::uint8_t>();
	const auto content = input.rest();

	std::vector<unsigned char> chunk(kChunk.value);
	// The input lies around the header: 256 bytes before it, the rest behind.
	const std::size_t start = off.value > 256 ? off.value - 256 : 0;
	for (std::size_t i = 0; i < content.size() && start + i < chunk.size(); i++)
		chunk[start + i] = content[i];

	const std::size_t n = io_header_copy_size(off, kChunk);
	MUST(n <= kMaxIoHeaderSize && (n == 0 || off.value + n <= chunk.size()));
	const std::vector<unsigned char> copy(chunk.begin() + static_cast<long>(n ? off.value : 0),
					      chunk.begin() +
						  static_cast<long>(n ? off.value + n : 0));
	IoHeader h{};
	const IoVerdict v = parse_io_header(view(copy), off, h);
	if (!v.accepted()) {
		MUST(v.error.code() < 0);
		return 0;
	}
	MUST(h.usr_len.value >= 4);
	MUST(h.data_len.value + h.usr_len.value == off.value);
	MUST(h.transfer_size().value <= h.data_len.value);
	MUST(!h.need_invalidate || h.has_descriptor);
	MUST(!h.has_descriptor || h.descriptor.size.value > 0);

	// The message as the server hands it on: a copy, no longer than any message.
	const std::size_t length =
	    cxxrt::min_of<std::size_t>(h.usr_len.value, rnbd::kMaxMessageSize);
	const std::vector<unsigned char> message(
	    chunk.begin() + h.usr_offset().value,
	    chunk.begin() + static_cast<long>(h.usr_offset().value + length));
	const rnbd::Transfer transfer{h.direction == Direction::Read
					  ? rnbd::Transfer::Direction::Read
					  : rnbd::Transfer::Direction::Write,
				      h.transfer_size().value};
	constexpr rnbd::DeviceLimits kDevice{
	    .capacity = {1 << 20},
	    .logical_block_size = 512,
	    .read_only = false,
	    .max_io_bytes = kChunk.value - 4096,
	    .max_discard_sectors = 1 << 16,
	    .max_secure_erase_sectors = 1 << 16,
	    .max_write_zeroes_sectors = 1 << 16,
	};
	auto io = rnbd::parse_io(view(message), version);
	if (!io.ok())
		return 0;
	auto checked = rnbd::check_io(io.value(), transfer, kDevice);
	if (!checked.ok())
		return 0;
	if (rnbd::carries_data(checked->operation))
		MUST(checked->bytes == transfer.size);
	MUST(checked->sector.value + checked->bytes / 512 <= kDevice.capacity.value);
	return 0;
}
