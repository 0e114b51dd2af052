// SPDX-License-Identifier: GPL-2.0
// rtrs-flood: a client that has no key of the server's and tries again and again (protocol J.3).
//
//	rtrs-flood --server ADDRESS [--port N] [--how wrong|none|early|long|vanish] [--rate N]
//		   [--count N] [--together N] [--from ADDRESS]...
//
// An attempt offers a proof; if it is challenged, it sends one with a code by a secret of its own
// (wrong), INFO_REQ without a tail (none) or with a longer one (long), or a proof before all
// connections are there (early), and waits for the end of the path; or it goes away (vanish). At
// most --rate attempts a second, so many of them together, --count of them or until SIGTERM, each
// from the next one of this machine's addresses that are given. Prints
// at the end "attempts N refused N challenged N failed N": those begun, those with a REQ that was
// rejected, those that came to INFO_REQ, and those with a REQ that got no answer. Exits with 1 if
// the server does not close a path.
#include "../proof.hh"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <getopt.h>
#include <memory>
#include <random>
#include <vector>

using namespace peer;

namespace {

// SIGTERM, taken between attempts only: in the midst of one it would end a wait for the server, and
// that would count as an attempt without an answer.
class Termination {
public:
	Termination()
	{
		sigemptyset(&set_);
		sigaddset(&set_, SIGTERM);
		sigprocmask(SIG_BLOCK, &set_, nullptr);
	}

	// Whether it came before `then`, or has come already.
	bool before(Clock::time_point then) const
	{
		using std::chrono::duration_cast;
		const auto left = std::max(then - Clock::now(), Clock::duration::zero());
		const auto seconds = duration_cast<std::chrono::seconds>(left);
		const timespec wait{
		    .tv_sec = seconds.count(),
		    .tv_nsec = duration_cast<std::chrono::nanoseconds>(left - seconds).count()};
		return sigtimedwait(&set_, nullptr, &wait) == SIGTERM;
	}

private:
	sigset_t set_;
};

struct Plan {
	Target target;
	std::string how = "wrong";
	unsigned rate = 20;
	unsigned count = 0;
	unsigned together = 1;
	std::vector<std::string> sources;
};

struct Counts {
	unsigned attempts = 0;
	unsigned refused = 0;
	unsigned challenged = 0;
	unsigned failed = 0;
};

Key key_of_nobody()
{
	std::random_device source;
	Key key{.name = "flood", .generation = 1, .secret = Bytes(32)};
	for (auto &b : key.secret)
		b = static_cast<std::byte>(source());
	return key;
}

Bytes information(Client &client, const Plan &plan)
{
	const std::string name = "flood";
	if (plan.how == "none")
		return client.info_message(name);
	Bytes message = proven_info(client, name, plan.target.key, seen_by(client));
	if (plan.how == "long")
		message.resize(message.size() + 1);
	return message;
}

// Counts what is not accepted. The server may refuse an attempt at its second connection, too.
bool accepted(const ConnectResult &r, unsigned cid, Counts &counts)
{
	switch (r.kind) {
	case ConnectResult::Kind::Accepted:
		return true;
	case ConnectResult::Kind::Rejected:
		counts.refused++;
		return false;
	case ConnectResult::Kind::Failed:
		break;
	}
	counts.failed++;
	std::fprintf(stderr, "rtrs-flood: attempt %u, connection %u: %s\n", counts.attempts, cid,
		     r.cm_event < 0 ? "no event"
				    : rdma_event_str(static_cast<rdma_cm_event_type>(r.cm_event)));
	return false;
}

// Whether the server goes on with it.
bool begin(Client &client, const Plan &plan, Counts &counts)
{
	client.offer_proof();
	counts.attempts++;
	if (!accepted(client.connect(0), 0, counts) ||
	    (plan.how != "early" && !accepted(client.connect(1), 1, counts)))
		return false;
	if (!client.challenged())
		throw LocalError("the server wants no proof");
	counts.challenged++;
	return true;
}

// False: the server has not closed it.
bool end(Client &client, const Plan &plan)
{
	if (plan.how == "vanish")
		return true;
	client.send_info(plan.how == "early" ? Bytes(408) : information(client, plan));
	return client.closed();
}

bool attempt(const Plan &plan, Counts &counts)
{
	std::vector<std::unique_ptr<Client>> those;
	for (unsigned i = 0; i < plan.together; i++) {
		Target target = plan.target;
		if (!plan.sources.empty())
			target.source = plan.sources[counts.attempts % plan.sources.size()];
		auto client = std::make_unique<Client>(target, 2);
		if (begin(*client, plan, counts))
			those.push_back(std::move(client));
	}
	bool kept_out = true;
	for (auto &client : those)
		kept_out = end(*client, plan) && kept_out;
	return kept_out;
}

int flood(const Plan &plan, const Termination &termination)
{
	Counts counts;
	const auto pause = milliseconds(1000) * plan.together / plan.rate;
	bool kept_out = true;
	for (auto next = Clock::now(); kept_out && !termination.before(next); next += pause) {
		if (plan.count && counts.attempts >= plan.count)
			break;
		// What it could not keep up with is not made up for.
		next = std::max(next, Clock::now() - pause);
		kept_out = attempt(plan, counts);
	}
	std::printf("attempts %u refused %u challenged %u failed %u\n", counts.attempts,
		    counts.refused, counts.challenged, counts.failed);
	if (!kept_out)
		std::fprintf(stderr,
			     "rtrs-flood: the server has not closed a path that proved nothing\n");
	return kept_out ? 0 : 1;
}

bool parse(int argc, char **argv, Plan &plan)
{
	const option options[] = {{"server", required_argument, nullptr, 's'},
				  {"port", required_argument, nullptr, 'p'},
				  {"how", required_argument, nullptr, 'h'},
				  {"rate", required_argument, nullptr, 'r'},
				  {"count", required_argument, nullptr, 'c'},
				  {"together", required_argument, nullptr, 't'},
				  {"from", required_argument, nullptr, 'f'},
				  {}};
	for (int o; (o = getopt_long(argc, argv, "", options, nullptr)) != -1;) {
		if (o == 's')
			plan.target.server = optarg;
		else if (o == 'p')
			plan.target.port = static_cast<uint16_t>(std::stoi(optarg));
		else if (o == 'h')
			plan.how = optarg;
		else if (o == 'r')
			plan.rate = static_cast<unsigned>(std::stoul(optarg));
		else if (o == 'c')
			plan.count = static_cast<unsigned>(std::stoul(optarg));
		else if (o == 't')
			plan.together = static_cast<unsigned>(std::stoul(optarg));
		else if (o == 'f')
			plan.sources.push_back(optarg);
		else
			return false;
	}
	const bool known = plan.how == "wrong" || plan.how == "none" || plan.how == "early" ||
			   plan.how == "long" || plan.how == "vanish";
	return known && plan.rate && plan.together && !plan.target.server.empty();
}

} // namespace

int main(int argc, char **argv)
{
	const Termination termination;
	try {
		Plan plan;
		plan.target.key = key_of_nobody();
		if (!parse(argc, argv, plan))
			return 2;
		return flood(plan, termination);
	} catch (const std::exception &e) {
		std::fprintf(stderr, "rtrs-flood: %s\n", e.what());
		return 2;
	}
}
