// SPDX-License-Identifier: GPL-2.0
// rtrs-replay: sessions of valid exchanges with mutations, against an RTRS/RNBD server. What the
// server says to them does not matter here; that it lives and serves others is looked at elsewhere.
//
//	rtrs-replay --server ADDRESS [--port N] --device PATH [--seed N] [--seconds N]
//		    [--from ROUND] [--rounds N] [--stain]
//
// With --stain it fails if memory that rtrs-stain filled there came back. The device is written to.
// Round N of a seed says the same each time, but for its UUIDs.
#include "exchange.hh"

#include "../stain.hh"

#include <cstdio>
#include <exception>
#include <getopt.h>

using namespace peer;

namespace {

int usage()
{
	std::fprintf(stderr, "usage: rtrs-replay --server ADDRESS [--port N] --device PATH "
			     "[--seed N] [--seconds N] [--from ROUND] [--rounds N] [--stain]\n");
	return 2;
}

} // namespace

int main(int argc, char **argv)
{
	Target target;
	uint64_t seed = 1;
	uint64_t from = 0;
	uint64_t rounds = ~uint64_t{0};
	long seconds = 30;
	const option options[] = {{"server", required_argument, nullptr, 's'},
				  {"port", required_argument, nullptr, 'p'},
				  {"device", required_argument, nullptr, 'd'},
				  {"seed", required_argument, nullptr, 'e'},
				  {"seconds", required_argument, nullptr, 't'},
				  {"from", required_argument, nullptr, 'f'},
				  {"rounds", required_argument, nullptr, 'r'},
				  {"stain", no_argument, nullptr, 'i'},
				  {}};
	for (int o; (o = getopt_long(argc, argv, "", options, nullptr)) != -1;) {
		if (o == 's')
			target.server = optarg;
		else if (o == 'p')
			target.port = static_cast<uint16_t>(std::stoi(optarg));
		else if (o == 'd')
			target.device = optarg;
		else if (o == 'e')
			seed = std::stoull(optarg);
		else if (o == 't')
			seconds = std::stol(optarg);
		else if (o == 'f')
			from = std::stoull(optarg);
		else if (o == 'r')
			rounds = std::stoull(optarg);
		else if (o == 'i')
			stain::watch();
		else
			return usage();
	}
	if (target.server.empty() || target.device.empty())
		return usage();

	std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
	const auto end = Clock::now() + std::chrono::seconds(seconds);
	Tally tally;
	bool given_away = false;
	uint64_t round = from;
	for (; Clock::now() < end && round - from < rounds; round++) {
		Mutator m(seed, round);
		try {
			play(target, m, "replay", tally);
		} catch (const LocalError &e) {
			// The server may refuse what was mutated in a way that ends a step.
			std::printf("round %llu: %s\n", static_cast<unsigned long long>(round),
				    e.what());
		}
		if (stain::take_found()) {
			std::printf("round %llu: memory of the server came back\n",
				    static_cast<unsigned long long>(round));
			given_away = true;
		}
		std::fflush(stdout);
	}
	std::printf("rounds %llu to %llu: %u messages, %u of them mutated, %u answers\n",
		    static_cast<unsigned long long>(from), static_cast<unsigned long long>(round),
		    tally.sent, tally.mutated, tally.answered);
	return given_away ? 1 : 0;
}
