// SPDX-License-Identifier: GPL-2.0
// Secrets of keys, and the line of text that carries one. By libcrypto, which libkmod brings along
// anyway.
#include "secret.hh"

#include "text.hh"

#include <cerrno>

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/random.h>

namespace rnbdadm {

namespace {

constexpr std::string_view kMagic = "rnbd-key", kFormat = "1";
constexpr std::size_t kEncodedSize = (rtrs::kSecretSize + 2) / 3 * 4;
constexpr std::size_t kCheckSize = 8; // digits
constexpr std::size_t kDigestSize = 32;

using Digest = Wiped<kDigestSize>;

// SHA-256 of a label, with its terminator, and what follows.
void digest(const std::string &label, const void *data, std::size_t size, Digest &out)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	const bool done = context && EVP_DigestInit_ex(context, EVP_sha256(), nullptr) &&
			  EVP_DigestUpdate(context, label.c_str(), label.size() + 1) &&
			  EVP_DigestUpdate(context, data, size) &&
			  EVP_DigestFinal_ex(context, out.data(), nullptr);
	EVP_MD_CTX_free(context); // wipes it
	if (!done)
		throw Failure(Exit::Failed, "libcrypto has no SHA-256");
}

std::string hex(const unsigned char *bytes, std::size_t n)
{
	std::string text;
	for (std::size_t i = 0; i < n; i++)
		text += fmt::format("{:02x}", bytes[i]);
	return text;
}

std::string check_of(const char *text, std::size_t size)
{
	Digest d;
	digest("rnbd key file", text, size, d);
	return hex(d.data(), kCheckSize / 2);
}

void append(KeyLine &line, std::string_view text)
{
	if (line.size + text.size() > line.bytes.size())
		throw Failure(Exit::Failed, "a key's line has no room");
	std::memcpy(line.bytes.text() + line.size, text.data(), text.size());
	line.size += text.size();
}

// One more is written: a terminator.
struct Encoded {
	Wiped<kEncodedSize + 1> text;
	std::string_view view() const { return {text.text(), kEncodedSize}; }
};

void encode(const Secret &secret, Encoded &out)
{
	EVP_EncodeBlock(out.text.data(), secret.data(), static_cast<int>(secret.size()));
}

bool decode(std::string_view text, Secret &secret)
{
	// Of the padding it makes zeroes.
	Wiped<kEncodedSize / 4 * 3> bytes;
	if (text.size() != kEncodedSize ||
	    EVP_DecodeBlock(bytes.data(), reinterpret_cast<const unsigned char *>(text.data()),
			    static_cast<int>(text.size())) != static_cast<int>(bytes.size()))
		return false;
	std::memcpy(secret.data(), bytes.data(), secret.size());
	// There is one way to write it.
	Encoded again;
	encode(secret, again);
	return !CRYPTO_memcmp(again.text.data(), text.data(), kEncodedSize);
}

} // namespace

void make_secret(Secret &secret)
{
	do {
		std::size_t have = 0;
		while (have < secret.size()) {
			ssize_t n = getrandom(secret.data() + have, secret.size() - have, 0);
			if (n < 0 && errno != EINTR)
				throw Failure(Exit::Failed, "the kernel gives no random bytes: " +
								words_of(errno, Action::Configure));
			have += n > 0 ? static_cast<std::size_t>(n) : 0;
		}
	} while (!rtrs::check_secret({secret.data(), secret.size()}).ok());
}

bool same_secret(const Secret &a, const Secret &b)
{
	return !CRYPTO_memcmp(a.data(), b.data(), a.size());
}

void write_key_line(const rtrs::KeyId &id, const Secret &secret, KeyLine &line)
{
	line.size = 0;
	append(line,
	       fmt::format("{} {} {} {} ", kMagic, kFormat, id.name.c_str(), id.generation.value));
	Encoded encoded;
	encode(secret, encoded);
	append(line, encoded.view());
	append(line, " " + check_of(line.bytes.text(), line.size) + "\n");
}

rtrs::KeyId read_key_line(const KeyLine &line, Secret &secret)
{
	const Failure damaged(Exit::Config, "it is damaged: bring it over once more");
	// No copies: what is cut out of it points into it.
	std::string_view text(line.bytes.text(), line.size);
	while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' '))
		text.remove_suffix(1);
	std::string_view words[6];
	std::size_t count = 0;
	for (std::size_t at = 0; at <= text.size() && count < std::size(words);) {
		const std::size_t end = std::min(text.find(' ', at), text.size());
		words[count++] = text.substr(at, end - at);
		at = end + 1;
	}
	if (words[0] != kMagic)
		throw Failure(Exit::Config, "it is no key of rnbdadm",
			      "one is made by: rnbdadm key generate NAME");
	if (count > 1 && words[1] != kFormat && parse_number(words[1]))
		throw Failure(Exit::Config, "it was made by a newer rnbdadm");
	const std::string_view check = words[5];
	// Also when there are more words than six: the last one found is not the end then.
	if (check.size() != kCheckSize || check.end() != text.end() ||
	    check_of(text.data(), text.size() - check.size() - 1) != check)
		throw damaged;
	const auto name = rtrs::KeyName::from(view(words[2]));
	const auto generation = rtrs::parse_key_generation(view(words[3]));
	if (!name.ok() || !generation.ok() || !decode(words[4], secret))
		throw damaged;
	if (!rtrs::check_secret({secret.data(), secret.size()}).ok())
		throw Failure(Exit::Config, "its secret is not by chance, and nobody would take it",
			      "make another one: rnbdadm key generate NAME");
	return {name.value(), generation.value()};
}

std::string fingerprint_of(const Secret &secret)
{
	Digest d;
	digest("rnbd key fingerprint", secret.data(), secret.size(), d);
	std::string text;
	for (std::size_t i = 0; i < 16; i += 2)
		text += (i ? ":" : "") + hex(d.data() + i, 2);
	return text;
}

std::string name_of(const rtrs::KeyId &id)
{
	return fmt::format("{}:{}", id.name.c_str(), id.generation.value);
}

std::string description_of(const rtrs::KeyId &id)
{
	char text[rtrs::kKeyDescriptionSize];
	cxxrt::TextWriter out(text, sizeof text);
	rtrs::write_key_description(out, id.name, id.generation);
	return text;
}

} // namespace rnbdadm
