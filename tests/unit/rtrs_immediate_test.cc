// SPDX-License-Identifier: GPL-2.0
// Immediates (protocol A.6).
#include <rtrs/wire/immediate.hh>

using namespace rtrs;

namespace {
constexpr ConnectionId kService{0};
constexpr ConnectionId kIo{1};

ImmLayout layout(u32 depth, u32 chunk)
{
	return ImmLayout::create(QueueDepth{depth}, ByteCount{chunk}).take();
}

int create_code(u32 depth, u32 chunk)
{
	return code(ImmLayout::create(QueueDepth{depth}, ByteCount{chunk}));
}
} // namespace

TEST(Bits, AreCeilLog2)
{
	EXPECT_EQ(bits_for(0), 0u);
	EXPECT_EQ(bits_for(1), 0u);
	EXPECT_EQ(bits_for(2), 1u);
	EXPECT_EQ(bits_for(3), 2u);
	for (u32 n = 2; n < 32; n++) {
		EXPECT_EQ(bits_for((1u << n) - 1), n);
		EXPECT_EQ(bits_for(1u << n), n);
		EXPECT_EQ(bits_for((1u << n) + 1), n + 1);
	}
	EXPECT_EQ(bits_for(0xffffffff), 32u);
}

TEST(Immediate, TravelsBigEndian)
{
	Immediate imm(ImmType::HeartbeatAck, 0x0abcdef);
	EXPECT_EQ(imm.value(), 0x90abcdefu);
	EXPECT_EQ(bytes_of(imm.to_network()), hex("90ABCDEF"));
	EXPECT_EQ(Immediate::from_network(imm.to_network()), imm);
	EXPECT_EQ(imm.type(), 9u);
	EXPECT_EQ(imm.payload(), 0xabcdefu);
	EXPECT_EQ(bytes_of(kHeartbeatImm.to_network()), hex("80000000"));
	EXPECT_EQ(bytes_of(kHeartbeatAckImm.to_network()), hex("90000000"));
}

TEST(Immediate, PayloadNeverReachesTheType)
{
	EXPECT_EQ(Immediate(ImmType::IoRequest, 0xffffffff).value(), 0x0fffffffu);
}

TEST(ImmLayout, OfAClientThatUsesFewerSlots)
{
	const ImmLayout whole = layout(512, 131072), limited = whole.limited_to({32});
	EXPECT_EQ(limited.queue_depth().value, 32u);
	EXPECT_EQ(limited.mem_bits(), whole.mem_bits());
	EXPECT_EQ(limited.request(Slot{31}, ChunkOffset{77}).value(),
		  whole.request(Slot{31}, ChunkOffset{77}).value());
	EXPECT_TRUE(limited.decode_response(response_imm(Slot{31}, 0, false)).ok());
	// The server has it, this client has no request there.
	EXPECT_TRUE(whole.decode_response(response_imm(Slot{32}, 0, false)).ok());
	EXPECT_EQ(code(limited.decode_response(response_imm(Slot{32}, 0, false))), -22);
	EXPECT_EQ(code(limited.decode_at_client(response_imm(Slot{511}, 0, true), kIo)), -22);
	// Never more than there are.
	EXPECT_EQ(whole.limited_to({513}).queue_depth().value, 512u);
	EXPECT_EQ(whole.limited_to({512}).queue_depth().value, 512u);
}

TEST(ImmLayout, Limits)
{
	EXPECT_EQ(create_code(512, 131072), 0);
	EXPECT_EQ(create_code(2048, 131072), 0);
	EXPECT_EQ(create_code(2049, 131072), -22);
	EXPECT_EQ(create_code(2048, 131073), -22);
	EXPECT_EQ(create_code(0, 131072), -22);
	EXPECT_EQ(create_code(512, 0), -22);
	EXPECT_EQ(create_code(1, 1u << 28), 0);
	EXPECT_EQ(create_code(1, (1u << 28) + 1), -22);
	EXPECT_EQ(create_code(32768, 8192), 0);
	EXPECT_EQ(create_code(32769, 8192), -22);
	EXPECT_EQ(create_code(65535, 4096), 0);
	EXPECT_EQ(create_code(65536, 4096), -22);
	EXPECT_EQ(create_code(1, 0xffffffff), -22);
}

