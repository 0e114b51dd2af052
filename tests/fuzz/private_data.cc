// SPDX-License-Identifier: GPL-2.0
// REQ, REP and REJ. Input: the message.
#include "fuzz.hh"

#include <rtrs/wire/private_data.hh>

using namespace rtrs;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	const auto bytes = Input(data, size).rest();

	if (auto r = parse_connect_request(view(bytes)); r.ok()) {
		MUST(bytes.size() >= 56);
		MUST(r->connection_count >= 2 && r->connection_count <= kMaxConnections);
		MUST(r->cid.value < r->connection_count);
		MUST(!r->path.is_zero() && !r->session.is_zero());
		ConnectRequest again = make_connect_request(r.value());
		auto second = parse_connect_request(ByteView(&again, sizeof(again)));
		MUST(second.ok() && second->cid == r->cid && second->path == r->path &&
		     second->session == r->session);
	} else {
		MUST(r.error() == err::econnreset);
	}

	if (auto r = parse_connect_reply(view(bytes)); r.ok()) {
		MUST(check_connect_reply(view(bytes)).ok());
		MUST(r->queue_depth.value >= 1 && r->queue_depth.value <= kMaxQueueDepth);
		std::uint64_t chunk =
		    std::uint64_t{r->max_io_size.value} + r->max_header_size.value;
		MUST(chunk == r->chunk_size().value);
		MUST(chunk * r->queue_depth.value <= 1u << 28);
		MUST(r->max_io_size.value >= 4096 && r->max_header_size.value >= 512);
	}

	const Error why = parse_reject(view(bytes));
	MUST(why.code() < 0 && why.code() >= -511);
	return 0;
}
