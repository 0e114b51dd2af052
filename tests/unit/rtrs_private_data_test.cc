// SPDX-License-Identifier: GPL-2.0
// Private data of the connection manager (protocol A.3).
#include <rtrs/wire/private_data.hh>

using namespace rtrs;

namespace {

const Bytes kRequest = message(56, {
				       {0, "00"},				 // cma_version
				       {1, "00"},				 // ip_version
				       {2, "BD1B"},				 // magic
				       {4, "0002"},				 // version
				       {6, "0300"},				 // cid
				       {8, "0900"},				 // cid_num
				       {10, "0100"},				 // recon_cnt
				       {12, "000102030405060708090A0B0C0D0E0F"}, // sess_uuid
				       {28, "F0F1F2F3F4F5F6F7F8F9FAFBFCFDFEFF"}, // paths_uuid
				       {44, "01"},				 // first_conn
				   });

const Bytes kReply = message(56, {
				     {0, "BD1B"},      // magic
				     {2, "0002"},      // version
				     {4, "0000"},      // errno
				     {6, "0002"},      // queue_depth 512
				     {8, "00F00100"},  // max_io_size 126976
				     {12, "00100000"}, // max_hdr_size 4096
				     {16, "02000000"}, // flags NEW_RKEY
				 });

const Bytes kReject = message(56, {{0, "BD1B"}, {2, "0002"}, {4, "98FF"}});

Uuid uuid_from(int first)
{
	Uuid u;
	for (int i = 0; i < 16; i++)
		u.bytes[i] = static_cast<u8>(first + i);
	return u;
}

int request_code(const Bytes &bytes)
{
	return code(parse_connect_request(view(bytes)));
}

int reply_code(const Bytes &bytes)
{
	return code(parse_connect_reply(view(bytes)));
}

} // namespace

TEST(ConnectRequest, ReadsEveryField)
{
	Result<ConnectRequestFields> r = parse_connect_request(view(kRequest));
	ASSERT_TRUE(r.ok());
	EXPECT_EQ(r->cid.value, 3);
	EXPECT_EQ(r->connection_count, 9);
	EXPECT_EQ(r->reconnect_count, 1);
	EXPECT_EQ(r->path, uuid_from(0x00));
	EXPECT_EQ(r->session, uuid_from(0xf0));
	EXPECT_TRUE(r->first_connection);
}

TEST(ConnectRequest, IsBuiltAsRead)
{
	Result<ConnectRequestFields> r = parse_connect_request(view(kRequest));
	ASSERT_TRUE(r.ok());
	EXPECT_EQ(bytes_of(make_connect_request(r.value())), kRequest);
	r->first_connection = false;
	EXPECT_EQ(bytes_of(make_connect_request(r.value())), with(kRequest, {{44, "00"}}));
}

TEST(ConnectRequest, Length)
{
	for (std::size_t n = 0; n < 56; n++)
		EXPECT_EQ(request_code(cut(kRequest, n)), -104) << n;
	Bytes longer = kRequest;
	longer.resize(92);
	EXPECT_EQ(request_code(longer), 0);
}

TEST(ConnectRequest, Greeting)
{
	EXPECT_EQ(request_code(with(kRequest, {{2, "1BBD"}})), -104);
	EXPECT_EQ(request_code(with(kRequest, {{2, "BC1B"}})), -104);
	EXPECT_EQ(request_code(with(kRequest, {{2, "BD1A"}})), -104);
	EXPECT_EQ(request_code(with(kRequest, {{4, "0001"}})), -104);
	EXPECT_EQ(request_code(with(kRequest, {{4, "0003"}})), -104);
	EXPECT_EQ(request_code(with(kRequest, {{4, "0200"}})), -104);
	// The minor does not matter.
	EXPECT_EQ(request_code(with(kRequest, {{4, "FF02"}})), 0);
}

TEST(ConnectRequest, ConnectionCounts)
{
	EXPECT_EQ(request_code(with(kRequest, {{6, "0000"}, {8, "0000"}})), -104);
	EXPECT_EQ(request_code(with(kRequest, {{6, "0000"}, {8, "0100"}})), -104);
	EXPECT_EQ(request_code(with(kRequest, {{6, "0000"}, {8, "0200"}})), 0);
	EXPECT_EQ(request_code(with(kRequest, {{8, "FF0F"}})), 0);    // 4095
	EXPECT_EQ(request_code(with(kRequest, {{8, "0010"}})), 0);    // 4096
	EXPECT_EQ(request_code(with(kRequest, {{8, "0110"}})), -104); // 4097
	EXPECT_EQ(request_code(with(kRequest, {{8, "FFFF"}})), -104);
	// The server's own limit.
	EXPECT_EQ(code(parse_connect_request(view(kRequest), 9)), 0);
	EXPECT_EQ(code(parse_connect_request(view(kRequest), 8)), -104);
	// No limit of the server is above the protocol's.
	EXPECT_EQ(code(parse_connect_request(view(with(kRequest, {{8, "0110"}})), 65535)), -104);
}

