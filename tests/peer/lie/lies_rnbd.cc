// SPDX-License-Identifier: GPL-2.0
// Lies in the answers to SESS_INFO and OPEN (protocol D.1, D.2, G.3-19, G.3-20).
#include "../client.hh"
#include "path.hh"

#include <cstring>

#include <rnbd/wire/open_response.hh>

namespace peer {

using rnbd::OpenResponse;

namespace {

Lie about(Kind kind, std::string name, std::string row, std::string outcome,
	  std::function<void(Path &, Response &)> change)
{
	Lie l{.name = std::move(name), .row = std::move(row), .outcome = std::move(outcome)};
	l.about = kind;
	l.respond = [change](Path &path, const Request &, Response r) {
		change(path, r);
		return std::vector<Response>{r};
	};
	return l;
}

Lie open(std::string name, std::string outcome, std::function<void(OpenResponse &)> change,
	 bool owes_close = false, unsigned from_attempt = 1)
{
	Lie l = about(Kind::Open, "open-" + name, "D.1 OPEN_RSP", std::move(outcome),
		      [change, from_attempt](Path &path, Response &r) {
			      if (path.attempt() < from_attempt)
				      return;
			      OpenResponse m;
			      std::memcpy(&m, r.data.data(), sizeof(m));
			      change(m);
			      std::memcpy(r.data.data(), &m, sizeof(m));
		      });
	l.owes_close = owes_close;
	return l;
}

// Refused, and the device closed again.
Lie refused(std::string name, std::function<void(OpenResponse &)> change)
{
	return open(std::move(name), "map:EINVAL", std::move(change), true);
}

// Accepted; what is impossible in it is replaced.
Lie reduced(std::string name, std::function<void(OpenResponse &)> change)
{
	return open(std::move(name), "ok limits", std::move(change));
}

Lie error(Kind kind, uint32_t code, std::string outcome)
{
	return about(
	    kind, (kind == Kind::Open ? "open-errno-" : "sess-info-errno-") + std::to_string(code),
	    "A.6 errno", std::move(outcome), [code](Path &, Response &r) {
		    r.data.clear();
		    r.imm = (r.imm & ~((1u << rtrs::kImmPayloadBits) - 1)) |
			    code << rtrs::kResponseIdBits | r.slot.value;
	    });
}

Lie session_info(std::string name, std::string outcome, std::function<void(Bytes &)> change)
{
	return about(Kind::SessionInfo, "sess-info-" + name, "D.2", std::move(outcome),
		     [change](Path &, Response &r) { change(r.data); });
}

} // namespace

std::vector<Lie> rnbd_lies()
{
	const std::string kBroken = "map:ECONNRESET|ECONNABORTED";
	return {
	    session_info("version-0", "ok", [](Bytes &m) { m[4] = std::byte{0}; }),
	    session_info("version-1", "ok", [](Bytes &m) { m[4] = std::byte{1}; }),
	    session_info("version-255", "ok", [](Bytes &m) { m[4] = std::byte{255}; }),
	    session_info("type", "map:EINVAL", [](Bytes &m) { m[0] = std::byte{0}; }),
	    session_info("none", "map:EINVAL", [](Bytes &m) { m.clear(); }),
	    session_info("long", kBroken, [](Bytes &m) { m.resize(37); }),
	    error(Kind::SessionInfo, 22, "map:EINVAL"),
	    error(Kind::SessionInfo, 511, "map:511"),
	    error(Kind::Open, 2, "map:ENOENT"),
	    error(Kind::Open, 11, "map:EAGAIN"),
	    error(Kind::Open, 511, "map:511"),
	    open("type", "map:EINVAL", [](auto &m) { m.header.type = 5; }),
	    open("sectors-0", "any", [](auto &m) { m.nsectors = 0; }),
	    refused("sectors-max", [](auto &m) { m.nsectors = ~rtrs::u64{0}; }),
	    // The first size in bytes that is negative, and the last that is not.
	    refused("sectors-2-54", [](auto &m) { m.nsectors = rtrs::u64{1} << 54; }),
	    open("sectors-largest", "ok", [](auto &m) { m.nsectors = (rtrs::u64{1} << 54) - 1; }),
	    refused("block-0", [](auto &m) { m.logical_block_size = 0; }),
	    refused("block-1", [](auto &m) { m.logical_block_size = 1; }),
	    refused("block-3", [](auto &m) { m.logical_block_size = 3; }),
	    refused("block-256", [](auto &m) { m.logical_block_size = 256; }),
	    refused("block-513", [](auto &m) { m.logical_block_size = 513; }),
	    refused("block-8192", [](auto &m) { m.logical_block_size = 8192; }),
	    refused("block-32768", [](auto &m) { m.logical_block_size = 32768; }),
	    refused("block-65535", [](auto &m) { m.logical_block_size = 65535; }),
	    reduced("block-4096", [](auto &m) { m.logical_block_size = 4096; }),
	    reduced("sectors-part-of-block",
		    [](auto &m) {
			    m.logical_block_size = 4096;
			    m.nsectors = kDiskSectors - 3;
		    }),
	    reduced("physical-0", [](auto &m) { m.physical_block_size = 0; }),
	    reduced("physical-less",
		    [](auto &m) {
			    m.logical_block_size = 4096;
			    m.physical_block_size = 512;
		    }),
	    reduced("physical-odd", [](auto &m) { m.physical_block_size = 513; }),
	    reduced("segments-0", [](auto &m) { m.max_segments = 0; }),
	    reduced("hw-sectors-0", [](auto &m) { m.max_hw_sectors = 0; }),
	    reduced("discard-max", [](auto &m) { m.max_discard_sectors = 0xffffffff; }),
	    reduced("discard-granularity-0", [](auto &m) { m.discard_granularity = 0; }),
	    reduced("discard-granularity-3", [](auto &m) { m.discard_granularity = 3; }),
	    reduced("discard-granularity-max", [](auto &m) { m.discard_granularity = 0xffffffff; }),
	    reduced("discard-alignment-max", [](auto &m) { m.discard_alignment = 0xffffffff; }),
	    reduced("discard-alignment-3", [](auto &m) { m.discard_alignment = 3; }),
	    reduced("discard-alone",
		    [](auto &m) {
			    m.max_discard_sectors = 0;
			    m.secure_discard = 1;
		    }),
	    reduced("secure", [](auto &m) { m.secure_discard = 0xffff; }),
	    reduced("zeroes-max", [](auto &m) { m.max_write_zeroes_sectors = 0xffffffff; }),
	    reduced("cache-policy", [](auto &m) { m.cache_policy = 0xff; }),
	    reduced("fua-alone", [](auto &m) { m.cache_policy = OpenResponse::kFua; }),
	    reduced("id-max", [](auto &m) { m.device_id = 0xffffffff; }),
	    reduced("all-ones-behind-sizes",
		    [](auto &m) {
			    m.max_hw_sectors = m.max_write_zeroes_sectors = m.max_discard_sectors =
				m.discard_granularity = m.discard_alignment = 0xffffffff;
			    m.physical_block_size = m.max_segments = m.secure_discard = 0xffff;
			    m.obsolete_rotational = m.cache_policy = 0xff;
			    std::memset(m.reserved, 0xff, sizeof(m.reserved));
		    }),
	    about(Kind::Open, "open-none", "D.1 OPEN_RSP", "map:EINVAL",
		  [](Path &, Response &r) { r.data.clear(); }),
	    // Type and id only: what did not come is zero.
	    [] {
		    Lie l = about(Kind::Open, "open-short", "D.1 OPEN_RSP", "map:EINVAL",
				  [](Path &, Response &r) { r.data.resize(8); });
		    l.owes_close = true;
		    return l;
	    }(),
	    about(Kind::Open, "open-long", "A.5 descriptor", kBroken,
		  [](Path &, Response &r) { r.data.resize(57); }),
	    about(Kind::Close, "close-errno-5", "E.1 CLOSE", "ok",
		  [](Path &, Response &r) { r.set(-5, false); }),
	    // What changes under a mapped disk when the client comes back.
	    open(
		"again-block", "ok reconnect-stays-closed",
		[](auto &m) { m.logical_block_size = 4096; }, false, 2),
	    open(
		"again-refused", "ok reconnect-stays-closed", [](auto &m) { m.nsectors = ~0ull; },
		false, 2),
	    open(
		"again-smaller", "ok reconnect-smaller", [](auto &m) { m.nsectors = 1024; }, false,
		2),
	    open(
		"again-other-id", "ok reconnect", [](auto &m) { m.device_id = 99; }, false, 2),
	};
}

} // namespace peer
