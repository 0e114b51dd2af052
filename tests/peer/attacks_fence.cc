// SPDX-License-Identifier: GPL-2.0
// Fences and epochs that no honest client sends (protocol J.1).
#include "attack.hh"

namespace peer {

using namespace rtrs;

namespace {

constexpr int kReset = -104;
constexpr u32 kUnknownSerial = 0x0123456;

Attack fencing(std::string name, std::function<std::string(Client &)> run)
{
	return {std::move(name), "J.1 FENCE", [run](const Target &t) {
			Client c(t);
			c.offer_fences(1);
			c.establish(fresh_name());
			return run(c);
		}};
}

std::string answered(Client &c, u32 serial)
{
	c.send_fence(serial);
	if (!c.wait_fence_done(serial))
		return "no FENCE_DONE came";
	return expect_alive(c);
}

std::string fence_zero(Client &c)
{
	c.send_fence(0);
	return expect_closed(c);
}

// Either the first one was over, or the path ends; nothing else happens.
std::string fence_flood(Client &c)
{
	for (u32 i = 1; i <= 64; i++)
		c.send_fence(kUnknownSerial + i);
	if (c.closed(milliseconds(3000)))
		return "";
	return expect_alive(c);
}

// All connections of an attempt carry the epoch that it began in.
std::string epoch_goes_back(const Target &t)
{
	Client c(t);
	c.offer_fences(7);
	std::string accepted = expect_accept(c.connect(0));
	c.offer_fences(6);
	return first_of({accepted, expect_reject(c.connect(1), kReset)});
}

// A path of a later epoch ends the older one, and only then begins.
std::string epoch_goes_on(const Target &t)
{
	const std::string name = fresh_name();
	Client old(t);
	old.offer_fences(0xffffffff);
	old.establish(name);
	Client late(t);
	late.join_session(old.session_uuid());
	late.offer_fences(0);
	std::string accepted = expect_accept(late.connect(0));
	return first_of({accepted, expect_closed(old)});
}

} // namespace

std::vector<Attack> fence_attacks()
{
	return {
	    fencing("fence-zero", fence_zero),
	    fencing("fence-unknown", [](Client &c) { return answered(c, kUnknownSerial); }),
	    fencing("fence-itself", [](Client &c) { return answered(c, c.path_serial()); }),
	    fencing("fence-flood", fence_flood),
	    {"epoch-goes-back", "J.1 epoch", epoch_goes_back},
	    {"epoch-goes-on", "J.1 epoch", epoch_goes_on},
	};
}

} // namespace peer