TEST(ImmLayout, DefaultHasNineAndNineteenBits)
{
	ImmLayout l = layout(512, 131072);
	EXPECT_EQ(l.mem_bits(), 19u);
	EXPECT_EQ(l.request(Slot{511}, ChunkOffset{0x1ff}).value(), 0x0ff801ffu);
	EXPECT_EQ(l.request(Slot{1}, ChunkOffset{0}).value(), 0x00080000u);
}

TEST(ImmLayout, RequestsComeBack)
{
	const struct {
		u32 depth;
		u32 chunk;
	} sizes[] = {{1, 8192},	    {2, 8192},	   {3, 131072},	   {511, 131072},
		     {512, 131072}, {513, 65536},  {2048, 131072}, {32768, 8192},
		     {65535, 4096}, {1, 1u << 28}, {100, 1u << 20}};
	for (auto [depth, chunk] : sizes) {
		ImmLayout l = layout(depth, chunk);
		for (u32 slot : {0u, depth / 2, depth - 1}) {
			for (u32 off : {0u, 36u, chunk / 2, chunk - 4}) {
				Immediate imm = l.request(Slot{slot}, ChunkOffset{off});
				Result<ServerImm> r = l.decode_at_server(imm, kIo);
				ASSERT_TRUE(r.ok()) << depth << ' ' << chunk;
				EXPECT_EQ(r->kind, ServerImm::Kind::Request);
				EXPECT_EQ(r->slot.value, slot);
				EXPECT_EQ(r->offset.value, off);
			}
		}
	}
}

TEST(ImmLayout, SlotBeyondTheQueueIsRefused)
{
	ImmLayout l = layout(500, 131072);
	EXPECT_EQ(code(l.decode_at_server(Immediate::from_value(499u << 19 | 36), kIo)), 0);
	EXPECT_EQ(code(l.decode_at_server(Immediate::from_value(500u << 19 | 36), kIo)), -22);
	EXPECT_EQ(code(l.decode_at_server(Immediate::from_value(511u << 19 | 36), kIo)), -22);
	// Depth 1 has no bits for a slot.
	EXPECT_EQ(code(layout(1, 8192).decode_at_server(Immediate::from_value(1u << 27), kIo)),
		  -22);
}

TEST(ImmLayout, OffsetMustLeaveRoomForAHeader)
{
	ImmLayout l = layout(512, 131072);
	for (u32 off : {131072u - 5, 131072u - 4})
		EXPECT_EQ(code(l.decode_at_server(Immediate::from_value(off), kIo)), 0) << off;
	for (u32 off : {131072u - 3, 131072u - 1, 131072u, 131073u, (1u << 19) - 1})
		EXPECT_EQ(code(l.decode_at_server(Immediate::from_value(off), kIo)), -22) << off;
	EXPECT_EQ(code(layout(1, 3).decode_at_server(Immediate::from_value(0), kIo)), -22);
	EXPECT_EQ(code(layout(1, 4).decode_at_server(Immediate::from_value(0), kIo)), 0);
}

TEST(ImmLayout, TypesAtTheServer)
{
	ImmLayout l = layout(512, 131072);
	for (u32 type = 0; type < 16; type++) {
		Immediate imm = Immediate::from_value(type << 28 | 36);
		Result<ServerImm> service = l.decode_at_server(imm, kService);
		Result<ServerImm> io = l.decode_at_server(imm, kIo);
		if (type == 0) {
			EXPECT_EQ(service->kind, ServerImm::Kind::Request);
			EXPECT_EQ(io->kind, ServerImm::Kind::Request);
		} else if (type == 8 || type == 9) {
			ASSERT_TRUE(service.ok());
			EXPECT_EQ(service->kind, type == 8 ? ServerImm::Kind::Heartbeat
							   : ServerImm::Kind::HeartbeatAck);
			EXPECT_EQ(code(io), -71);
		} else {
			EXPECT_EQ(code(service), -71) << type;
			EXPECT_EQ(code(io), -71) << type;
		}
	}
}

