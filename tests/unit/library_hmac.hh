// SPDX-License-Identifier: GPL-2.0
// HMAC-SHA-256 of OpenSSL, as rtrs/pure/auth_proof.hh wants it.
#pragma once

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <memory>

#include <rtrs/wire/authentication.hh>

namespace testing_support {

class LibraryHmac {
public:
	LibraryHmac()
	{
		const std::unique_ptr<EVP_MAC, decltype(&EVP_MAC_free)> mac(
		    EVP_MAC_fetch(nullptr, "HMAC", nullptr), EVP_MAC_free);
		context_.reset(EVP_MAC_CTX_new(mac.get()));
	}

	rtrs::Status begin(rtrs::ByteView key)
	{
		char digest[] = "SHA256";
		const OSSL_PARAM parameters[] = {
		    OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
		    OSSL_PARAM_construct_end()};
		return status(EVP_MAC_init(context_.get(), key.data(), key.size(), parameters) ==
			      1);
	}
	rtrs::Status add(rtrs::ByteView bytes)
	{
		return status(EVP_MAC_update(context_.get(), bytes.data(), bytes.size()) == 1);
	}
	rtrs::Status end(unsigned char (&code)[rtrs::kMacSize])
	{
		std::size_t size = 0;
		const int done = EVP_MAC_final(context_.get(), code, &size, sizeof(code));
		return status(done == 1 && size == sizeof(code));
	}
	static bool equal(rtrs::ByteView a, rtrs::ByteView b)
	{
		return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
	}
	static void wipe(void *memory, std::size_t size)
	{
		OPENSSL_cleanse(memory, size);
		wiped += size;
	}

	// By all of them, in bytes.
	static inline std::size_t wiped = 0;

private:
	static rtrs::Status status(bool ok) { return ok ? rtrs::Status() : rtrs::err::eio; }

	std::unique_ptr<EVP_MAC_CTX, decltype(&EVP_MAC_CTX_free)> context_{nullptr,
									   EVP_MAC_CTX_free};
};

} // namespace testing_support
