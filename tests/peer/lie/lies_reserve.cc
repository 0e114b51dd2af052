// SPDX-License-Identifier: GPL-2.0
// Lies in the answers to RESERVE (protocol D.5): a registration with a disk that nobody has
// reserved.
#include "../client.hh"
#include "path.hh"

#include <cstring>

#include <rnbd/wire/reserve.hh>

namespace peer {

using rnbd::ReserveResponse;

namespace {

Lie about(std::string name, std::string errno_name, std::function<void(Response &)> change)
{
	Lie l{.name = "reserve-" + std::move(name),
	      .row = "D.5 Reservations",
	      .outcome = "ok reserve-" + std::move(errno_name)};
	l.about = Kind::Reserve;
	l.respond = [change](Path &, const Request &, Response r) {
		change(r);
		return std::vector<Response>{r};
	};
	return l;
}

// Nothing of it is believed.
Lie refused(std::string name, std::function<void(ReserveResponse &)> change)
{
	return about(std::move(name), "EINVAL", [change](Response &r) {
		ReserveResponse m;
		std::memcpy(&m, r.data.data(), sizeof(m));
		change(m);
		std::memcpy(r.data.data(), &m, sizeof(m));
	});
}

Lie fails(std::string name, int error, std::string errno_name)
{
	return about(std::move(name), std::move(errno_name),
		     [error](Response &r) { r.set(error, false); });
}

} // namespace

std::vector<Lie> reserve_lies()
{
	return {
	    about("honest", "success", [](Response &) {}),
	    fails("conflict", -52, "CONFLICT"),
	    fails("errno", -5, "EIO"),
	    fails("no-place", -28, "ENOSPC"),
	    about("none", "EINVAL", [](Response &r) { r.data.clear(); }),
	    refused("type", [](auto &m) { m.header.type = 3; }),
	    refused("kind-7", [](auto &m) { m.type = 7; }),
	    refused("kind-255", [](auto &m) { m.type = 255; }),
	    refused("holder-of-nothing", [](auto &m) { m.holder = 1; }),
	    refused("keys", [](auto &m) { m.count = 1; }),
	    refused("keys-max", [](auto &m) { m.count = 0xffffffff; }),
	};
}

} // namespace peer
