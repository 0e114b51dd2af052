// SPDX-License-Identifier: GPL-2.0
// A server's part of the proof (protocol J.3).
#include "path.hh"

#include "../client.hh"

#include <algorithm>
#include <cstring>

#include <rtrs/wire/authentication.hh>

namespace peer {

using namespace rtrs;

std::optional<ByteView> Path::plain_part(ByteView message) const
{
	if (!challenged_)
		return message;
	auto proven = parse_proven_info_request(message);
	if (proven.ok())
		return proven.value().message.plain;
	complain("INFO_REQ has no tail, or a malformed one: " + std::to_string(proven.code()));
	return {};
}

void Path::add_proof(ByteView info_request, Bytes &info_response)
{
	seen_.client = endpoint_of(con(0).peer_address());
	seen_.server = endpoint_of(con(0).local_address());
	auto *const at = reinterpret_cast<const std::byte *>(info_request.data());
	Claim claim{lie_.key, seen_, Bytes(at, at + info_request.size()), info_response};
	// Where REP is another one for the client, its code is not what it would be here.
	const Mac wanted = client_code(claim.key, claim.seen, claim.info_request);
	if (!lie_.greet && std::memcmp(wanted.bytes, at + info_request.size() - kMacSize, kMacSize))
		complain("the client's proof is wrong");

	std::memcpy(of_client_.bytes, at + info_request.size() - kMacSize, kMacSize);
	claim.info_response.resize(info_response.size() + sizeof(InfoResponseTail));
	if (lie_.claim)
		lie_.claim(*this, claim);
	const Mac mac = server_code(claim.key, claim.seen, claim.info_request, claim.info_response);
	std::memcpy(claim.info_response.data() + claim.info_response.size() - kMacSize, mac.bytes,
		    kMacSize);
	info_response = claim.info_response;
}

// An RDMA write tells nobody that it came.
void Path::look_for_writes()
{
	for (auto &chunk : chunks_)
		if (std::any_of(chunk->span().begin(), chunk->span().end(),
				[](std::byte b) { return b != std::byte{0}; })) {
			complain("the client wrote by a key that nobody has proven");
			return;
		}
}

} // namespace peer
