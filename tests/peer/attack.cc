// SPDX-License-Identifier: GPL-2.0
#include "attack.hh"

#include <cstring>
#include <unistd.h>

#include <rtrs/wire/private_data.hh>

namespace peer {
namespace {

std::string describe(const ConnectResult &r)
{
	switch (r.kind) {
	case ConnectResult::Kind::Accepted:
		return "the connection was accepted";
	case ConnectResult::Kind::Rejected:
		return "rejected with " + std::to_string(rtrs::parse_reject({r.private_data.data(),
									     r.private_data.size()})
							     .code());
	case ConnectResult::Kind::Failed:
		break;
	}
	return "no answer, CM event " + std::to_string(r.cm_event);
}

std::string describe(const Answer &a)
{
	switch (a.kind) {
	case Answer::Kind::Came:
		return "answered with " + std::to_string(a.error);
	case Answer::Kind::PathClosed:
		return "the path was closed";
	case Answer::Kind::Silence:
		break;
	}
	return "no answer came";
}

} // namespace

std::string expect_reject(const ConnectResult &r, int error)
{
	if (r.kind == ConnectResult::Kind::Rejected &&
	    rtrs::parse_reject({r.private_data.data(), r.private_data.size()}).code() == error)
		return "";
	return "expected a reject with " + std::to_string(error) + ": " + describe(r);
}

std::string expect_accept(const ConnectResult &r)
{
	return r.kind == ConnectResult::Kind::Accepted ? "" : describe(r);
}

std::string expect_closed(Client &c)
{
	return c.closed() ? "" : "the path was not closed";
}

std::string expect_answer(const Answer &a, int error)
{
	if (a == Answer{Answer::Kind::Came, error})
		return "";
	return "expected the answer " + std::to_string(error) + ": " + describe(a);
}

std::string expect_refused(const Answer &a)
{
	if (a.kind == Answer::Kind::PathClosed || (a.kind == Answer::Kind::Came && a.error))
		return "";
	return "expected a refusal: " + describe(a);
}

std::string expect_alive(Client &c)
{
	std::string text = expect_answer(c.session_info(), 0);
	return text.empty() ? "" : "afterwards a correct request failed: " + text;
}

std::string first_of(std::initializer_list<std::string> texts)
{
	for (const std::string &t : texts)
		if (!t.empty())
			return t;
	return "";
}

std::string fresh_name()
{
	static unsigned count;
	return "peer-" + std::to_string(getpid()) + "-" + std::to_string(count++);
}

} // namespace peer