TEST(ConnectRequest, ConnectionId)
{
	EXPECT_EQ(request_code(with(kRequest, {{6, "0000"}})), 0);
	EXPECT_EQ(request_code(with(kRequest, {{6, "0800"}})), 0);
	EXPECT_EQ(request_code(with(kRequest, {{6, "0900"}})), -104);
	EXPECT_EQ(request_code(with(kRequest, {{6, "0A00"}})), -104);
	EXPECT_EQ(request_code(with(kRequest, {{6, "FFFF"}})), -104);
}

TEST(ConnectRequest, Uuids)
{
	const char *zero = "00000000000000000000000000000000";
	EXPECT_EQ(request_code(with(kRequest, {{12, zero}})), -104);
	EXPECT_EQ(request_code(with(kRequest, {{28, zero}})), -104);
	EXPECT_EQ(request_code(with(kRequest, {{12, zero}, {27, "01"}})), 0);
	EXPECT_EQ(request_code(with(kRequest, {{28, zero}, {28, "01"}})), 0);
}

TEST(ConnectRequest, FirstConnectionIsBitZeroOnly)
{
	for (int flags = 0; flags < 256; flags++) {
		Bytes bytes = kRequest;
		bytes[44] = static_cast<u8>(flags);
		Result<ConnectRequestFields> r = parse_connect_request(view(bytes));
		ASSERT_TRUE(r.ok());
		EXPECT_EQ(r->first_connection, (flags & 1) == 1) << flags;
	}
}

TEST(ConnectRequest, OffersFencesWithAnEpoch)
{
	const Bytes bytes = with(kRequest, {{45, "01"}, {48, "04030201"}});
	Result<ConnectRequestFields> r = parse_connect_request(view(bytes));
	ASSERT_TRUE(r.ok());
	EXPECT_TRUE(r->fences);
	EXPECT_EQ(r->epoch, 0x01020304u);
	EXPECT_EQ(bytes_of(make_connect_request(r.value())), bytes);
	// Bits that nobody knows yet offer nothing, and who offers nothing says nothing.
	Result<ConnectRequestFields> other =
	    parse_connect_request(view(with(kRequest, {{45, "E0"}, {48, "04030201"}})));
	ASSERT_TRUE(other.ok());
	EXPECT_FALSE(other->fences);
	EXPECT_EQ(bytes_of(make_connect_request(other.value())), kRequest);
}

TEST(ConnectReply, TakesFencesUpWithASerial)
{
	const Bytes bytes = with(kReply, {{20, "01000000"}, {24, "F1DEBC0A"}, {28, "04030201"}});
	Result<ConnectReplyFields> r = parse_connect_reply(view(bytes));
	ASSERT_TRUE(r.ok());
	EXPECT_TRUE(r->fences);
	EXPECT_EQ(r->path_serial, 0x0abcdef1u);
	EXPECT_EQ(r->session_instance, 0x01020304u);
	EXPECT_EQ(bytes_of(make_connect_reply(r.value())), bytes);
	Result<ConnectReplyFields> other =
	    parse_connect_reply(view(with(kReply, {{20, "E0FFFFFF"}, {24, "F1DEBC0A"}})));
	ASSERT_TRUE(other.ok());
	EXPECT_FALSE(other->fences);
	EXPECT_EQ(bytes_of(make_connect_reply(other.value())), kReply);
	// 0 would be a fence that is over before it began, and what exceeds 28 bits fits no
	// immediate.
	for (const char *bad : {"00000000", "00000010", "FFFFFFFF"})
		EXPECT_EQ(
		    parse_connect_reply(view(with(kReply, {{20, "01000000"}, {24, bad}}))).error(),
		    err::einval)
		    << bad;
	Result<ConnectReplyFields> last =
	    parse_connect_reply(view(with(kReply, {{20, "01000000"}, {24, "FFFFFF0F"}})));
	ASSERT_TRUE(last.ok());
	EXPECT_EQ(last->path_serial, 0x0fffffffu);
}

TEST(ConnectRequest, OffersShortHeartbeats)
{
	const Bytes bytes = with(kRequest, {{45, "04"}});
	Result<ConnectRequestFields> r = parse_connect_request(view(bytes));
	ASSERT_TRUE(r.ok());
	EXPECT_TRUE(r->short_heartbeats);
	EXPECT_FALSE(r->fences || r->capsules);
	EXPECT_EQ(bytes_of(make_connect_request(r.value())), bytes);
	EXPECT_FALSE(parse_connect_request(view(kRequest))->short_heartbeats);
}

