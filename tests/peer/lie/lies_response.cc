// SPDX-License-Identifier: GPL-2.0
// Lies in the answers to reads and writes: immediates, invalidation, data (protocol A.6, A.8).
#include "../client.hh"
#include "path.hh"

#include <memory>

namespace peer {

using namespace rtrs;

namespace {

using Responses = std::vector<Response>;
using Responder = std::function<Responses(Path &, const Request &, Response)>;

Lie about(Kind kind, std::string name, std::string row, std::string outcome, Responder respond)
{
	Lie l{.name = std::move(name), .row = std::move(row), .outcome = std::move(outcome)};
	l.about = kind;
	l.respond = std::move(respond);
	return l;
}

// An immediate and nothing else.
Response bare(uint16_t con, uint32_t imm)
{
	Response r{.con = con, .slot = {0}, .data = {}};
	r.imm = imm;
	return r;
}

uint32_t response_to(uint32_t slot, uint32_t error = 0, ImmType type = ImmType::IoResponse)
{
	return Immediate(type, error << kResponseIdBits | slot).value();
}

Lie unknown_type(uint32_t type)
{
	return about(Kind::Write, "imm-type-" + std::to_string(type), "A.6 unknown type", "ok",
		     [type](Path &, const Request &q, const Response &honest) -> Responses {
			     const uint32_t imm = type << kImmPayloadBits | q.slot.value;
			     return {bare(q.con, imm), bare(0, imm), honest};
		     });
}

// A stray response comes first, the right one behind it.
Lie stray(std::string name, std::string row, std::function<Response(const Request &)> make)
{
	return about(Kind::Write, std::move(name), std::move(row), "ok",
		     [make](Path &, const Request &q, const Response &honest) -> Responses {
			     return {make(q), honest};
		     });
}

Lie error_answer(Kind kind, uint32_t code)
{
	const std::string what = kind == Kind::Read ? "read" : "write";
	return about(kind, what + "-errno-" + std::to_string(code), "A.6 errno", "io",
		     [code](Path &, const Request &, Response r) -> Responses {
			     r.data.clear();
			     r.imm = (r.imm & ~((1u << kImmPayloadBits) - 1)) |
				     code << kResponseIdBits | r.slot.value;
			     return {r};
		     });
}

void expect_refused(Path &path, Connection &writer)
{
	writer.poll_closed();
	if (const ibv_wc_status s = writer.failure(); s != IBV_WC_REM_ACCESS_ERR)
		path.complain(std::string("a write into memory that must be closed ended with: ") +
			      ibv_wc_status_str(s));
}

// The same for a request that had no answer: when its path is gone, the connection of another
// session must find nothing open: it has a protection domain of its own.
Lie write_over_other_session()
{
	return about(Kind::Read, "late-write-over-other-session", "B.1.3, design.md tear-down",
		     "io accomplice", [](Path &path, const Request &q, const Response &) {
			     const RemoteBuffer where = q.answer();
			     const auto writer = std::make_shared<Path *>();
			     path.later(milliseconds(1500), [&path, where, writer] {
				     *writer = path.accomplice();
				     if (*writer)
					     (*writer)->con(1).post_write(
						 Bytes(where.size.value, std::byte{0xee}),
						 where.address.value, where.rkey.value, {});
				     else
					     path.complain("there is no other session");
			     });
			     // Its client may have connected anew by then.
			     path.later(milliseconds(2500), [&path, writer] {
				     if (*writer && path.is_there(*writer))
					     expect_refused(path, (*writer)->con(1));
			     });
			     path.disconnect();
			     return Responses{};
		     });
}

// Whatever is asked for, all slots are answered on both connections, many of them too early.
Responses answer_all(Path &path, const Request &, const Response &honest)
{
	path.answered_early();
	Responses all;
	for (uint32_t slot = 0; slot < kGeometry.queue_depth.value; slot++)
		for (uint16_t con : {1, 0})
			all.push_back(bare(con, response_to(slot)));
	all.push_back(honest);
	return all;
}

// The right to write ends with the answer: a write that comes later must be refused by the
// client's device. `honest` says how the answer is given.
Lie late_write(std::string name, std::string row, std::function<void(Response &)> change)
{
	return about(Kind::Read, std::move(name), std::move(row), "ok wait",
		     [change](Path &path, const Request &q, Response r) -> Responses {
			     change(r);
			     const RemoteBuffer where = q.answer();
			     const uint16_t cid = q.con;
			     path.later(milliseconds(500), [&path, cid, where] {
				     path.con(cid).post_write(
					 Bytes(where.size.value, std::byte{0xee}),
					 where.address.value, where.rkey.value, {});
			     });
			     path.later(milliseconds(1500),
					[&path, cid] { expect_refused(path, path.con(cid)); });
			     return {r};
		     });
}

} // namespace

std::vector<Lie> response_lies()
{
	const u32 depth = kGeometry.queue_depth.value;
	std::vector<Lie> all{
	    stray("slot-beyond-depth", "A.6 id",
		  [depth](const Request &q) { return bare(q.con, response_to(depth)); }),
	    stray("slot-largest", "A.6 id",
		  [](const Request &q) {
			  return bare(q.con, response_to((1u << kResponseIdBits) - 1));
		  }),
	    stray("slot-idle", "A.6 id",
		  [depth](const Request &q) {
			  return bare(q.con, response_to((q.slot.value + 1) % depth));
		  }),
	    stray("slot-of-other-connection", "A.6 id",
		  [](const Request &q) { return bare(q.con ? 0 : 1, response_to(q.slot.value)); }),
	    about(
		Kind::Write, "write-answered-twice", "A.6", "ok slowly",
		[](Path &, const Request &, const Response &r) -> Responses { return {r, r, r}; }),
	    about(Kind::Read, "read-answered-twice", "A.6", "ok",
		  [](Path &, const Request &q, const Response &r) -> Responses {
			  return {r, bare(q.con, r.imm), bare(q.con, response_to(q.slot.value))};
		  }),
	    // Two answers that differ: the first counts.
	    about(Kind::Write, "answers-differ", "A.6", "ok slowly",
		  [](Path &, const Request &q, const Response &r) -> Responses {
			  return {r, bare(q.con, response_to(q.slot.value, 5))};
		  }),
	    about(Kind::Read, "read-without-data", "A.8", "any",
		  [](Path &, const Request &, Response r) -> Responses {
			  r.data.clear();
			  return {r};
		  }),
	    about(Kind::Read, "read-half", "A.8", "any",
		  [](Path &, const Request &, Response r) -> Responses {
			  r.data.resize(r.data.size() / 2);
			  return {r};
		  }),
	    about(Kind::Read, "read-too-much", "A.5 descriptor", "io",
		  [](Path &, const Request &, Response r) -> Responses {
			  r.data.resize(r.data.size() + 4096);
			  return {r};
		  }),
	    about(Kind::Read, "read-elsewhere", "A.5 descriptor", "io",
		  [](Path &, const Request &, Response r) -> Responses {
			  r.address -= 4096;
			  return {r};
		  }),
	    about(Kind::Read, "read-other-key", "A.5 descriptor", "io",
		  [](Path &, const Request &, Response r) -> Responses {
			  r.rkey ^= 0xffff00;
			  return {r};
		  }),
	    // Data that is written behind the answer meets memory that is closed.
	    about(Kind::Read, "data-behind-answer", "G.1-61", "any",
		  [](Path &, const Request &, Response r) -> Responses {
			  Response late = r;
			  late.final = false;
			  late.invalidated.clear();
			  r.data.clear();
			  return {r, late};
		  }),
	    about(Kind::Read, "inval-promised-not-done", "A.8", "ok",
		  [](Path &, const Request &, Response r) -> Responses {
			  r.invalidated.clear();
			  return {r};
		  }),
	    about(Kind::Read, "inval-done-not-promised", "A.8", "ok",
		  [](Path &, const Request &, Response r) -> Responses {
			  r.set(0, false);
			  return {r};
		  }),
	    about(Kind::Read, "inval-neither", "A.8, I-4", "ok",
		  [](Path &, const Request &, Response r) -> Responses {
			  r.invalidated.clear();
			  r.set(0, false);
			  return {r};
		  }),
	    about(Kind::Read, "inval-twice", "A.8", "ok",
		  [](Path &, const Request &, Response r) -> Responses {
			  r.invalidated.push_back(r.invalidated.front());
			  return {r};
		  }),
	    about(Kind::Read, "inval-other-key", "A.8", "io",
		  [](Path &, const Request &, Response r) -> Responses {
			  r.invalidated = {r.rkey ^ 0xffff00};
			  return {r};
		  }),
	    about(Kind::Write, "inval-for-write", "A.8", "io",
		  [](Path &, const Request &, Response r) -> Responses {
			  r.invalidated = {0x12345678};
			  return {r};
		  }),
	    // A promise about a request that has no key.
	    about(Kind::Write, "promise-for-write", "A.8", "ok",
		  [](Path &, const Request &, Response r) -> Responses {
			  r.set(0, true);
			  return {r};
		  }),
	    // The invalidation comes over the other connection, the promise over the right one.
	    about(Kind::Read, "inval-on-other-connection", "A.8", "ok",
		  [](Path &, const Request &q, Response r) -> Responses {
			  Response other = r;
			  other.con = q.con ? 0 : 1;
			  other.data.clear();
			  other.final = false;
			  r.invalidated.clear();
			  // Behind the data: it must still be open for it.
			  Response data = r;
			  data.final = false;
			  r.data.clear();
			  return {data, other, r};
		  }),
	    about(Kind::Read, "answers-for-all-reads", "A.6, G.1-61", "any busy", answer_all),
	    about(Kind::Write, "answers-for-all-writes", "A.6", "any busy", answer_all),
	    write_over_other_session(),
	    late_write("late-write-inval", "A.8", [](Response &) {}),
	    late_write("late-write-promised", "A.8", [](Response &r) { r.invalidated.clear(); }),
	    late_write("late-write-plain", "I-4",
		       [](Response &r) {
			       r.invalidated.clear();
			       r.set(0, false);
		       }),
	};
	for (uint32_t type : {0, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15})
		all.push_back(unknown_type(type));
	for (uint32_t code : {1, 11, 28, 133, 511})
		all.push_back(error_answer(Kind::Write, code));
	for (uint32_t code : {1, 11, 28, 133, 511})
		all.push_back(error_answer(Kind::Read, code));
	return all;
}

} // namespace peer
