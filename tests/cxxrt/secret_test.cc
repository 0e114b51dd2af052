// SPDX-License-Identifier: GPL-2.0
// Secrets, HMAC-SHA-256 and keyrings.
#include <cxxrt/hmac.hh>
#include <cxxrt/keyring.hh>
#include <cxxrt/memory.hh>
#include <cxxrt/secret.hh>

#include "check.hh"

namespace {

using namespace cxxrt;
using selftest::Case;
using selftest::Test;

constexpr const char *kRing = ".cxxrt-selftest";
constexpr const char *kName = "cxxrt-selftest:a:1";

ByteView bytes(const char *text)
{
	return ByteView(text, strlen(text));
}

void secret_is_wiped(Case &t)
{
	alignas(Secret<32>) u8 place[sizeof(Secret<32>)];
	auto *secret = new (static_cast<void *>(place)) Secret<32>;
	EXPECT(equal_in_constant_time(secret->view(), Secret<32>().view()));
	memset(secret->data(), 0x5a, secret->size());
	OPTIMIZER_HIDE_VAR(secret);
	secret->~Secret<32>();
	EXPECT(!memchr_inv(place, 0, sizeof(place)));
}

void comparison(Case &t)
{
	EXPECT(equal_in_constant_time(bytes("abc"), bytes("abc")));
	EXPECT(!equal_in_constant_time(bytes("abc"), bytes("abd")));
	EXPECT(!equal_in_constant_time(bytes("abc"), bytes("xbc")));
	EXPECT(!equal_in_constant_time(bytes("abc"), bytes("ab")));
	EXPECT(equal_in_constant_time(ByteView(), ByteView()));
}

// RFC 4231, test cases 2 and 1.
void hmac_known_answers(Case &t)
{
	constexpr u8 kJefe[32] = {0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e, 0x6a, 0x04, 0x24,
				  0x26, 0x08, 0x95, 0x75, 0xc7, 0x5a, 0x00, 0x3f, 0x08, 0x9d, 0x27,
				  0x39, 0x83, 0x9d, 0xec, 0x58, 0xb9, 0x64, 0xec, 0x38, 0x43};
	constexpr u8 kHi[32] = {0xb0, 0x34, 0x4c, 0x61, 0xd8, 0xdb, 0x38, 0x53, 0x5c, 0xa8, 0xaf,
				0xce, 0xaf, 0x0b, 0xf1, 0x2b, 0x88, 0x1d, 0xc2, 0x00, 0xc9, 0x83,
				0x3d, 0xa7, 0x26, 0xe9, 0x37, 0x6c, 0x2e, 0x32, 0xcf, 0xf7};
	u8 key[20];
	memset(key, 0x0b, sizeof(key));
	auto made = HmacSha256::create();
	if (!made.ok())
		return t.skip("the kernel has no hmac(sha256)");
	HmacSha256 hmac = made.take();
	u8 code[32];
	EXPECT(hmac.begin(bytes("Jefe")).ok());
	EXPECT(hmac.add(bytes("what do ya want ")).ok());
	EXPECT(hmac.add(ByteView()).ok());
	EXPECT(hmac.add(bytes("for nothing?")).ok());
	EXPECT(hmac.end(code).ok());
	EXPECT(!memcmp(code, kJefe, sizeof(code)));
	// Another key; what was begun before does not matter.
	EXPECT(hmac.begin(bytes("Jefe")).ok());
	EXPECT(hmac.add(bytes("nothing")).ok());
	EXPECT(hmac.begin(ByteView(key, sizeof(key))).ok());
	EXPECT(hmac.add(bytes("Hi There")).ok());
	HmacSha256 moved = move(hmac);
	EXPECT(moved.end(code).ok());
	EXPECT(!memcmp(code, kHi, sizeof(code)));
}

#ifdef CONFIG_KEYS
key *put(const Keyring &ring, const char *name, const void *secret, usize size)
{
	// raw: user space does this.
	const key_ref_t added =
	    key_create_or_update(make_key_ref(ring.get(), true), "logon", name, secret, size,
				 KEY_POS_ALL | KEY_USR_ALL, KEY_ALLOC_NOT_IN_QUOTA);
	return IS_ERR(added) ? nullptr : key_ref_to_ptr(added);
}

void keyring_finds_what_root_puts(Case &t)
{
	auto made = Keyring::create(kRing);
	if (!made.ok())
		return t.skip("no keyring");
	const Keyring ring = made.take();
	EXPECT(ring.find(kName).code() == -ENOKEY);
	EXPECT(ring.size() == 0);
	u8 bytes[32];
	for (u8 i = 0; i < 32; i++)
		bytes[i] = static_cast<u8>(i * 7);
	key *added = put(ring, kName, bytes, sizeof(bytes));
	EXPECT(added != nullptr);
	if (!added)
		return;
	{
		auto found = ring.find(kName);
		EXPECT(found.ok());
		EXPECT(ring.size() == 1);
		EXPECT(ring.find("cxxrt-selftest:a:2").code() == -ENOKEY);
		EXPECT(ring.find("cxxrt-selftest:a").code() == -ENOKEY);
		Secret<32> secret;
		Secret<16> shorter;
		if (found.ok()) {
			EXPECT(found->read(secret).ok());
			EXPECT(equal_in_constant_time(secret.view(), ByteView(bytes, 32)));
			EXPECT(found->read(shorter).code() == -EINVAL);
			// Who has a reference learns of the end, too.
			key_revoke(added);
			EXPECT(found->read(secret).code() == -EKEYREVOKED);
		}
	}
	EXPECT(ring.find(kName).code() == -EKEYREVOKED);
	key_put(added);
}

void keyring_is_of_its_own(Case &t)
{
	auto first = Keyring::create(kRing);
	auto second = Keyring::create(kRing);
	if (!first.ok() || !second.ok())
		return t.skip("no keyring");
	const Keyring a = first.take();
	const Keyring b = second.take();
	key *added = put(a, kName, "0123456789abcdef", 16);
	EXPECT(added != nullptr);
	EXPECT(a.find(kName).ok());
	EXPECT(b.find(kName).code() == -ENOKEY);
	key_put(added);
}
#else
void keyring_finds_what_root_puts(Case &t)
{
	EXPECT(Keyring::create(kRing).code() == -EOPNOTSUPP);
}

void keyring_is_of_its_own(Case &t)
{
	t.skip("the kernel has no keys");
}
#endif

constexpr Test kSecretTests[] = {
    {"a secret is wiped", secret_is_wiped},
    {"comparison", comparison},
    {"HMAC-SHA-256, known answers", hmac_known_answers},
    {"a keyring finds what root puts into it", keyring_finds_what_root_puts},
    {"a keyring has its own keys only", keyring_is_of_its_own},
};

} // namespace

namespace selftest {
constinit const Suite secret_suite("secret", kSecretTests);
}
