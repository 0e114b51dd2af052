// SPDX-License-Identifier: GPL-2.0
// Secrets of the keyring, and the codes made of them, for either side (protocol J.3).
//
// Everything here may sleep, and holds a secret no longer than one computation takes.
#pragma once

#include <cxxrt/hmac.hh>
#include <cxxrt/kernel.hh>
#include <cxxrt/secret.hh>
#include <rtrs/core/core.h>
#include <rtrs/pure/auth_proof.hh>
#include <rtrs/pure/key_description.hh>

namespace rtrs {

using SessionKey = RoleKey<cxxrt::HmacSha256>;

using KeyIdentity = rtrs_key_identity;

inline bool same_key(const KeyIdentity &a, const KeyIdentity &b)
{
	return a.serial == b.serial && a.print == b.print;
}

// The key of a role, and which one that was if the caller asks. Errors of core.h's rtrs_key_read().
inline Status derive_key(cxxrt::HmacSha256 &hmac, const KeyId &id, AuthRole role, SessionKey &out,
			 KeyIdentity *identity = nullptr)
{
	cxxrt::Secret<kSecretSize> secret;
	TRY(Status::from_code(
	    rtrs_key_read(id.name.c_str(), id.generation.value, secret.data(), identity)));
	return out.derive(hmac, secret.view(), id.name, role);
}

// Whether that very key is still there and valid: an error of rtrs_key_read() if not, EKEYREVOKED
// if another one has its name.
inline Status check_key(const KeyId &id, const KeyIdentity &identity)
{
	cxxrt::Secret<kSecretSize> secret;
	KeyIdentity now = {};
	TRY(Status::from_code(
	    rtrs_key_read(id.name.c_str(), id.generation.value, secret.data(), &now)));
	return same_key(now, identity) ? Status() : Status(err::ekeyrevoked);
}

inline Result<KeyGeneration> latest_generation(const KeyName &name, KeyGeneration known)
{
	u32 generation = 0;
	TRY(Status::from_code(rtrs_key_latest(name.c_str(), known.value, &generation)));
	return KeyGeneration{generation};
}

// One end of a connection as the transcript has it. Ports are those of the connection manager.
inline AuthEndpoint endpoint_of(const sockaddr_storage &address)
{
	AuthEndpoint e{};
	switch (address.ss_family) {
	case AF_INET: {
		const auto &in = reinterpret_cast<const sockaddr_in &>(address);
		e.family = AuthFamily::Ip4;
		e.address[10] = e.address[11] = 0xff;
		__builtin_memcpy(e.address + 12, &in.sin_addr, sizeof(in.sin_addr));
		e.port = be16_to_cpu(in.sin_port);
		break;
	}
	case AF_INET6: {
		const auto &in6 = reinterpret_cast<const sockaddr_in6 &>(address);
		e.family = AuthFamily::Ip6;
		__builtin_memcpy(e.address, &in6.sin6_addr, sizeof(in6.sin6_addr));
		e.port = be16_to_cpu(in6.sin6_port);
		break;
	}
	default: {
		const auto &ib = reinterpret_cast<const sockaddr_ib &>(address);
		e.family = AuthFamily::Gid;
		__builtin_memcpy(e.address, ib.sib_addr.sib_raw, sizeof(ib.sib_addr.sib_raw));
		break;
	}
	}
	return e;
}

} // namespace rtrs
