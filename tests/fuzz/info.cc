// SPDX-License-Identifier: GPL-2.0
// INFO_REQ, INFO_RSP and RKEY_RSP. Input: queue depth (2), chunk size (4), message.
#include "fuzz.hh"

#include <rtrs/wire/info.hh>
#include <rtrs/wire/rkey.hh>

using namespace rtrs;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	Input input(data, size);
	const QueueDepth depth{input.take<std::uint16_t>()};
	const ByteCount chunk{input.take<std::uint32_t>()};
	const auto bytes = input.rest();

	if (auto name = parse_info_request(view(bytes)); name.ok()) {
		TextView t = name->view();
		MUST(!t.empty() && t.size() <= 254);
		MUST(std::strlen(name->c_str()) == t.size());
		MUST(t.find('/') == t.size() && t.find('.') == t.size());
		const InfoRequest again = make_info_request(name.value());
		auto second = parse_info_request(ByteView(&again, sizeof(again)));
		MUST(second.ok() && second.value() == name.value());
	}

	// No more slots than a real session can have, so that a big queue costs no time.
	if (chunk.value >= 512 && std::uint64_t{chunk.value} * depth.value <= 1u << 28) {
		std::uint32_t next = 0;
		Status s = for_each_remote_slot(view(bytes), depth, chunk,
						[&](Slot slot, RemoteAddress a, Rkey) {
							MUST(slot.value == next);
							MUST(a.value + chunk.value >= a.value);
							next++;
						});
		MUST(next == (s.ok() ? depth.value : 0));
	}

	const Slot slot{depth.value};
	if (auto key = parse_rkey_response(view(bytes), slot); key.ok())
		MUST(same_bytes(make_rkey_response(slot, key.value()), bytes));
	return 0;
}
