// SPDX-License-Identifier: GPL-2.0
// The keyring of both sides (protocol J.3): what lives as long as rtrs-core is loaded.
//
// Without it, or without the algorithm, the transport works as it does for peers that know nothing
// of proofs; who requires them is told when he asks.
#include <cxxrt/hmac.hh>
#include <cxxrt/keyring.hh>
#include <cxxrt/log.hh>
#include <cxxrt/memory.hh>
#include <cxxrt/print.hh>
#include <rtrs/core/core.h>
#include <rtrs/core/keys.hh>

using namespace cxxrt;

namespace rtrs {
namespace {

constexpr char kLogSubject[] = "keys";
// Nobody but the kernel can make a keyring whose name begins with a dot: so no other user's can be
// taken for it, by whoever puts a secret into it by name.
constexpr char kKeyringName[] = ".rnbd";
// So many generations behind the last one that is known are looked for, each once (admin-guide).
constexpr u32 kGenerationsAhead = 64;

struct Keys {
	Keyring ring;
	// Of nobody: while it is there, the kernel finds the algorithm without loading anything,
	// which a reconnect that memory waits for could not wait for.
	HmacSha256 algorithm;
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

Status read(const KeyName &name, KeyGeneration generation, Secret<kSecretSize> &secret)
{
	const LogonKey key = TRY(find(name, generation));
	Status s = key.read(secret);
	if (s.ok())
		s = check_secret(secret.view());
	if (!s.ok() && s.error() == err::einval)
		log_warning_limited(kLogSubject,
				    "%s:%u is no secret: it takes 32 bytes, made by chance",
				    name.c_str(), generation.value);
	return s.ok() ? Status() : Status(s.error());
}

Result<KeyGeneration> latest(TextView text, KeyGeneration hint)
{
	const KeyName name = TRY(KeyName::from(text));
	Error why = err::enokey;
	KeyGeneration found{0};
	// From what was known, and, if that leads nowhere, from the beginning.
	for (u32 begin = hint.value;; begin = 0) {
		u32 last = begin + kGenerationsAhead;
		for (u32 g = max_of(begin, 1u); g <= last && g >= begin; g++) {
			Secret<kSecretSize> secret;
			const Status s = read(name, {g}, secret);
			if (s.ok()) {
				found = {g};
				last = g + kGenerationsAhead;
			} else if (!(s.error() == err::enokey)) {
				why = s.error();
			}
		}
		if (found.value)
			return found;
		if (!begin)
			return why;
	}
}

} // namespace
} // namespace rtrs

int rtrs_core_start()
{
	using namespace rtrs;
	const Result<Keys *> made = create_keys();
	if (made.ok())
		keys_ = made.value();
	else if (made.error() == err::enomem)
		return made.code();
	else
		log_info(kLogSubject, "this kernel has no means of authentication: %d",
			 made.code());
	return 0;
}

void rtrs_core_stop()
{
	delete rtrs::keys_;
	rtrs::keys_ = nullptr;
}

bool rtrs_keys_able()
{
	return rtrs::keys_ && rtrs::keys_->ring.size();
}

int rtrs_key_read(const char *name, u32 generation, u8 *out)
{
	Secret<rtrs::kSecretSize> secret;
	const rtrs::Result<rtrs::KeyName> checked = rtrs::KeyName::from(TextView::of(name));
	if (!checked.ok())
		return checked.code();
	const Status s = rtrs::read(checked.value(), {generation}, secret);
	if (s.ok())
		__builtin_memcpy(out, secret.data(), secret.size());
	return s.code();
}

int rtrs_key_latest(const char *name, u32 hint, u32 *generation)
{
	const Result<rtrs::KeyGeneration> found = rtrs::latest(TextView::of(name), {hint});
	if (found.ok())
		*generation = found.value().value;
	return found.code();
}
