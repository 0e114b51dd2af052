// SPDX-License-Identifier: GPL-2.0
// Capsules. Input: the capsule, as either side takes it from a receive.
#include "fuzz.hh"

#include <rtrs/wire/capsule.hh>

using namespace rtrs;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	Input input(data, size);
	const auto bytes = input.rest();

	if (auto r = parse_request_capsule(view(bytes)); r.ok()) {
		MUST(bytes.size() <= kMaxCapsule);
		MUST(sizeof(RequestCapsule) + r->message.size() + r->header.size() == bytes.size());
		MUST(r->message.data() == bytes.data() + sizeof(RequestCapsule));
		MUST(r->header.data() == r->message.data() + r->message.size());
		const ImmLayout layout = ImmLayout::create({512}, {131072}).take();
		auto imm = layout.decode_at_server(r->imm, {1});
		if (imm.ok() && imm->kind == ServerImm::Kind::Request) {
			IoHeader h{};
			const IoVerdict v = parse_io_header(r->header, imm->offset, h);
			MUST(!v.accepted() ||
			     h.data_len.value + h.usr_len.value == imm->offset.value);
		}
	}
	if (auto r = parse_answer_capsule(view(bytes)); r.ok()) {
		MUST(bytes.size() == sizeof(AnswerCapsule));
		MUST(r->imm.is(ImmType::IoResponseWithInvalidate));
	}
	return 0;
}
