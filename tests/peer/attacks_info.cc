// SPDX-License-Identifier: GPL-2.0
// Wrong INFO_REQ messages (protocol A.4, G.2 rows INFO_REQ).
#include "attack.hh"

#include <chrono>
#include <cstring>
#include <memory>

#include <rtrs/wire/info.hh>

namespace peer {

using namespace rtrs;

namespace {

std::string send_and_expect_close(const Target &t, const Bytes &message)
{
	Client c(t);
	c.connect_all();
	c.send_info(message);
	return expect_closed(c);
}

std::string named(const Target &t, const std::string &raw_name)
{
	InfoRequest m{};
	m.type = static_cast<u16>(MessageType::InfoRequest);
	std::memcpy(m.name, raw_name.data(), std::min(raw_name.size(), sizeof(m.name)));
	return send_and_expect_close(t, bytes_of(m));
}

Attack bad_name(std::string name, std::string raw)
{
	return {"info-name-" + name, "G.2 INFO_REQ name", [raw](const Target &t) {
			return named(t, raw);
		}};
}

std::string wrong_type(const Target &t, uint16_t type)
{
	Client c(t);
	c.connect_all();
	Bytes m = c.info_message(fresh_name());
	std::memcpy(m.data(), &type, sizeof(type));
	c.send_info(m);
	return expect_closed(c);
}

std::string of_size(const Target &t, size_t size)
{
	Client c(t);
	c.connect_all();
	Bytes m = c.info_message(fresh_name());
	m.resize(size);
	c.send_info(m);
	return expect_closed(c);
}

std::string early(const Target &t)
{
	Client c(t, 4);
	std::string accepted = first_of({expect_accept(c.connect(0)), expect_accept(c.connect(1))});
	c.send_info(c.info_message(fresh_name()));
	return first_of({accepted, expect_closed(c)});
}

std::string twice(const Target &t)
{
	Client c(t);
	const std::string name = fresh_name();
	c.establish(name);
	c.con(0).post_send(c.info_message(name));
	return expect_closed(c);
}

constexpr uint32_t kUnusedSlot = 15;

std::string name_taken(const Target &t)
{
	const std::string name = fresh_name();
	Client first(t);
	first.establish(name);
	Client second(t);
	second.connect_all();
	second.send_info(second.info_message(name));
	// The first one lives: it answers heartbeats, while it waits for an answer that nobody
	// owes.
	for (int i = 0; i < 50 && !second.closed(milliseconds(100)); i++)
		first.wait_answer(kUnusedSlot, milliseconds(100));
	return first_of({expect_closed(second), expect_alive(first)});
}

// What a client leaves behind that died without a word: its name goes to the next one of its host.
std::string name_of_the_dead(const Target &t)
{
	const std::string name = fresh_name();
	Client first(t);
	first.establish(name);
	Client second(t);
	second.establish(name);
	return first_of({expect_closed(first), expect_alive(second)});
}

// Many who want a name that somebody has, and are kept waiting: nobody else waits with them.
std::string name_crowd(const Target &t)
{
	constexpr unsigned kCrowd = 8;
	constexpr std::chrono::seconds kLimit(10); // by then each of them alone would have waited
	const std::string name = fresh_name();
	Client holder(t);
	holder.establish(name);
	std::vector<std::unique_ptr<Client>> crowd;
	for (unsigned i = 0; i < kCrowd; i++) {
		crowd.push_back(std::make_unique<Client>(t));
		crowd.back()->set_receives(4);
		crowd.back()->connect_all();
	}
	for (auto &c : crowd)
		c->send_info(c->info_message(name));
	const auto begin = std::chrono::steady_clock::now();
	Client other(t);
	other.establish(fresh_name());
	if (std::chrono::steady_clock::now() - begin > kLimit)
		return "a client that wants nothing of them had to wait";
	return expect_alive(other);
}

} // namespace

std::vector<Attack> info_attacks()
{
	std::vector<Attack> all{
	    {"info-early", "G.1-57", early},
	    {"info-twice", "G.2 INFO_REQ once", twice},
	    {"info-short", "G.2 INFO_REQ length",
	     [](const Target &t) {
		     return of_size(t, 100);
	     }},
	    {"info-empty", "G.2 INFO_REQ length",
	     [](const Target &t) {
		     return of_size(t, 0);
	     }},
	    {"info-long", "G.2 INFO_REQ length",
	     [](const Target &t) {
		     return of_size(t, 273);
	     }},
	    {"info-name-taken", "G.2 INFO_REQ name", name_taken},
	    {"info-name-of-the-dead", "G.3-12", name_of_the_dead},
	    {"info-name-crowd", "G.3-9", name_crowd},
	    bad_name("empty", ""),
	    bad_name("unterminated", std::string(255, 'a')),
	    bad_name("slash", "a/b"),
	    bad_name("dot", "a.b"),
	    bad_name("dots", ".."),
	    bad_name("ctl", "ctl"),
	    bad_name("control", "a\nb"),
	};
	for (uint16_t type : {1, 2, 3, 4, 0xffff})
		all.push_back({"info-type-" + std::to_string(type), "G.2 INFO_REQ type",
			       [type](const Target &t) {
				       return wrong_type(t, type);
			       }});
	return all;
}

} // namespace peer