TEST(ImmLayout, TypesAtTheClient)
{
	ImmLayout l = layout(512, 131072);
	for (u32 type = 0; type < 16; type++) {
		Immediate imm = Immediate::from_value(type << 28 | 36);
		Result<ClientImm> service = l.decode_at_client(imm, kService);
		Result<ClientImm> io = l.decode_at_client(imm, kIo);
		Result<ClientImm> response = l.decode_response(imm);
		EXPECT_EQ(code(response), type == 1 || type == 2 ? 0 : -71);
		if (type == 1 || type == 2) {
			for (Result<ClientImm> *r : {&service, &io, &response}) {
				ASSERT_TRUE(r->ok());
				EXPECT_EQ((*r)->kind, ClientImm::Kind::Response);
				EXPECT_EQ((*r)->slot.value, 36u);
				EXPECT_EQ((*r)->error, 0);
				EXPECT_EQ((*r)->invalidated, type == 2);
			}
		} else if (type == 8 || type == 9) {
			ASSERT_TRUE(service.ok());
			EXPECT_EQ(service->kind, type == 8 ? ClientImm::Kind::Heartbeat
							   : ClientImm::Kind::HeartbeatAck);
			EXPECT_EQ(code(io), -71);
		} else {
			EXPECT_EQ(code(service), -71) << type;
			EXPECT_EQ(code(io), -71) << type;
		}
	}
}

TEST(Fence, OnlyOnTheServiceConnectionOfWhoOffersIt)
{
	ImmLayout l = layout(512, 131072);
	const Immediate fence(ImmType::Fence, 0xabcdef1);
	const Immediate done(ImmType::FenceDone, 0xabcdef1);
	EXPECT_EQ(bytes_of(fence.to_network()), hex("AABCDEF1"));
	EXPECT_EQ(bytes_of(done.to_network()), hex("BABCDEF1"));

	Result<ServerImm> at_server = l.decode_at_server(fence, kService, true);
	ASSERT_TRUE(at_server.ok());
	EXPECT_EQ(at_server->kind, ServerImm::Kind::Fence);
	EXPECT_EQ(at_server->serial, 0xabcdef1u);
	EXPECT_EQ(code(l.decode_at_server(fence, kService, false)), -71);
	EXPECT_EQ(code(l.decode_at_server(fence, kIo, true)), -71);
	EXPECT_EQ(code(l.decode_at_server(done, kService, true)), -71);

	Result<ClientImm> at_client = l.decode_at_client(done, kService, true);
	ASSERT_TRUE(at_client.ok());
	EXPECT_EQ(at_client->kind, ClientImm::Kind::FenceDone);
	EXPECT_EQ(at_client->serial, 0xabcdef1u);
	EXPECT_EQ(code(l.decode_at_client(done, kService, false)), -71);
	EXPECT_EQ(code(l.decode_at_client(done, kIo, true)), -71);
	EXPECT_EQ(code(l.decode_at_client(fence, kService, true)), -71);
}

TEST(Response, Layout)
{
	EXPECT_EQ(response_imm(Slot{5}, 0, false).value(), 0x10000005u);
	EXPECT_EQ(response_imm(Slot{5}, 0, true).value(), 0x20000005u);
	// EINVAL 22 << 19
	EXPECT_EQ(response_imm(Slot{511}, -22, false).value(), 0x10b001ffu);
	EXPECT_EQ(response_imm(Slot{65534}, -511, true).value(), 0x2ff8fffeu);
}

TEST(Response, EveryErrnoArrivesAsItselfOrAsIoError)
{
	ImmLayout l = layout(512, 131072);
	for (int error = -5000; error <= 600; error++) {
		Immediate imm = response_imm(Slot{7}, error, false);
		Result<ClientImm> r = l.decode_at_client(imm, kIo);
		ASSERT_TRUE(r.ok());
		int expected = error == 0 ? 0 : error < 0 && error >= -511 ? error : -5;
		EXPECT_EQ(r->error, expected) << error;
		EXPECT_EQ(r->slot.value, 7u);
	}
	EXPECT_EQ(l.decode_at_client(response_imm(Slot{7}, INT32_MIN, false), kIo)->error, -5);
}

TEST(Response, SlotBeforeItIsChecked)
{
	EXPECT_EQ(response_slot(response_imm(Slot{65534}, -511, true)).value, 65534u);
	EXPECT_EQ(response_slot(Immediate::from_value(0xffffffff)).value, (1u << 19) - 1);
}

TEST(Response, SlotBeyondTheQueueIsRefused)
{
	ImmLayout l = layout(512, 131072);
	EXPECT_EQ(code(l.decode_at_client(Immediate::from_value(0x10000000 | 511), kIo)), 0);
	EXPECT_EQ(code(l.decode_at_client(Immediate::from_value(0x10000000 | 512), kIo)), -22);
	EXPECT_EQ(code(l.decode_at_client(Immediate::from_value(0x1007ffff), kIo)), -22);
}
