// SPDX-License-Identifier: GPL-2.0
// What authentication adds to REQ, REP, INFO_REQ and INFO_RSP (protocol J.3).
#include <rtrs/wire/authentication.hh>
#include <rtrs/wire/private_data.hh>

using namespace rtrs;

namespace {

const Bytes kRequest = message(56, {
				       {2, "BD1B"},
				       {4, "0002"},
				       {8, "0200"},
				       {12, "000102030405060708090A0B0C0D0E0F"},
				       {28, "F0F1F2F3F4F5F6F7F8F9FAFBFCFDFEFF"},
				       {45, "08"},   // features: authentication
				       {46, "0300"}, // algorithms: HMAC-SHA-256 and another
				   });

const char kNonce[] = "404142434445464748494A4B4C4D4E4F5051525354555657";

const Bytes kReply = message(56, {
				     {0, "BD1B"},
				     {2, "0002"},
				     {6, "0002"},
				     {8, "00F00100"},
				     {12, "00100000"},
				     {20, "08000000"}, // features: authentication, algorithm 0
				     {32, kNonce},
				 });

const Bytes kInfoRequest = message(408, {
					    {2, "73746F7265"},	 // session "store"
					    {272, "07000000"},	 // generation
					    {280, "6B65792D31"}, // key "key-1"
					    {344, "C0C1"},	 // nonce
					    {375, "DF"},
					    {376, "E0E1"}, // MAC
					    {407, "FF"},
					});

int info_code(const Bytes &bytes)
{
	return code(parse_proven_info_request(view(bytes)));
}

} // namespace

TEST(AuthMessages, OfferInTheRequest)
{
	Result<ConnectRequestFields> r = parse_connect_request(view(kRequest));
	ASSERT_TRUE(r.ok());
	EXPECT_TRUE(r->authentication);
	EXPECT_EQ(r->algorithms, 3);
	EXPECT_FALSE(r->fences || r->capsules || r->short_heartbeats);
	EXPECT_EQ(bytes_of(make_connect_request(r.value())), kRequest);
}

// Who offers nothing sends what he always sent.
TEST(AuthMessages, NoOfferIsZero)
{
	Result<ConnectRequestFields> r = parse_connect_request(view(kRequest));
	ASSERT_TRUE(r.ok());
	r->authentication = false;
	EXPECT_EQ(bytes_of(make_connect_request(r.value())),
		  with(kRequest, {{45, "00"}, {46, "0000"}}));
	Result<ConnectReplyFields> p = parse_connect_reply(view(kReply));
	ASSERT_TRUE(p.ok());
	p->authentication = false;
	EXPECT_EQ(bytes_of(make_connect_reply(p.value())),
		  with(kReply, {{20, "00"}, {32, std::string(48, '0')}}));
}

TEST(AuthMessages, AnswerInTheReply)
{
	Result<ConnectReplyFields> r = parse_connect_reply(view(kReply));
	ASSERT_TRUE(r.ok());
	EXPECT_TRUE(r->authentication);
	EXPECT_EQ(r->algorithm, AuthAlgorithm::HmacSha256);
	EXPECT_EQ(Bytes(r->nonce.bytes, r->nonce.bytes + 24), hex(kNonce));
	EXPECT_EQ(bytes_of(make_connect_reply(r.value())), kReply);
}

TEST(AuthMessages, UnknownAlgorithmIsRefused)
{
	for (const char *number : {"01", "80", "FF"})
		EXPECT_EQ(code(parse_connect_reply(view(with(kReply, {{21, number}})))),
			  err::einval.code());
	// Without the bit it means nothing, nor does the nonce.
	Result<ConnectReplyFields> r =
	    parse_connect_reply(view(with(kReply, {{20, "00"}, {21, "01"}})));
	ASSERT_TRUE(r.ok());
	EXPECT_FALSE(r->authentication);
	EXPECT_EQ(r->nonce, ServerNonce{});
}

TEST(AuthMessages, InfoRequest)
{
	Result<ProvenInfoRequest> r = parse_proven_info_request(view(kInfoRequest));
	ASSERT_TRUE(r.ok());
	EXPECT_EQ(str(r->key.view()), "key-1");
	EXPECT_EQ(r->generation.value, 7u);
	const u8 *start = kInfoRequest.data();
	EXPECT_EQ(r->message.plain.data(), start);
	EXPECT_EQ(r->message.plain.size(), 272u);
	EXPECT_EQ(r->message.covered.data(), start);
	EXPECT_EQ(r->message.covered.size(), 376u);
	EXPECT_EQ(r->message.mac.data(), start + 376);
	EXPECT_EQ(r->message.mac.size(), 32u);
	Result<SessionName> name = parse_info_request(r->message.plain);
	ASSERT_TRUE(name.ok());
	EXPECT_EQ(str(name->view()), "store");
}

