// SPDX-License-Identifier: GPL-2.0
// Capsules (protocol J.2), and how they are offered.
#include <rtrs/wire/capsule.hh>
#include <rtrs/wire/private_data.hh>

using namespace rtrs;

namespace {

// Slot 3 of 512, header at 4128; a message of 4 bytes, the header of a write.
const Bytes kRequest = message(16, {
				       {0, "20101800"}, // imm, a number
				       {4, "0400"},	// usr_len
				       {8, "AABBCCDD"},
				       {12, "02000400"},
				   });

// An answer with invalidation, slot 5, errno 22.
const Bytes kAnswer = message(8, {{0, "0500B020"}, {4, "78563412"}});

int request_code(const Bytes &bytes)
{
	return code(parse_request_capsule(view(bytes)));
}

int answer_code(const Bytes &bytes)
{
	return code(parse_answer_capsule(view(bytes)));
}

Bytes sized(Bytes bytes, size_t size)
{
	bytes.resize(size);
	return bytes;
}

} // namespace

TEST(RequestCapsule, ReadsEveryField)
{
	auto r = parse_request_capsule(view(kRequest));
	ASSERT_TRUE(r.ok());
	const ImmLayout layout = ImmLayout::create({512}, {131072}).take();
	EXPECT_EQ(r->imm, layout.request({3}, {4128}));
	ASSERT_EQ(r->message.size(), 4u);
	EXPECT_EQ(r->message.data()[3], 0xdd);
	ASSERT_EQ(r->header.size(), 4u);
	EXPECT_EQ(r->header.data()[0], 2);
}

TEST(RequestCapsule, IsWhatIsMade)
{
	const ImmLayout layout = ImmLayout::create({512}, {131072}).take();
	const RequestCapsule made = make_request_capsule(layout.request({3}, {4128}), 4);
	EXPECT_EQ(bytes_of(made), sized(kRequest, 8));
}

TEST(RequestCapsule, RefusesWhatDoesNotHoldItsMessage)
{
	for (size_t size : {0, 1, 7})
		EXPECT_EQ(request_code(sized(kRequest, size)), err::emsgsize.code()) << size;
	// A message that ends behind the capsule.
	EXPECT_EQ(request_code(sized(kRequest, 11)), err::emsgsize.code());
	Bytes lying = kRequest;
	lying[4] = lying[5] = 0xff;
	EXPECT_EQ(request_code(lying), err::emsgsize.code());
	lying[4] = 9;
	lying[5] = 0;
	EXPECT_EQ(request_code(lying), err::emsgsize.code());
	// All message, and no header: the parser of headers says what it thinks of that.
	EXPECT_EQ(request_code(sized(kRequest, 12)), 0);
}

TEST(RequestCapsule, RefusesWhatIsLongerThanAny)
{
	EXPECT_EQ(request_code(sized(kRequest, kMaxCapsule)), 0);
	EXPECT_EQ(request_code(sized(kRequest, kMaxCapsule + 1)), err::emsgsize.code());
}

TEST(RequestCapsule, HasRoomForTheLongestHeader)
{
	EXPECT_TRUE(fits_capsule(32));
	EXPECT_TRUE(fits_capsule(96));
	EXPECT_FALSE(fits_capsule(97));
	EXPECT_FALSE(fits_capsule(512));
}

TEST(AnswerCapsule, ReadsEveryField)
{
	auto r = parse_answer_capsule(view(kAnswer));
	ASSERT_TRUE(r.ok());
	EXPECT_EQ(r->imm, response_imm({5}, -22, true));
	EXPECT_EQ(r->rkey.value, 0x12345678u);
	EXPECT_EQ(bytes_of(make_answer_capsule(response_imm({5}, -22, true), {0x12345678})),
		  kAnswer);
}

TEST(AnswerCapsule, RefusesOtherLengths)
{
	for (size_t size : {0, 4, 7, 9, 16})
		EXPECT_EQ(answer_code(sized(kAnswer, size)), err::emsgsize.code()) << size;
}

TEST(AnswerCapsule, IsAlwaysAnAnswerWithInvalidation)
{
	for (u32 type = 0; type < 16; type++) {
		Bytes other = kAnswer;
		other[3] = static_cast<unsigned char>(type << 4);
		EXPECT_EQ(answer_code(other), type == 2 ? 0 : err::eproto.code()) << type;
	}
}

TEST(CapsuleOffer, IsABitOfTheFeatures)
{
	const Uuid id{{1}};
	const ConnectRequestFields asks{.cid = {0},
					.connection_count = 2,
					.reconnect_count = 0,
					.path = id,
					.session = id,
					.first_connection = true,
					.capsules = true};
	const Bytes request = bytes_of(make_connect_request(asks));
	EXPECT_EQ(request[45], 2);
	auto asked = parse_connect_request(view(request));
	ASSERT_TRUE(asked.ok());
	EXPECT_TRUE(asked->capsules);
	EXPECT_FALSE(asked->fences);

	const ConnectReplyFields says{.queue_depth = {512},
				      .max_io_size = {126976},
				      .max_header_size = {4096},
				      .new_rkey = true,
				      .capsules = true};
	const Bytes reply = bytes_of(make_connect_reply(says));
	EXPECT_EQ(reply[20], 2);
	auto said = parse_connect_reply(view(reply));
	ASSERT_TRUE(said.ok());
	EXPECT_TRUE(said->capsules);
	EXPECT_FALSE(said->fences);
}
