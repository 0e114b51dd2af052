// SPDX-License-Identifier: GPL-2.0
// Lies in the answers to DISCOVER (protocol D.5): two exports, numbers 1 and 2.
#include "../client.hh"
#include "path.hh"

#include <cstring>
#include <memory>

#include <rnbd/wire/discover.hh>

namespace peer {

using rnbd::DiscoverEntry;
using rnbd::DiscoverResponse;

namespace {

struct Answer {
	DiscoverResponse head;
	DiscoverEntry entries[2];
};

Lie about(std::string name, std::string errno_name, std::function<void(Response &)> change)
{
	Lie l{.name = "discover-" + std::move(name),
	      .row = "D.5 DISCOVER",
	      .outcome = "ok discover-" + std::move(errno_name)};
	l.about = Kind::Discover;
	l.respond = [change](Path &, const Request &, Response r) {
		change(r);
		return std::vector<Response>{r};
	};
	return l;
}

// Nothing of it is believed.
Lie refused(std::string name, std::function<void(Answer &)> change)
{
	return about(std::move(name), "EINVAL", [change](Response &r) {
		Answer m;
		std::memcpy(&m, r.data.data(), sizeof(m));
		change(m);
		std::memcpy(r.data.data(), &m, sizeof(m));
	});
}

// Always one more page.
Lie endless()
{
	auto page = std::make_shared<uint32_t>(0);
	return about("endless", "EOVERFLOW", [page](Response &r) {
		r.data = bytes_of(rnbd::make_discover_response(0, ++*page, false));
	});
}

} // namespace

std::vector<Lie> discover_lies()
{
	return {
	    about("honest", "success", [](Response &) {}),
	    about("errno", "EIO", [](Response &r) { r.set(-5, false); }),
	    about("none", "EINVAL", [](Response &r) { r.data.clear(); }),
	    about("short", "EINVAL", [](Response &r) { r.data.resize(sizeof(DiscoverResponse)); }),
	    endless(),
	    refused("type", [](auto &m) { m.head.header.type = 3; }),
	    refused("count-16", [](auto &m) { m.head.count = 16; }),
	    refused("count-max", [](auto &m) { m.head.count = 0xffffffff; }),
	    refused("next-0", [](auto &m) { m.head.next = 0; }),
	    refused("next-2", [](auto &m) { m.head.next = 2; }),
	    refused("number-twice", [](auto &m) { m.entries[1].number = 1; }),
	    refused("numbers-fall", [](auto &m) { m.entries[0].number = 3; }),
	    refused("access-4", [](auto &m) { m.entries[1].access = 4; }),
	    refused("sectors-max", [](auto &m) { m.entries[1].nsectors = ~rtrs::u64{0}; }),
	    refused("name-empty", [](auto &m) { m.entries[1].name[0] = 0; }),
	    refused("name-newline", [](auto &m) { m.entries[1].name[1] = '\n'; }),
	    refused("name-endless", [](auto &m) { std::memset(m.entries[1].name, 'x', 256); }),
	};
}

} // namespace peer
