// SPDX-License-Identifier: GPL-2.0
#include "path.hh"

#include "../client.hh"

#include <cstdio>
#include <cstring>
#include <random>

#include <rnbd/wire/extension.hh>
#include <rnbd/wire/open_response.hh>
#include <rnbd/wire/operations.hh>
#include <rtrs/wire/capsule.hh>
#include <rtrs/wire/info.hh>
#include <rtrs/wire/rkey.hh>

namespace peer {

using namespace rtrs;

namespace {

constexpr uint64_t kInfoReceive = 1;
constexpr uint64_t kEmptyReceive = 2;
constexpr unsigned kReceives = 256;
constexpr uint32_t kDeviceId = 7;
constexpr int kIoError = -5;

bool any_complaint = false;

rnbd::OpenResponse describe_disk()
{
	rnbd::OpenResponse m{};
	m.header = rnbd::MessageHeader::of(rnbd::MessageType::OpenResponse);
	m.device_id = kDeviceId;
	m.nsectors = kDiskSectors;
	m.max_hw_sectors = 120;
	m.max_discard_sectors = 2048;
	m.discard_granularity = 512;
	m.physical_block_size = 512;
	m.logical_block_size = 512;
	m.max_segments = 16;
	m.cache_policy = rnbd::OpenResponse::kWriteback;
	return m;
}

// Two, in one answer.
Bytes describe_exports()
{
	rnbd::DiscoveredExport e{};
	Bytes answer = bytes_of(rnbd::make_discover_response(2, rnbd::kNoMoreExports, false));
	for (const char *name : {"one", "two"}) {
		e.number++;
		const Bytes entry =
		    bytes_of(rnbd::make_discover_entry(e, rnbd::TextView::of(name)));
		answer.insert(answer.end(), entry.begin(), entry.end());
	}
	return answer;
}

} // namespace

void complain(const std::string &lie, const std::string &text)
{
	any_complaint = true;
	std::printf("not ok %s # %s\n", lie.c_str(), text.c_str());
	std::fflush(stdout);
}

bool complained()
{
	return any_complaint;
}

void Response::set(int error, bool promise)
{
	imm = response_imm(slot, error, promise).value();
}

Path::Path(const Lie &lie, const ConnectRequestFields &first)
    : lie_(lie), disk_(kDiskSectors << rnbd::kSectorShift), first_(first),
      layout_(ImmLayout::create(lie.geometry.queue_depth, lie.geometry.chunk_size()).take()),
      connections_(first.connection_count)
{
	all_.push_back(this);
	seen_.numbers.resize(first.connection_count);
	std::random_device source;
	for (auto &b : nonce_.bytes)
		b = static_cast<u8>(source());
}

Path::~Path()
{
	std::erase(all_, this);
	if (unproven())
		look_for_writes();
	// Not before: that would be an answer.
	for (rdma_cm_id *id : ignored_)
		rdma_destroy_id(id);
	if (lie_.owes_close && opens_ && !closes_)
		complain("no CLOSE came for the device that the client refused");
}

void Path::complain_of_request(const std::string &text) const
{
	if (answered_early_)
		remark(text);
	else
		complain(text);
}

void Path::remark(const std::string &text) const
{
	std::printf("# %s: %s\n", lie_.name.c_str(), text.c_str());
	std::fflush(stdout);
}

void Path::later(milliseconds pause, std::function<void()> what)
{
	timers_.emplace_back(Clock::now() + pause, std::move(what));
}

Path *Path::accomplice() const
{
	for (Path *p : all_)
		if (&p->lie_ == &lie_ && p->session() != session() && p->has_con(1))
			return p;
	return nullptr;
}

bool Path::is_there(const Path *other) const
{
	for (const Path *p : all_)
		if (p == other)
			return p->has_con(1);
	return false;
}

void Path::disconnect()
{
	for (auto &c : connections_)
		if (c)
			c->disconnect();
}

// ---- handshake

void Path::greet(const Caller &caller, const ConnectRequestFields &request)
{
	rdma_cm_id *const id = caller.id;
	ConnectReplyFields fields = lie_.geometry;
	fields.authentication = challenged_ = lie_.proves && request.authentication;
	fields.nonce = nonce_;
	const ConnectReply honest = make_connect_reply(fields);
	const uint16_t cid = request.cid.value;
	Greeting g{Greeting::Kind::Accept, bytes_of(honest)};
	if (lie_.greet)
		g = lie_.greet(cid, attempt(), honest);
	if (g.kind == Greeting::Kind::Reject)
		rdma_reject(id, g.data.data(), static_cast<uint8_t>(g.data.size()));
	if (g.kind == Greeting::Kind::Disconnect)
		disconnect();
	if (g.kind == Greeting::Kind::Ignore || g.kind == Greeting::Kind::Disconnect)
		ignored_.push_back(id);
	else if (g.kind == Greeting::Kind::Reject)
		rdma_destroy_id(id);
	if (g.kind != Greeting::Kind::Accept)
		return;
	auto c = std::make_unique<Connection>(id, caller.queue_pair);
	seen_.numbers[cid] = c->numbers();
	if (cid == 0) {
		seen_.request = caller.request;
		seen_.reply = bytes_of(honest);
		info_ = std::make_unique<Memory>(c->pd(), challenged_ ? kProvenInfoRequestSize
								      : sizeof(InfoRequest));
		c->post_recv(kInfoReceive, info_.get());
	}
	for (unsigned i = 0; i < kReceives; i++)
		c->post_recv(kEmptyReceive);
	c->accept(g.data);
	connections_[cid] = std::move(c);
}

void Path::on_info_request(size_t size)
{
	const ByteView message(info_->data(), size);
	const std::optional<ByteView> plain = plain_part(message);
	if (!plain)
		return;
	auto name = parse_info_request(*plain);
	if (!name.ok()) {
		complain("INFO_REQ is malformed: " + std::to_string(name.code()));
		return;
	}
	const u32 depth = layout_.queue_depth().value;
	Bytes m = bytes_of(make_info_response(depth));
	for (u32 i = 0; i < depth; i++) {
		chunks_.push_back(
		    std::make_unique<Memory>(con(0).pd(), kGeometry.chunk_size().value));
		Memory &c = *chunks_.back();
		const Bytes d = bytes_of(Descriptor::from(
		    {{c.address()}, {c.rkey()}, {lie_.geometry.chunk_size().value}}));
		m.insert(m.end(), d.begin(), d.end());
	}
	if (challenged_)
		add_proof(message, m);
	if (lie_.info) {
		for (const Bytes &b : lie_.info(*this, m))
			con(0).post_send(b);
	} else {
		con(0).post_send(m);
	}
	if (lie_.established)
		lie_.established(*this);
}

// ---- what comes

bool Path::poll()
{
	bool busy = false;
	for (uint16_t cid = 0; cid < connections_.size(); cid++)
		while (connections_[cid]) {
			auto wc = connections_[cid]->wait_recv(milliseconds(0));
			if (!wc)
				break;
			on_receive(cid, *wc);
			busy = true;
		}
	for (size_t i = 0; i < timers_.size(); i++) {
		if (timers_[i].first > Clock::now())
			continue;
		auto what = std::move(timers_[i].second);
		timers_.erase(timers_.begin() + static_cast<std::ptrdiff_t>(i--));
		what();
		busy = true;
	}
	return busy;
}

bool Path::closed()
{
	bool any = false;
	for (auto &c : connections_)
		any |= c && c->poll_closed();
	// Who set a timer wants to look at the end.
	return any && timers_.empty();
}

void Path::on_receive(uint16_t cid, const ibv_wc &wc)
{
	if (wc.wr_id == kInfoReceive && !named_ && wc.opcode == IBV_WC_RECV) {
		named_ = true;
		on_info_request(wc.byte_len);
		return;
	}
	con(cid).post_recv(kEmptyReceive);
	if (unproven()) {
		complain("the client uses what nobody has proven");
		return;
	}
	if (!(wc.wc_flags & IBV_WC_WITH_IMM)) {
		complain("a SEND came that no client sends");
		return;
	}
	auto imm = layout_.decode_at_server(Immediate::from_network(wc.imm_data), {cid});
	if (!imm.ok()) {
		complain("an immediate came that no client sends");
		return;
	}
	if (imm->kind == ServerImm::Kind::Request)
		on_request(cid, imm.value());
	else if (imm->kind == ServerImm::Kind::Heartbeat && lie_.answers_heartbeats)
		send_imm(0, kHeartbeatAckImm);
}

// ---- requests

Response Path::new_response(uint16_t cid, Slot slot)
{
	Response r{.con = cid, .slot = slot, .data = {}};
	r.set(0, false);
	if (lie_.geometry.new_rkey) {
		// A new key each time, as a server with always_invalidate does.
		auto &chunk = chunks_.at(slot.value);
		chunk->renew();
		r.payload = bytes_of(make_rkey_response(slot, Rkey{chunk->rkey()}));
	}
	return r;
}

void Path::on_request(uint16_t cid, ServerImm imm)
{
	if (chunks_.empty()) {
		complain("a request came before the list of chunks was sent");
		return;
	}
	Memory &chunk = *chunks_.at(imm.slot.value);
	IoHeader header{};
	const IoVerdict v =
	    parse_io_header({chunk.data() + imm.offset.value,
			     io_header_copy_size(imm.offset, {static_cast<u32>(chunk.size())})},
			    imm.offset, header);
	if (!v.accepted()) {
		complain_of_request("a malformed request came: " + std::to_string(v.error.code()));
		return;
	}
	Request request{cid, imm.slot, header, Kind::Other};
	Response honest{.con = cid, .slot = imm.slot, .data = {}};
	request.kind = serve(request, honest);
	Response r = new_response(cid, imm.slot);
	r.imm = honest.imm;
	r.data = std::move(honest.data);
	if (header.has_descriptor) {
		r.address = header.descriptor.address.value;
		r.rkey = header.descriptor.rkey.value;
	}
	if (header.need_invalidate) {
		r.invalidated = {header.descriptor.rkey.value};
		r.imm = (r.imm & ((1u << kImmPayloadBits) - 1)) |
			Immediate(ImmType::IoResponseWithInvalidate, 0).value();
		if (lie_.geometry.capsules)
			r.capsule =
			    bytes_of(make_answer_capsule(Immediate::from_value(r.imm), Rkey{0}));
	}
	if (!lie_.respond || lie_.about != request.kind) {
		send(r);
		return;
	}
	for (const Response &told : lie_.respond(*this, request, r))
		send(told);
}

Kind Path::serve(const Request &request, Response &response)
{
	const IoHeader &h = request.header;
	const ByteView message(chunks_[request.slot.value]->data() + h.usr_offset().value,
			       h.usr_len.value);
	const rnbd::Transfer transfer{h.direction == Direction::Read
					  ? rnbd::Transfer::Direction::Read
					  : rnbd::Transfer::Direction::Write,
				      h.transfer_size().value};
	response.set(0, false);
	const rnbd::Extension extension{
	    .features = lie_.about == Kind::Discover  ? rnbd::feature::discover
			: lie_.about == Kind::Reserve ? rnbd::feature::reservations
						      : 0,
	    .instance = 1};
	auto type = rnbd::parse_message_type(message, extension.features);
	if (!type.ok()) {
		complain_of_request("an unknown message came");
		response.set(kIoError, false);
		return Kind::Other;
	}
	switch (type.value()) {
	case rnbd::MessageType::SessionInfo: {
		auto version = rnbd::parse_session_info(message, transfer);
		if (!version.ok())
			complain_of_request("SESS_INFO is malformed");
		rnbd::SessionInfo answer = rnbd::make_session_info_response(version.take());
		if (extension.features)
			rnbd::answer_extension(message, extension, answer);
		response.data = bytes_of(answer);
		return Kind::SessionInfo;
	}
	case rnbd::MessageType::Open:
		if (!rnbd::parse_open(message, transfer).ok())
			complain_of_request("OPEN is malformed");
		opens_++;
		response.data = bytes_of(describe_disk());
		return Kind::Open;
	case rnbd::MessageType::Discover:
		if (!rnbd::parse_discover(message, transfer).ok())
			complain_of_request("DISCOVER is malformed");
		response.data = describe_exports();
		return Kind::Discover;
	case rnbd::MessageType::Reserve:
		if (!rnbd::parse_reserve(message, transfer).ok())
			complain_of_request("RESERVE is malformed");
		response.data = bytes_of(rnbd::make_reserve_response({}, 0));
		return Kind::Reserve;
	case rnbd::MessageType::Close:
		if (!rnbd::parse_close(message, transfer).ok())
			complain_of_request("CLOSE is malformed");
		closes_++;
		return Kind::Close;
	default:
		return serve_io(request, message, response);
	}
}

Kind Path::serve_io(const Request &request, ByteView message, Response &response)
{
	auto io = rnbd::parse_io(message, rnbd::kProtocolMajor);
	if (!io.ok()) {
		complain_of_request("IO is malformed");
		response.set(kIoError, false);
		return Kind::Other;
	}
	const uint64_t begin = io->sector.value;
	const uint64_t end = begin + (io->size >> rnbd::kSectorShift);
	const auto op = static_cast<rnbd::Operation>(io->rw & rnbd::kOperationMask);
	const bool moves = rnbd::carries_data(op);
	if (moves && io->size != request.header.transfer_size().value) {
		complain_of_request("the size of an I/O and its data differ");
		response.set(kIoError, false);
		return Kind::Other;
	}
	if (begin > kDiskSectors || end > kDiskSectors) {
		response.set(kIoError, false);
		return Kind::Other;
	}
	std::byte *at = disk_.data() + (begin << rnbd::kSectorShift);
	if (op == rnbd::Operation::Write)
		std::memcpy(at, chunks_[request.slot.value]->data(), io->size);
	else if (op == rnbd::Operation::Read)
		response.data.assign(at, at + io->size);
	if (begin != kLieSector || !moves)
		return Kind::Other;
	return op == rnbd::Operation::Write ? Kind::Write : Kind::Read;
}

void Path::send(const Response &r)
{
	if (!has_con(r.con))
		return;
	Connection &c = con(r.con);
	if (!r.data.empty())
		c.post_write(r.data, r.address, r.rkey, {});
	if (r.capsule) {
		c.post_send_invalidating(r.invalidated.at(0), *r.capsule);
		return;
	}
	for (uint32_t key : r.invalidated)
		c.post_send_invalidating(key);
	if (!r.final)
		return;
	if (r.payload)
		c.post_send(*r.payload, r.imm);
	else
		c.post_write({}, 0, 0, r.imm);
}

void Path::send_imm(uint16_t cid, Immediate imm)
{
	if (has_con(cid))
		con(cid).post_write({}, 0, 0, imm.value());
}

} // namespace peer
