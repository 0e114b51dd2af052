// SPDX-License-Identifier: GPL-2.0
// Secrets of keys (protocol J.3), which leave nothing behind, and the one line of text that carries
// one between machines:
//
//	rnbd-key 1 NAME GENERATION SECRET CHECK
//
// A line, since raw bytes would not say whose they are, survive no terminal and no mail, and look
// the same when half of them is lost. CHECK is of all that stands before it: a copy that was cut,
// or whose name was changed by hand, is found before it is a key that nobody's proof fits.
#pragma once

#include "failure.hh"

#include <cstring>

#include <rtrs/pure/key_description.hh>

namespace rnbdadm {

// Bytes that are wiped at their end. Never copied.
template <std::size_t N> class Wiped {
public:
	Wiped() = default;
	Wiped(const Wiped &) = delete;
	Wiped &operator=(const Wiped &) = delete;
	~Wiped() { explicit_bzero(bytes_, N); }

	static constexpr std::size_t size() { return N; }
	unsigned char *data() { return bytes_; }
	const unsigned char *data() const { return bytes_; }
	char *text() { return reinterpret_cast<char *>(bytes_); }
	const char *text() const { return reinterpret_cast<const char *>(bytes_); }

private:
	unsigned char bytes_[N] = {};
};

using Secret = Wiped<rtrs::kSecretSize>;

// A line and some room behind it, so that what is too long shows.
struct KeyLine {
	Wiped<256> bytes;
	std::size_t size = 0;
};

// From the kernel's generator; Failure.
void make_secret(Secret &secret);
bool same_secret(const Secret &a, const Secret &b);

void write_key_line(const rtrs::KeyId &id, const Secret &secret, KeyLine &line);
// Failure (Config) that says what is wrong with it, and nothing of what it says. Also for a secret
// that nobody would use (check_secret()).
rtrs::KeyId read_key_line(const KeyLine &line, Secret &secret);

// By which people compare two secrets: 128 bits of a digest, "3f0c:...". It may be shown.
std::string fingerprint_of(const Secret &secret);

// "vm:1"; as the kernel's keyring has it: "rnbd:vm:1".
std::string name_of(const rtrs::KeyId &id);
std::string description_of(const rtrs::KeyId &id);

} // namespace rnbdadm
