// SPDX-License-Identifier: GPL-2.0
// Immediates. Input: queue depth (4), chunk size (4), connection (2), immediate (4), errno (4).
#include "fuzz.hh"

#include <rtrs/wire/immediate.hh>

using namespace rtrs;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	Input input(data, size);
	const QueueDepth depth{input.take<std::uint32_t>()};
	const ByteCount chunk{input.take<std::uint32_t>()};
	const ConnectionId cid{input.take<std::uint16_t>()};
	const Immediate imm = Immediate::from_network(input.take<std::uint32_t>());
	const int error = input.take<int>();

	MUST(Immediate::from_network(imm.to_network()) == imm);
	auto layout = ImmLayout::create(depth, chunk);
	if (!layout.ok())
		return 0;
	MUST(depth.value >= 1 && depth.value <= kMaxQueueDepth);

	const bool fences = error & 1;
	if (auto r = layout->decode_at_server(imm, cid, fences); r.ok()) {
		if (r->kind == ServerImm::Kind::Request) {
			MUST(r->slot.value < depth.value);
			MUST(std::uint64_t{r->offset.value} + 4 <= chunk.value);
			MUST(layout->request(r->slot, r->offset) == imm);
		} else {
			MUST(cid.is_service());
		}
	}
	if (auto r = layout->decode_at_client(imm, cid, fences); r.ok()) {
		if (r->kind == ClientImm::Kind::Response) {
			MUST(r->slot.value < depth.value);
			MUST(r->error <= 0 && r->error >= -511);
			MUST(response_imm(r->slot, r->error, r->invalidated) == imm);
		} else {
			MUST(cid.is_service());
		}
	}
	auto back = layout->decode_at_client(response_imm(Slot{0}, error, false), ConnectionId{1});
	MUST(back.ok() && (back->error == 0) == (error == 0));
	return 0;
}
