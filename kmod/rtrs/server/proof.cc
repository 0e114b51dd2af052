// SPDX-License-Identifier: GPL-2.0
// Proofs of clients, and the server's own (protocol J.3).
//
// All of it runs in work items of the control queue, without any lock: looking up a key may sleep.
// What was wrong with a proof is for the log of this machine; the client sees its path end, at the
// same point and after the same work, whatever it was.
#include <cxxrt/log.hh>
#include <rtrs/core/keys.hh>
#include <rtrs/server/module.hh>
#include <rtrs/server/server.hh>

using namespace cxxrt;

namespace rtrs::server {
namespace {

// For a key that is not there: it takes as long, and nobody has it.
Status derive_decoy(HmacSha256 &hmac, const KeyName &name, SessionKey &out)
{
	Secret<kSecretSize> secret;
	get_random_bytes(secret.data(), static_cast<int>(secret.size()));
	return out.derive(hmac, secret.view(), name, AuthRole::Client);
}

Transcript transcript_of(const Exchange &exchange, u32 connections, const rdma_cm_id &service,
			 ByteView info_request)
{
	// With the ports of the service connection, which PathEnds leaves to it.
	const PathEnds ends = PathEnds::of(service);
	return {
	    .request = ByteView(exchange.request, sizeof(exchange.request)),
	    .reply = ByteView(&exchange.reply, sizeof(exchange.reply)),
	    .connections = static_cast<u16>(connections),
	    .client = endpoint_of(ends.client),
	    .server = endpoint_of(ends.server),
	    .info_request = info_request,
	};
}

} // namespace

// EPROTO and the like for a message that is none; else what was wrong with the proof.
Status Path::check_proof()
{
	Exchange &exchange = *exchange_;
	if (!all_accepted()) {
		refuse(Refusal::InfoMalformed, "INFO_REQ before all connections are there");
		return err::eproto;
	}
	const ByteView message(info_request_.data(), info_size_);
	const Result<ProvenInfoRequest> request = parse_proven_info_request(message);
	if (!request.ok()) {
		refuse(Refusal::InfoMalformed, "INFO_REQ without a proof");
		return request.error();
	}
	if (!exchange.go(ServerAuthEvent::ProvenInfo))
		return err::eproto;

	const KeyId id{request->key, request->generation};
	HmacSha256 hmac = TRY(HmacSha256::create());
	SessionKey key;
	const Status known = derive_key(hmac, id, AuthRole::Client, key, &key_identity_);
	if (!known.ok())
		TRY(derive_decoy(hmac, id.name, key));
	ExpectedMac<HmacSha256> expected;
	TRY(client_mac(
	    hmac, key,
	    transcript_of(exchange, connection_count(), *connections_[0]->cm_id,
			  request->message.covered),
	    [&](ConnectionId cid) { return connections_[cid.value]->numbers(); }, expected.mac));
	const Status right = check_mac<HmacSha256>(request->message.mac, expected.mac);
	if (!known.ok() || !right.ok())
		return refuse_proof(known.ok() ? right : known);
	exchange.of_client = expected.mac;

	const Result<SessionName> name = parse_info_request(request->message.plain);
	if (!name.ok()) {
		refuse(Refusal::InfoMalformed, "malformed INFO_REQ");
		return name.error();
	}
	key_ = TRY(make_box<KeyId>(GFP_KERNEL, id));
	wanted_name_.assign(name->view());
	// Before the path ends anything that has the name.
	TRY(check_name());
	server_.proof_was_right(exchange.from);
	return exchange.go(ServerAuthEvent::Right) ? Status() : Status(err::eproto);
}

Status Path::refuse_proof(Status why)
{
	(void)exchange_->go(ServerAuthEvent::Wrong);
	if (server_.proof_failed(exchange_->from))
		log_warning_limited(name(), "the client did not prove who it is: error %d",
				    why.code());
	refuse(Refusal::ProofFailed, "wrong proof");
	return why;
}

// Behind `size` bytes of INFO_RSP, which are complete.
Status Path::add_proof(usize size)
{
	InfoResponseTail tail{};
	u8 *const at = info_response_.data() + size;
	__builtin_memcpy(at, &tail, sizeof(tail));

	HmacSha256 hmac = TRY(HmacSha256::create());
	SessionKey key;
	KeyIdentity identity = {};
	TRY(derive_key(hmac, *key_, AuthRole::Server, key, &identity));
	if (!same_key(identity, key_identity_))
		return err::ekeyrevoked;
	const usize covered = size + __builtin_offsetof(InfoResponseTail, mac);
	Mac mac;
	TRY(server_mac(
	    hmac, key,
	    transcript_of(*exchange_, connection_count(), *connections_[0]->cm_id,
			  ByteView(info_request_.data(), kProvenInfoRequestSize - kMacSize)),
	    [&](ConnectionId cid) { return connections_[cid.value]->numbers(); },
	    exchange_->of_client, ByteView(info_response_.data(), covered), mac));
	__builtin_memcpy(info_response_.data() + covered, mac.bytes, sizeof(mac.bytes));
	return {};
}

// EACCES: the name of the session is for others, or not for this key. To a client that is told as
// little as of a wrong proof.
Status Path::check_name()
{
	const TextView key = key_ ? key_->name.view() : TextView();
	if (module_->key_lists.open(key, wanted_name_.view()))
		return {};
	log_warning_limited(name(), "%s%s may not open a session by the name of %s",
			    key_ ? "key " : "who has proven nothing",
			    key_ ? key_->name.c_str() : "", wanted_name_.c_str());
	refuse(Refusal::NameDenied, "the name of the session is for others");
	return err::eacces;
}

// EPROTONOSUPPORT: the path has proven nothing, and the policy wants a proof by now.
Status Path::check_policy()
{
	if (key_ || auth_policy() != AuthPolicy::Required)
		return {};
	log_warning_limited(name(), "closed: it has proven nothing, and auth is required");
	refuse(Refusal::ProofNeeded, "proofs are required by now");
	return err::eprotonosupport;
}

// A logon key tells nobody of its end, a list of names knows no paths, nor does the policy: so each
// path looks whether what it was let in by is still good.
void Path::revalidate_auth()
{
	if (state() != ServerPathState::Connected)
		return;
	if (!check_policy().ok())
		return;
	const Status valid = key_ ? check_key(*key_, key_identity_) : Status();
	if (!valid.ok() && !(valid.error() == err::enomem)) {
		log_warning_limited(name(), "key %s:%u is not valid any more: error %d",
				    key_->name.c_str(), key_->generation.value, valid.code());
		refuse(Refusal::KeyGone, "its key was removed, exchanged, revoked, or has expired");
		return;
	}
	if (check_name().ok())
		revalidate_.queue_after(module_->control, kRevalidateInterval);
}

} // namespace rtrs::server
