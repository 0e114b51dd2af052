// SPDX-License-Identifier: GPL-2.0
// The proof of an attempt, and the server's (protocol J.3). All of it by the attempt, which may
// sleep and holds no lock.
#include <cxxrt/log.hh>
#include <rtrs/client/path.hh>
#include <rtrs/client/session.hh>
#include <rtrs/core/keys.hh>

using namespace cxxrt;

namespace rtrs::client {
namespace {

const sockaddr_storage &local(const rdma_cm_id &id)
{
	return id.route.addr.src_addr;
}

const sockaddr_storage &remote(const rdma_cm_id &id)
{
	return id.route.addr.dst_addr;
}

} // namespace

// Before REQ: what is offered. A key that was named and is not there is not passed over: ENOKEY,
// EKEYEXPIRED, EKEYREVOKED.
Status Path::begin_proof()
{
	exchange_.reset();
	const SessionAuth &auth = session_.auth();
	if (!auth.has_key || auth.policy == AuthPolicy::Off)
		return client_offer(auth.policy, ClientMeans::Nothing) == AuthChoice::Refuse
			   ? Status(err::enokey)
			   : Status();
	const Result<KeyGeneration> latest = latest_generation(auth.key, known_generation_);
	if (!latest.ok()) {
		log_error_limited(log_name(), "no valid key %s in the keyring: %d",
				  auth.key.c_str(), latest.code());
		return latest.error();
	}
	known_generation_ = latest.value();
	exchange_ = TRY(make_box<Exchange>(GFP_KERNEL, KeyId{auth.key, latest.value()}));
	get_random_bytes(exchange_->nonce.bytes, sizeof(exchange_->nonce.bytes));
	return exchange_->go(ClientAuthEvent::SentOffer) ? Status() : Status(err::eproto);
}

// REP of cid 0 is here.
Status Path::agree_on_proof(const ConnectReplyFields &reply)
{
	const AuthChoice offered = exchange_ ? AuthChoice::Proof : AuthChoice::Plain;
	const AuthChoice answer = client_answer(session_.auth().policy, offered,
						reply.authentication, session_.was_proven());
	WRITE_ONCE(downgraded_, is_downgrade(offered, answer));
	switch (answer) {
	case AuthChoice::Plain:
		exchange_.reset();
		if (downgraded_) {
			session_.count_downgrade();
			log_warning_limited(log_name(), "the server proves nothing, and auth is "
							"optional: goes on without a proof");
		}
		return {};
	case AuthChoice::Proof:
		return exchange_->go(ClientAuthEvent::ReplyProof) ? Status() : Status(err::eproto);
	case AuthChoice::Refuse:
		break;
	}
	if (reply.authentication) {
		log_error_limited(log_name(), "the server wants a proof that was not offered");
		return err::eproto;
	}
	log_error_limited(log_name(), "the server proves nothing, and %s",
			  session_.auth().policy == AuthPolicy::Required
			      ? "auth is required"
			      : "has proven itself to this session before");
	return err::eprotonosupport;
}

// What both sides saw; `info_request` is INFO_REQ with its tail, without the code.
Transcript Path::transcript(ByteView info_request) const
{
	const rdma_cm_id &service = *connections_[0]->id();
	return {
	    .request = ByteView(&exchange_->request, sizeof(exchange_->request)),
	    .reply = ByteView(&connections_[0]->raw_reply(), sizeof(ConnectReply)),
	    .connections = static_cast<u16>(connections_.size()),
	    .client = endpoint_of(local(service)),
	    .server = endpoint_of(remote(service)),
	    .info_request = info_request,
	};
}

// Behind INFO_REQ, which is complete in the buffer.
Status Path::add_proof()
{
	u8 *const at = info_request_.data() + sizeof(InfoRequest);
	InfoRequestTail tail =
	    make_info_request_tail(exchange_->id.name, exchange_->id.generation, exchange_->nonce);
	__builtin_memcpy(at, &tail, sizeof(tail));
	HmacSha256 hmac = TRY(HmacSha256::create());
	SessionKey key;
	TRY(derive_key(hmac, exchange_->id, AuthRole::Client, key));
	TRY(client_mac(
	    hmac, key, transcript(proven_request()),
	    [&](ConnectionId cid) { return connections_[cid.value]->numbers(); },
	    exchange_->of_client));
	__builtin_memcpy(at + __builtin_offsetof(InfoRequestTail, mac), exchange_->of_client.bytes,
			 sizeof(exchange_->of_client.bytes));
	return exchange_->go(ClientAuthEvent::SentProof) ? Status() : Status(err::eproto);
}

ByteView Path::proven_request() const
{
	return ByteView(info_request_.data(), kProvenInfoRequestSize - kMacSize);
}

// The server's proof in INFO_RSP; what is before its tail may be read then. EKEYREJECTED, EMSGSIZE,
// or what became of the key meanwhile.
Result<ByteView> Path::check_server_proof(ByteView message)
{
	const ProvenMessage proven = TRY(parse_proven_info_response(message));
	HmacSha256 hmac = TRY(HmacSha256::create());
	SessionKey key;
	TRY(derive_key(hmac, exchange_->id, AuthRole::Server, key));
	ExpectedMac<HmacSha256> expected;
	TRY(server_mac(
	    hmac, key, transcript(proven_request()),
	    [&](ConnectionId cid) { return connections_[cid.value]->numbers(); },
	    exchange_->of_client, proven.covered, expected.mac));
	const Status right = check_mac<HmacSha256>(proven.mac, expected.mac);
	if (!exchange_->go(right.ok() ? ClientAuthEvent::Right : ClientAuthEvent::Wrong)) {
		log_error_limited(log_name(), "the server did not prove who it is");
		return err::ekeyrejected;
	}
	return proven.plain;
}

} // namespace rtrs::client