// Protocol J.5.
TEST(ConnectRequest, OffersFewerConnections)
{
	const Bytes bytes = with(kRequest, {{45, "10"}});
	Result<ConnectRequestFields> r = parse_connect_request(view(bytes));
	ASSERT_TRUE(r.ok());
	EXPECT_TRUE(r->fewer_connections);
	EXPECT_FALSE(r->fences || r->capsules || r->short_heartbeats || r->authentication);
	EXPECT_EQ(bytes_of(make_connect_request(r.value())), bytes);
	EXPECT_FALSE(parse_connect_request(view(kRequest))->fewer_connections);
}

TEST(ConnectReply, SaysHowManyConnections)
{
	const Bytes bytes = with(kReply, {{20, "10000501"}});
	Result<ConnectReplyFields> r = parse_connect_reply(view(bytes));
	ASSERT_TRUE(r.ok());
	EXPECT_EQ(r->connections, 0x105);
	EXPECT_FALSE(r->fences || r->capsules || r->short_heartbeats || r->authentication);
	EXPECT_EQ(bytes_of(make_connect_reply(r.value())), bytes);
	EXPECT_EQ(parse_connect_reply(view(kReply))->connections, 0);
	// Without the bit the number means nothing.
	EXPECT_EQ(parse_connect_reply(view(with(kReply, {{20, "00000501"}})))->connections, 0);
	// The service connection and one that carries I/O.
	for (const char *few : {"10000000", "10000100"})
		EXPECT_EQ(parse_connect_reply(view(with(kReply, {{20, few}}))).error(),
			  err::einval);
	EXPECT_EQ(parse_connect_reply(view(with(kReply, {{20, "10000200"}})))->connections, 2);
}

TEST(ConnectReply, TakesShortHeartbeatsUp)
{
	const Bytes bytes = with(kReply, {{20, "04000000"}});
	Result<ConnectReplyFields> r = parse_connect_reply(view(bytes));
	ASSERT_TRUE(r.ok());
	EXPECT_TRUE(r->short_heartbeats);
	EXPECT_FALSE(r->fences || r->capsules);
	EXPECT_EQ(bytes_of(make_connect_reply(r.value())), bytes);
	EXPECT_FALSE(parse_connect_reply(view(kReply))->short_heartbeats);
}

TEST(ConnectReply, ReadsEveryField)
{
	Result<ConnectReplyFields> r = parse_connect_reply(view(kReply));
	ASSERT_TRUE(r.ok());
	EXPECT_EQ(r->queue_depth.value, 512u);
	EXPECT_EQ(r->max_io_size.value, 126976u);
	EXPECT_EQ(r->max_header_size.value, 4096u);
	EXPECT_EQ(r->chunk_size().value, 131072u);
	EXPECT_TRUE(r->new_rkey);
	EXPECT_EQ(bytes_of(make_connect_reply(r.value())), kReply);
}

TEST(ConnectReply, NewRkeyIsBitOneOnly)
{
	for (int flags = 0; flags < 256; flags++) {
		Bytes bytes = kReply;
		bytes[16] = static_cast<u8>(flags);
		Result<ConnectReplyFields> r = parse_connect_reply(view(bytes));
		ASSERT_TRUE(r.ok());
		EXPECT_EQ(r->new_rkey, (flags & 2) == 2) << flags;
	}
	Result<ConnectReplyFields> off = parse_connect_reply(view(with(kReply, {{16, "00"}})));
	EXPECT_EQ(bytes_of(make_connect_reply(off.value())), with(kReply, {{16, "00"}}));
}

TEST(ConnectReply, LengthAndGreeting)
{
	for (std::size_t n = 0; n < 56; n++) {
		EXPECT_EQ(reply_code(cut(kReply, n)), -104) << n;
		EXPECT_EQ(code(check_connect_reply(view(cut(kReply, n)))), -104) << n;
	}
	// InfiniBand delivers the whole field of the CM.
	Bytes longer = kReply;
	longer.resize(196, 0xaa);
	EXPECT_EQ(reply_code(longer), 0);
	EXPECT_TRUE(check_connect_reply(view(longer)).ok());
	for (const Row &bad : {Row{0, "BC1B"}, Row{0, "1BBD"}, Row{2, "0001"}, Row{2, "0003"},
			       Row{4, "0100"}, Row{4, "98FF"}, Row{4, "0001"}}) {
		EXPECT_EQ(reply_code(with(kReply, {bad})), -104) << bad.bytes;
		EXPECT_EQ(code(check_connect_reply(view(with(kReply, {bad})))), -104) << bad.bytes;
	}
	EXPECT_EQ(reply_code(with(kReply, {{2, "0102"}})), 0);
}