TEST(AuthMessages, InfoRequestIsBuiltAsRead)
{
	Result<ProvenInfoRequest> r = parse_proven_info_request(view(kInfoRequest));
	ASSERT_TRUE(r.ok());
	ClientNonce nonce{};
	std::memcpy(nonce.bytes, kInfoRequest.data() + 344, 32);
	const Bytes tail = bytes_of(make_info_request_tail(r->key, r->generation, nonce));
	EXPECT_EQ(tail, with(Bytes(kInfoRequest.begin() + 272, kInfoRequest.end()),
			     {{104, std::string(64, '0')}}));
}

TEST(AuthMessages, InfoRequestLengthIsExact)
{
	for (std::size_t size : {0, 271, 272, 375, 376, 407})
		EXPECT_EQ(info_code(cut(kInfoRequest, size)), err::emsgsize.code()) << size;
	Bytes longer = kInfoRequest;
	longer.push_back(0);
	EXPECT_EQ(info_code(longer), err::emsgsize.code());
	// Nor does either of the two messages pass for the other.
	EXPECT_EQ(code(parse_info_request(view(kInfoRequest))), err::emsgsize.code());
}

TEST(AuthMessages, InfoRequestKey)
{
	EXPECT_EQ(info_code(with(kInfoRequest, {{272, "00000000"}})), err::einval.code());
	EXPECT_EQ(info_code(with(kInfoRequest, {{272, "FFFFFFFF"}})), 0);
	EXPECT_EQ(info_code(with(kInfoRequest, {{280, "00"}})), err::einval.code());
	EXPECT_EQ(info_code(with(kInfoRequest, {{281, "3A"}})), err::einval.code()); // ':'
	std::string name(126, '6');						     // 63 letters
	EXPECT_EQ(info_code(with(kInfoRequest, {{280, name}})), 0);
	name += "66";
	EXPECT_EQ(info_code(with(kInfoRequest, {{280, name}})), err::einval.code());
	// What is reserved says nothing yet.
	EXPECT_EQ(info_code(with(kInfoRequest, {{276, "FFFFFFFF"}})), 0);
}

TEST(AuthMessages, InfoResponse)
{
	for (u32 n : {0u, 1u, 512u}) {
		const Bytes bytes(8 + 16 * n + 40);
		Result<ProvenMessage> r = parse_proven_info_response(view(bytes));
		ASSERT_TRUE(r.ok());
		EXPECT_EQ(r->plain.data(), bytes.data());
		EXPECT_EQ(r->plain.size(), info_response_size(n));
		EXPECT_EQ(r->covered.size(), bytes.size() - 32);
		EXPECT_EQ(r->mac.data(), bytes.data() + bytes.size() - 32);
		EXPECT_EQ(r->mac.size(), 32u);
		EXPECT_EQ(proven_info_response_size(n), bytes.size());
	}
	for (std::size_t size : {0, 8, 40, 47}) {
		const Bytes bytes(size);
		EXPECT_EQ(code(parse_proven_info_response(view(bytes))), err::emsgsize.code());
	}
}

TEST(AuthMessages, KeyNames)
{
	for (const char *good : {"a", "0", "Z-_.9", "store-1.site_b"})
		EXPECT_TRUE(KeyName::from(TextView::of(good)).ok()) << good;
	for (const char *bad : {"", "-a", ".a", "_", "a b", "a/b", "a:b", "a\n", "\xc3\xa4", "a@b"})
		EXPECT_EQ(code(KeyName::from(TextView::of(bad))), err::einval.code()) << bad;
	EXPECT_TRUE(KeyName::from(text(std::string(63, 'k'))).ok());
	EXPECT_FALSE(KeyName::from(text(std::string(64, 'k'))).ok());
	const KeyName name = KeyName::from("abc").take();
	EXPECT_STREQ(name.c_str(), "abc");
	EXPECT_TRUE(name == KeyName::from("abc").take());
	EXPECT_FALSE(name == KeyName::from("ab").take());
}
