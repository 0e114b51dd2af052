// SPDX-License-Identifier: GPL-2.0
// Lies about answers in one message (protocol J.2).
#include "../client.hh"
#include "path.hh"

#include <rtrs/wire/capsule.hh>

namespace peer {

using namespace rtrs;

namespace {

using Responses = std::vector<Response>;

// A read is answered by this capsule.
Lie capsule(std::string name, std::string outcome,
	    std::function<Responses(Path &, const Request &, Response)> respond)
{
	Lie l{.name = "capsule-" + name, .row = "J.2 answer", .outcome = std::move(outcome)};
	l.geometry.capsules = true;
	l.about = Kind::Read;
	l.respond = std::move(respond);
	return l;
}

Lie changed(std::string name, std::string outcome, std::function<void(Response &)> change)
{
	return capsule(std::move(name), std::move(outcome),
		       [change](Path &, const Request &, Response r) -> Responses {
			       change(r);
			       return {r};
		       });
}

Bytes with_imm(Immediate imm)
{
	return bytes_of(make_answer_capsule(imm, Rkey{0}));
}

// The capsule speaks of a slot that waits for nothing; what the client waits for comes behind it.
Lie other_slot(std::string name, uint32_t distance)
{
	return capsule(
	    std::move(name), "ok", [distance](Path &, const Request &, Response r) -> Responses {
		    Response honest = r;
		    honest.data.clear();
		    honest.capsule.reset();
		    honest.invalidated.clear();
		    r.capsule =
			with_imm(response_imm({(r.slot.value + distance) & 0x7ffff}, 0, true));
		    return {r, honest};
	    });
}

} // namespace

std::vector<Lie> capsule_lies()
{
	std::vector<Lie> all{
	    changed("right", "ok", [](Response &) {}),
	    // What a server without capsules says.
	    changed("not-used", "ok", [](Response &r) { r.capsule.reset(); }),
	    changed("short", "io", [](Response &r) { r.capsule->resize(7); }),
	    changed("one-byte", "io", [](Response &r) { r.capsule->resize(1); }),
	    changed("long", "io", [](Response &r) { r.capsule->resize(9); }),
	    changed("very-long", "io", [](Response &r) { r.capsule->resize(4096); }),
	    changed("other-key", "io", [](Response &r) { r.invalidated = {r.rkey ^ 0xffff00}; }),
	    changed("error", "io",
		    [](Response &r) {
			    r.data.clear();
			    r.capsule = with_imm(response_imm(r.slot, -28, true));
		    }),
	    other_slot("idle-slot", 1),
	    other_slot("slot-beyond", 16),
	    other_slot("slot-far-beyond", 0x40000),
	};
	for (u32 type : {0u, 1u, 3u, 8u, 9u, 10u, 11u, 15u})
		all.push_back(changed("imm-" + std::to_string(type), "io", [type](Response &r) {
			const u32 payload = response_imm(r.slot, 0, true).payload();
			r.capsule =
			    with_imm(Immediate::from_value(type << kImmPayloadBits | payload));
		}));
	Lie secret = changed("not-offered", "io", [](Response &r) {
		r.capsule = with_imm(response_imm(r.slot, 0, true));
	});
	secret.geometry.capsules = false;
	all.push_back(secret);
	return all;
}

} // namespace peer
