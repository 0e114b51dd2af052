// SPDX-License-Identifier: GPL-2.0
// How keys are called in the kernel's keyring, and what a secret must be like (protocol J.3). Pure.
//
//	description = "rnbd:" name ':' generation
#pragma once

#include <cxxrt/text.hh>
#include <rtrs/wire/key_name.hh>

namespace rtrs {

constexpr usize kSecretSize = 32;
// Longest description, with its terminator: a peer's generation has ten digits
// at most.
constexpr usize kKeyDescriptionSize = sizeof("rnbd:") - 1 + (kKeyNameSize - 1) + 1 + 10 + 1;

struct KeyId {
	KeyName name;
	KeyGeneration generation;
	constexpr bool operator==(const KeyId &) const = default;
};

// A decimal number, in the only way to write it: two descriptions are never of one key. EINVAL for
// other text and 0, ERANGE behind the last one.
constexpr Result<KeyGeneration> parse_key_generation(TextView text)
{
	if (text.empty() || text[0] == '0' || text[text.size() - 1] == '\n')
		return err::einval;
	Result<u64> number = cxxrt::parse_u64(text);
	if (!number.ok())
		return number.error();
	if (number.value() > kLastGeneration)
		return err::erange;
	return KeyGeneration{static_cast<u32>(number.value())};
}

// EINVAL, ERANGE.
constexpr Result<KeyId> parse_key_description(TextView text)
{
	constexpr TextView kPrefix = "rnbd:";
	if (!text.starts_with(kPrefix))
		return err::einval;
	text = text.skip(kPrefix.size());
	const usize colon = text.find(':');
	if (colon == text.size())
		return err::einval;
	Result<KeyName> name = KeyName::from(text.first(colon));
	if (!name.ok())
		return name.error();
	Result<KeyGeneration> generation = parse_key_generation(text.skip(colon + 1));
	if (!generation.ok())
		return generation.error();
	return KeyId{name.value(), generation.value()};
}

constexpr void write_key_description(cxxrt::TextWriter &out, const KeyName &name,
				     KeyGeneration generation)
{
	out.put("rnbd:").put(name.view()).put(':').put_unsigned(generation.value);
}

// Which of two generations follows the other: generations count up, and never start again.
constexpr bool is_newer(KeyGeneration a, KeyGeneration b)
{
	return a.value > b.value;
}

// A secret is 32 bytes by chance, so that nobody guesses it from what he sees on the wire. What
// looks like typed by a human being, or like no chance at all, is refused: EINVAL. So is one of
// 6 * 10^13 honest ones. No branch depends on a single byte of a good one.
constexpr Status check_secret(ByteView secret)
{
	// Of 32 bytes by chance fewer are different once in 10^16 times.
	constexpr u32 kLeastDifferent = 16;
	if (secret.size() != kSecretSize)
		return err::einval;
	u32 different = 0;
	u32 typed = 0;
	for (usize i = 0; i < kSecretSize; i++) {
		const u8 byte = secret.data()[i];
		u32 seen = 0;
		for (usize j = 0; j < i; j++)
			seen |= secret.data()[j] == byte;
		different += seen ^ 1;
		typed += (byte >= ' ') & (byte <= '~');
	}
	if (different < kLeastDifferent || typed == kSecretSize)
		return err::einval;
	return {};
}

} // namespace rtrs
