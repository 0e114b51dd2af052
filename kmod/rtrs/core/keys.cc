// SPDX-License-Identifier: GPL-2.0
// The keyring of both sides (protocol J.3): what lives as long as rtrs-core is loaded.
//
// Without it, or without the algorithm, the transport works as it does for peers that know nothing
// of proofs; who requires them is told when he asks.
#include <cxxrt/hmac.hh>
#include <cxxrt/keyring.hh>
#include <cxxrt/lock.hh>
#include <cxxrt/log.hh>
#include <cxxrt/memory.hh>
#include <cxxrt/print.hh>
#include <rtrs/core/core.h>
#include <rtrs/core/keys.hh>
#include <rtrs/pure/key_search.hh>

using namespace cxxrt;

namespace rtrs {
namespace {

constexpr char kKeysSubject[] = "keys";
// Only the kernel can make a keyring whose name begins with a dot. So an administrator who adds a
// secret to it by name cannot be given another user's keyring.
constexpr char kKeyringName[] = ".rnbd";

struct Keys {
	Keys(Keyring &&r, HmacSha256 &&a) : ring(move(r)), algorithm(move(a))
	{
		get_random_bytes(print_key.data(), static_cast<int>(print_key.size()));
	}

	Keyring ring;
	// Of secrets, by which a path knows the one that it was let in by. Moreover, while it is
	// there the kernel finds the algorithm without loading anything, which a reconnect that
	// memory waits for could not wait for.
	Mutex print_lock{cxxrt::lock_class<"rtrs_key_prints">()};
	HmacSha256 algorithm; // under print_lock
	Secret<kSecretSize> print_key;
};

constinit Keys *keys_ = nullptr;

Result<Keys *> create_keys()
{
	HmacSha256 algorithm = TRY(HmacSha256::create());
	Keyring ring = TRY(Keyring::create(kKeyringName));
	Box<Keys> keys = TRY(make_box<Keys>(GFP_KERNEL, move(ring), move(algorithm)));
	return keys.release();
}

Result<LogonKey> find(const KeyName &name, KeyGeneration generation)
{
	if (!keys_)
		return err::eopnotsupp;
	TextBuffer<kKeyDescriptionSize> description;
	TextWriter out(description.data(), kKeyDescriptionSize);
	write_key_description(out, name, generation);
	return keys_->ring.find(description.c_str());
}

// No one learns anything of a secret from its print who does not have print_key.
Result<u64> print_of(const Secret<kSecretSize> &secret)
{
	LockGuard<Mutex> held(keys_->print_lock);
	TRY(keys_->algorithm.begin(keys_->print_key.view()));
	TRY(keys_->algorithm.add(secret.view()));
	u8 code[HmacSha256::kSize];
	TRY(keys_->algorithm.end(code));
	u64 print;
	__builtin_memcpy(&print, code, sizeof(print));
	wipe(code, sizeof(code));
	return print;
}

Status read(const KeyName &name, KeyGeneration generation, Secret<kSecretSize> &secret,
	    KeyIdentity *identity = nullptr)
{
	const LogonKey key = TRY(find(name, generation));
	Status s = key.read(secret);
	if (s.ok() && identity)
		*identity = {.serial = key.serial(), .print = TRY(print_of(secret))};
	if (s.ok())
		s = check_secret(secret.view());
	if (!s.ok() && s.error() == err::einval)
		log_warning_limited(kKeysSubject,
				    "%s:%u is no secret: it takes 32 bytes, made by chance",
				    name.c_str(), generation.value);
	return s.ok() ? Status() : Status(s.error());
}

Result<KeyGeneration> latest(TextView text, KeyGeneration known)
{
	const KeyName name = TRY(KeyName::from(text));
	if (!keys_)
		return err::eopnotsupp;
	if (!keys_->ring.size())
		return err::enokey;
	return find_latest_generation(known, [&](KeyGeneration g) -> Status {
		Secret<kSecretSize> secret;
		return read(name, g, secret);
	});
}

} // namespace
} // namespace rtrs

CXXRT_FOR_C int rtrs_core_start()
{
	using namespace rtrs;
	const Result<Keys *> made = create_keys();
	if (made.ok())
		keys_ = made.value();
	else if (made.error() == err::enomem)
		return made.code();
	else
		log_info(kKeysSubject, "this kernel has no means of authentication: %d",
			 made.code());
	return 0;
}

CXXRT_FOR_C void rtrs_core_stop()
{
	delete rtrs::keys_;
	rtrs::keys_ = nullptr;
}

CXXRT_FOR_C bool rtrs_keys_able()
{
	return rtrs::keys_ && rtrs::keys_->ring.size();
}

CXXRT_FOR_C int rtrs_key_read(const char *name, u32 generation, u8 *out,
			      rtrs_key_identity *identity)
{
	Secret<rtrs::kSecretSize> secret;
	const rtrs::Result<rtrs::KeyName> checked = rtrs::KeyName::from(TextView::of(name));
	if (!checked.ok())
		return checked.code();
	const Status s = rtrs::read(checked.value(), {generation}, secret, identity);
	if (s.ok())
		__builtin_memcpy(out, secret.data(), secret.size());
	return s.code();
}

CXXRT_FOR_C int rtrs_key_latest(const char *name, u32 known, u32 *generation)
{
	const Result<rtrs::KeyGeneration> found = rtrs::latest(TextView::of(name), {known});
	if (found.ok())
		*generation = found.value().value;
	return found.code();
}
