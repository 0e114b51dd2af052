// SPDX-License-Identifier: GPL-2.0
// Wrong connect requests, and handshakes that stop half-way (protocol A.3, G.2 rows REQ).
#include "attack.hh"

#include <chrono>
#include <memory>
#include <thread>

namespace peer {

using namespace rtrs;

namespace {

constexpr int kConnReset = -104;
constexpr int kNoSession = -6;

// A connect request with one change, which must be rejected.
std::string changed_request(const Target &t, int error,
			    const std::function<void(ConnectRequest &)> &change)
{
	Client c(t);
	ConnectRequest m = make_connect_request(c.request_fields(0));
	change(m);
	return expect_reject(c.connect_raw(0, bytes_of(m)), error);
}

Attack changed(std::string name, std::string row, std::function<void(ConnectRequest &)> change,
	       int error = kConnReset)
{
	return {std::move(name), std::move(row), [change, error](const Target &t) {
			return changed_request(t, error, change);
		}};
}

std::string short_request(const Target &t, size_t size)
{
	Client c(t);
	Bytes m = bytes_of(make_connect_request(c.request_fields(0)));
	m.resize(size);
	return expect_reject(c.connect_raw(0, m), kConnReset);
}

std::string service_connection_missing(const Target &t)
{
	Client c(t);
	return expect_reject(c.connect(1), kConnReset);
}

std::string connection_twice(const Target &t)
{
	Client c(t, 4);
	std::string first = expect_accept(c.connect(0));
	std::string second = expect_accept(c.connect(1));
	// A second connection object with the same id; the first stays.
	Connection again(t.server, t.port);
	Bytes m = bytes_of(make_connect_request(c.request_fields(1)));
	return first_of({first, second, expect_reject(again.connect(m), kConnReset)});
}

std::string count_changes(const Target &t)
{
	Client c(t, 4);
	std::string first = expect_accept(c.connect(0));
	ConnectRequest m = make_connect_request(c.request_fields(1));
	m.cid_num = 5;
	return first_of({first, expect_reject(c.connect_raw(1, bytes_of(m)), kConnReset)});
}

// Protocol J.5: who gets fewer than asked for has to keep to that.
std::string more_than_granted(const Target &t)
{
	Client c(t, 4);
	const auto request = [&](uint16_t cid, unsigned count) {
		ConnectRequest m = make_connect_request(c.request_fields(cid));
		m.features = ConnectRequest::kFewerConnections;
		m.cid_num = static_cast<uint16_t>(count);
		return c.connect_raw(cid, bytes_of(m));
	};
	const unsigned asked = kMaxPathConnections + 1;
	const ConnectResult first = request(0, asked);
	if (std::string wrong = expect_accept(first); !wrong.empty())
		return wrong;
	const auto reply =
	    parse_connect_reply({first.private_data.data(), first.private_data.size()});
	if (!reply.ok() || reply->connections != kMaxPathConnections)
		return "REP does not say how many connections there may be";
	return first_of({expect_reject(request(1, asked), kConnReset),
			 expect_accept(request(2, kMaxPathConnections))});
}

std::string unknown_session(const Target &t)
{
	Client c(t);
	c.set_first(false);
	return expect_reject(c.connect(0), kNoSession);
}

std::string other_minor(const Target &t)
{
	Client c(t);
	ConnectRequest m = make_connect_request(c.request_fields(0));
	m.version = 0x02ff;
	return expect_accept(c.connect_raw(0, bytes_of(m)));
}

// The server has to bound what peers that never finish cost it, and to serve others afterwards.
std::string half_open_flood(const Target &t)
{
	std::vector<std::unique_ptr<Client>> all;
	unsigned accepted = 0;
	for (int i = 0; i < 100; i++) {
		all.push_back(std::make_unique<Client>(t));
		if (all.back()->connect(0).kind == ConnectResult::Kind::Accepted)
			accepted++;
	}
	if (accepted == all.size())
		return "all of " + std::to_string(accepted) + " half-open sessions were accepted";
	if (!accepted)
		return "not even one was accepted";
	all.clear();
	// It sees them go one by one.
	using Clock = std::chrono::steady_clock;
	const Clock::time_point end = Clock::now() + std::chrono::seconds(20);
	while (Client(t).connect(0).kind != ConnectResult::Kind::Accepted) {
		if (Clock::now() > end)
			return "nobody is accepted after they have gone";
		std::this_thread::sleep_for(std::chrono::milliseconds(100));
	}
	return "";
}

enum class Step { ServiceConnected, AllConnected, InfoSent, Established, RequestSent };

std::string vanish(const Target &t, Step step)
{
	Client c(t, 3);
	if (step == Step::ServiceConnected)
		return expect_accept(c.connect(0));
	c.connect_all();
	if (step == Step::AllConnected)
		return "";
	c.send_info(c.info_message(fresh_name()));
	if (step == Step::InfoSent)
		return "";
	if (!c.receive_info())
		return "no INFO_RSP";
	if (step == Step::RequestSent)
		for (uint32_t slot = 0; slot < 32; slot++)
			c.send(c.make_read(slot, Bytes(36), 36, 36));
	return ""; // the destructor leaves without a word
}

Attack vanishing(std::string name, Step step)
{
	return {"vanish-" + name, "G.3-9", [step](const Target &t) {
			return vanish(t, step);
		}};
}

} // namespace

std::vector<Attack> handshake_attacks()
{
	return {
	    {"req-empty", "G.2 REQ length",
	     [](const Target &t) {
		     return short_request(t, 0);
	     }},
	    {"req-short", "G.2 REQ length",
	     [](const Target &t) {
		     return short_request(t, 20);
	     }},
	    changed("req-magic", "G.2 REQ magic", [](auto &m) { m.magic = 0x1bbc; }),
	    changed("req-major", "G.2 REQ major", [](auto &m) { m.version = 0x0300; }),
	    {"req-minor", "A.1 version", other_minor},
	    changed("req-count-0", "G.2 REQ cid_num", [](auto &m) { m.cid_num = 0; }),
	    changed("req-count-1", "G.2 REQ cid_num", [](auto &m) { m.cid_num = 1; }),
	    changed("req-count-4097", "G.2 REQ cid_num", [](auto &m) { m.cid_num = 4097; }),
	    changed("req-count-65535", "G.2 REQ cid_num", [](auto &m) { m.cid_num = 65535; }),
	    changed("req-cid-beyond", "G.2 REQ cid", [](auto &m) { m.cid = 2; }),
	    changed("req-zero-path", "G.2 REQ uuid", [](auto &m) { m.path_uuid = Uuid{}; }),
	    changed("req-zero-session", "G.2 REQ uuid", [](auto &m) { m.session_uuid = Uuid{}; }),
	    {"req-cid-1-first", "G.2 REQ cid", service_connection_missing},
	    {"req-cid-twice", "G.2 REQ cid", connection_twice},
	    {"req-count-changes", "G.2 REQ cid_num", count_changes},
	    {"req-count-granted", "J.5", more_than_granted},
	    {"req-unknown-session", "A.3 REJ", unknown_session},
	    vanishing("after-service", Step::ServiceConnected),
	    vanishing("after-connect", Step::AllConnected),
	    vanishing("after-info-req", Step::InfoSent),
	    vanishing("established", Step::Established),
	    vanishing("with-requests", Step::RequestSent),
	    {"half-open-flood", "G.2 first_conn, G.3-9", half_open_flood},
	};
}

} // namespace peer
