// SPDX-License-Identifier: GPL-2.0
// The tails of INFO_REQ and INFO_RSP, descriptions of keys, and lists of sessions (protocol J.3).
// Input: the message or text.
#include "fuzz.hh"

#include <memory>

#include <rtrs/pure/key_description.hh>
#include <rtrs/pure/key_rules.hh>
#include <rtrs/wire/authentication.hh>

using namespace rtrs;

namespace {

// The views of a message are of itself, in their order.
void parts(const ProvenMessage &m, cxxrt::ByteView whole, std::size_t tail)
{
	MUST(m.plain.data() == whole.data() && m.plain.size() == whole.size() - tail);
	MUST(m.covered.data() == whole.data() && m.covered.size() == whole.size() - 32);
	MUST(m.mac.data() == whole.data() + m.covered.size() && m.mac.size() == 32);
}

void request(const std::vector<unsigned char> &bytes)
{
	auto r = parse_proven_info_request(view(bytes));
	if (!r.ok()) {
		MUST(r.error() == err::emsgsize || r.error() == err::einval);
		MUST((r.error() == err::emsgsize) == (bytes.size() != 408));
		return;
	}
	parts(r->message, view(bytes), sizeof(InfoRequestTail));
	MUST(r->generation.value != 0);
	const TextView name = r->key.view();
	MUST(!name.empty() && name.size() < kKeyNameSize);
	MUST(name.find(':') == name.size() && name.find('/') == name.size());
	// An honest tail is read as it was made; this one may have bytes behind its name.
	const std::unique_ptr<ClientNonce> nonce = std::make_unique<ClientNonce>();
	std::memcpy(nonce->bytes, bytes.data() + 344, 32);
	const InfoRequestTail tail = make_info_request_tail(r->key, r->generation, *nonce);
	MUST(std::memcmp(tail.nonce, bytes.data() + 344, 32) == 0);
	MUST(std::memcmp(tail.key_name, bytes.data() + 280, name.size()) == 0);
	MUST(std::memcmp(&tail.generation, bytes.data() + 272, 4) == 0);
	(void)parse_info_request(r->message.plain).ok();
}

void response(const std::vector<unsigned char> &bytes)
{
	auto r = parse_proven_info_response(view(bytes));
	MUST(r.ok() == (bytes.size() >= 48));
	if (!r.ok())
		return;
	parts(r.value(), view(bytes), sizeof(InfoResponseTail));
	Status s = for_each_remote_slot(r->plain, QueueDepth{4}, ByteCount{8192},
					[](Slot, RemoteAddress, Rkey) {});
	MUST(!s.ok() || r->plain.size() >= 24);
}

void description(TextView text)
{
	auto id = parse_key_description(text);
	if (!id.ok())
		return;
	std::vector<char> memory(kKeyDescriptionSize);
	cxxrt::TextWriter out(memory.data(), memory.size());
	write_key_description(out, id->name, id->generation);
	MUST(!out.truncated() && out.text() == text);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size)
{
	const std::vector<unsigned char> bytes = Input(data, size).rest();
	request(bytes);
	response(bytes);
	(void)check_secret(view(bytes)).ok();
	const TextView text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
	description(text);
	// Who may be in no list, and has no key, is shut out by any that stands for his name.
	if (check_session_list(text).ok()) {
		auto rules = [&](auto &&f) {
			f(KeyRule{"key", text});
		};
		MUST(name_open_to("key", "name", rules) ||
		     !cxxrt::any_word_stands_for(text, "name"));
		MUST(name_open_to("", "name", rules) != cxxrt::any_word_stands_for(text, "name"));
	}
	return 0;
}