TEST(ConnectReply, LaterConnectionsIgnoreTheGeometry)
{
	EXPECT_TRUE(check_connect_reply(view(with(kReply, {{6, "0000"}, {8, "FFFFFFFF"}}))).ok());
}

TEST(ConnectReply, QueueDepth)
{
	EXPECT_EQ(reply_code(with(kReply, {{6, "0000"}})), -22);
	EXPECT_EQ(reply_code(with(kReply, {{6, "0100"}})), 0);
	// 128 KiB need 17 bits, so 11 are left for slots.
	EXPECT_EQ(reply_code(with(kReply, {{6, "0008"}})), 0);	 // 2048
	EXPECT_EQ(reply_code(with(kReply, {{6, "0108"}})), -22); // 2049
	EXPECT_EQ(reply_code(with(kReply, {{6, "FFFF"}})), -22);
	// One byte more of I/O needs 18 bits.
	EXPECT_EQ(reply_code(with(kReply, {{6, "0008"}, {8, "01F00100"}})), -22);
	EXPECT_EQ(reply_code(with(kReply, {{6, "0004"}, {8, "01F00100"}})), 0);
	// The smallest chunk with the largest depth needs 29.
	EXPECT_EQ(reply_code(with(kReply, {{6, "FFFF"}, {8, "00100000"}})), -22);
}

TEST(ConnectReply, SizesAreClamped)
{
	EXPECT_EQ(reply_code(with(kReply, {{8, "00000000"}})), -22);
	EXPECT_EQ(reply_code(with(kReply, {{8, "FF0F0000"}})), -22); // 4095
	EXPECT_EQ(reply_code(with(kReply, {{8, "00100000"}})), 0);   // 4096
	EXPECT_EQ(reply_code(with(kReply, {{12, "00000000"}})), -22);
	EXPECT_EQ(reply_code(with(kReply, {{12, "FF010000"}})), -22); // 511
	EXPECT_EQ(reply_code(with(kReply, {{12, "00020000"}})), 0);   // 512
	EXPECT_EQ(reply_code(with(kReply, {{8, "FFFFFFFF"}})), -22);
	EXPECT_EQ(reply_code(with(kReply, {{12, "FFFFFFFF"}})), -22);
	// The sum overflows to a small number.
	EXPECT_EQ(reply_code(with(kReply, {{8, "00F0FFFF"}, {12, "00200000"}})), -22);
	// A chunk of exactly 2^28 bytes with one slot is the limit.
	EXPECT_EQ(reply_code(with(kReply, {{6, "0100"}, {8, "00F0FF0F"}})), 0);
	EXPECT_EQ(reply_code(with(kReply, {{6, "0100"}, {8, "01F0FF0F"}})), -22);
	// 64-KiB pages.
	EXPECT_EQ(reply_code(with(kReply, {{8, "00000100"}, {12, "00000100"}})), 0);
}

TEST(Reject, IsBuiltAsDocumented)
{
	EXPECT_EQ(bytes_of(make_reject(err::econnreset)), kReject);
	EXPECT_EQ(bytes_of(make_reject(err::enxio)), with(kReject, {{4, "FAFF"}}));
	EXPECT_EQ(bytes_of(make_reject(err::eexist)), with(kReject, {{4, "EFFF"}}));
}

TEST(Reject, CarriesAnErrnoOrBecomesConnectionReset)
{
	for (int value = 0; value < 65536; value++) {
		Bytes bytes = kReject;
		bytes[4] = static_cast<u8>(value);
		bytes[5] = static_cast<u8>(value >> 8);
		int carried = static_cast<std::int16_t>(value);
		int expected = carried < 0 && carried >= -511 ? carried : -104;
		ASSERT_EQ(parse_reject(view(bytes)).code(), expected) << value;
	}
}

TEST(Reject, LengthAndGreeting)
{
	const Bytes enxio = with(kReject, {{4, "FAFF"}});
	EXPECT_EQ(parse_reject(view(enxio)).code(), -6);
	for (std::size_t n = 0; n < 56; n++)
		EXPECT_EQ(parse_reject(view(cut(enxio, n))).code(), -104) << n;
	Bytes longer = enxio;
	longer.resize(148);
	EXPECT_EQ(parse_reject(view(longer)).code(), -6);
	EXPECT_EQ(parse_reject(view(with(enxio, {{0, "BE1B"}}))).code(), -104);
	EXPECT_EQ(parse_reject(view(with(enxio, {{2, "0001"}}))).code(), -104);
	EXPECT_EQ(parse_reject(ByteView()).code(), -104);
}
