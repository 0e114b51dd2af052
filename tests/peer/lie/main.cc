// SPDX-License-Identifier: GPL-2.0
// rtrs-lie: an RTRS/RNBD server in user space that tells lies, each on a port of its own.
//
//	rtrs-lie --list			name, port, outcome and row of each lie
//	rtrs-lie [--port FIRST] [--key NAME:GENERATION:SECRET] [--stain]
//					serves until SIGTERM; with a key also those about proofs
//
// Prints "ready" when it listens, and "not ok NAME # TEXT" when a client did what it must not do;
// then it exits with 1. With --stain that is also to send what rtrs-stain has filled its memory
// with. rtrs-visit is the client's side of it.
#include "../stain.hh"
#include "server.hh"

#include <csignal>
#include <cstdio>
#include <exception>
#include <getopt.h>

using namespace peer;

namespace {

volatile bool stop = false;

} // namespace

int main(int argc, char **argv)
{
	uint16_t port = kFirstLiePort;
	bool list = false;
	const option options[] = {{"port", required_argument, nullptr, 'p'},
				  {"list", no_argument, nullptr, 'l'},
				  {"key", required_argument, nullptr, 'k'},
				  {"stain", no_argument, nullptr, 't'},
				  {}};
	Key key;
	for (int o; (o = getopt_long(argc, argv, "", options, nullptr)) != -1;) {
		if (o == 'p')
			port = static_cast<uint16_t>(std::stoi(optarg));
		else if (o == 'l')
			list = true;
		else if (o == 'k')
			key = parse_key(optarg);
		else if (o == 't')
			stain::watch();
		else
			return 2;
	}
	if (list)
		key.name = "NAME";
	const std::vector<Lie> lies = all_lies(key);
	if (list) {
		for (const Lie &l : lies)
			std::printf("%s\t%u\t%s\t%s\n", l.name.c_str(), port++, l.outcome.c_str(),
				    l.row.c_str());
		return 0;
	}
	try {
		std::signal(SIGTERM, [](int) { stop = true; });
		Server server(lies, port);
		std::puts("ready");
		std::fflush(stdout);
		server.run(&stop);
	} catch (const std::exception &e) {
		std::fprintf(stderr, "rtrs-lie: %s\n", e.what());
		return 2;
	}
	return complained() ? 1 : 0;
}
