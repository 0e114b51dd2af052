// SPDX-License-Identifier: GPL-2.0
// What the server refuses, by kind: each refusal is counted here and shown in debugfs, so that an
// administrator sees a broken or hostile client even when the log's rate limit has cut its lines.
#pragma once

#include <cxxrt/kernel.hh>

namespace rtrs::server {

enum class Refusal : u8 {
	ConnectMalformed,   // private data that no client sends
	ConnectUnknown,	    // joins a session that does not exist
	ConnectDuplicate,   // the session has a path with these addresses
	ConnectMismatch,    // does not fit to the path that it names
	ConnectQuota,	    // too many half-open paths or sessions, or no memory for one more
	ConnectFailed,	    // no resources, or the device refused
	AddressForged,	    // says the address of another host than its GID's
	AddressNotServed,   // came to an address or device that `listen` does not name
	NeighbourUnknown,   // its GID is of a host that soft-RoCE would wait for; not answered
	HandshakeTimeout,   // CONNECTING for too long
	InfoMalformed,	    // bad INFO_REQ, or at a time when none is due
	NameTaken,	    // another session has the name, or this one has another
	ProofNeeded,	    // the policy wants a proof, and the client offers none that is known
	ProofLimit,	    // too many proofs from there were wrong
	ProofFailed,	    // wrong, or of a key that is not there
	NameDenied,	    // not a name for this key, or one for other keys only
	KeyGone,	    // of a path that was proven by it
	UserRefused,	    // session_up() said no
	ImmediateMalformed, // unknown type, slot or offset out of range, heartbeat off cid 0
	UnexpectedMessage,  // a receive that is no RDMA write with immediate
	SlotBusy,	    // second request on a slot, on one path
	HeaderMalformed,    // closes the path
	CapsuleMalformed,   // likewise (protocol J.2)
	RequestRefused,	    // answered with an error, without being handed to the user
	Superseded,	    // parked request that another path's request replaced
	HeartbeatLost,	    //
	CompletionError,    // a work request failed while the path was in use
	PathStarved, // what was sent is not acknowledged, or was not before and another is there
	Count,
};

constexpr const char *to_text(Refusal r)
{
	switch (r) {
	case Refusal::ConnectMalformed:
		return "connect_malformed";
	case Refusal::ConnectUnknown:
		return "connect_unknown_session";
	case Refusal::ConnectDuplicate:
		return "connect_duplicate_path";
	case Refusal::ConnectMismatch:
		return "connect_mismatch";
	case Refusal::ConnectQuota:
		return "connect_quota";
	case Refusal::ConnectFailed:
		return "connect_failed";
	case Refusal::AddressForged:
		return "address_forged";
	case Refusal::AddressNotServed:
		return "address_not_served";
	case Refusal::NeighbourUnknown:
		return "neighbour_unknown";
	case Refusal::HandshakeTimeout:
		return "handshake_timeout";
	case Refusal::InfoMalformed:
		return "info_malformed";
	case Refusal::NameTaken:
		return "name_taken";
	case Refusal::ProofNeeded:
		return "proof_needed";
	case Refusal::ProofLimit:
		return "proof_limit";
	case Refusal::ProofFailed:
		return "proof_failed";
	case Refusal::NameDenied:
		return "name_denied";
	case Refusal::KeyGone:
		return "key_gone";
	case Refusal::UserRefused:
		return "user_refused";
	case Refusal::ImmediateMalformed:
		return "immediate_malformed";
	case Refusal::UnexpectedMessage:
		return "unexpected_message";
	case Refusal::SlotBusy:
		return "slot_busy";
	case Refusal::HeaderMalformed:
		return "header_malformed";
	case Refusal::CapsuleMalformed:
		return "capsule_malformed";
	case Refusal::RequestRefused:
		return "request_refused";
	case Refusal::Superseded:
		return "superseded";
	case Refusal::HeartbeatLost:
		return "heartbeat_lost";
	case Refusal::CompletionError:
		return "completion_error";
	case Refusal::PathStarved:
		return "path_starved";
	case Refusal::Count:
		break;
	}
	return "?";
}

constexpr unsigned kRefusals = static_cast<unsigned>(Refusal::Count);

// Counted by any context. Refusals are rare, so one counter for all CPUs will do.
class RefusalCounters {
public:
	void count(Refusal r)
	{
		__atomic_fetch_add(&counts_[static_cast<unsigned>(r)], 1, __ATOMIC_RELAXED);
	}
	u64 get(Refusal r) const
	{
		return __atomic_load_n(&counts_[static_cast<unsigned>(r)], __ATOMIC_RELAXED);
	}

private:
	u64 counts_[kRefusals] = {};
};

} // namespace rtrs::server
