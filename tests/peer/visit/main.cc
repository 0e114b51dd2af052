// SPDX-License-Identifier: GPL-2.0
// rtrs-visit: maps a disk of each lie of an rtrs-lie with the kernel's client, uses it, and reports
// as a KTAP line whether all ended as the lie's outcome says and an honest session works after it.
//
//	rtrs-visit --client ADDRESS --server ADDRESS
//		   [--port FIRST] [--slow] [--key NAME] [--after COMMAND]
//		   [--limit SECONDS] [NAME...]
//
// With a key, whose name and secret both sides have, those about proofs are visited, and no others.
// A command that is given has to work behind each lie.
// --slow visits those that a client notices by a timeout, side by side; else the others are
// visited, one after the other. One that takes longer than the limit ends the program by SIGALRM.
#include "visit.hh"

#include <cstdio>
#include <exception>
#include <functional>
#include <future>
#include <getopt.h>
#include <set>
#include <unistd.h>

using namespace peer;

namespace {

int usage()
{
	std::fprintf(stderr, "usage: rtrs-visit --client ADDRESS --server ADDRESS [--port FIRST] "
			     "[--slow] [--key NAME] [--after COMMAND] [--limit SECONDS] "
			     "[NAME...]\n");
	return 2;
}

std::string visit_safely(const Tour &tour, const Told &told)
{
	try {
		return visit(tour, told);
	} catch (const std::exception &e) {
		return e.what();
	}
}

} // namespace

int main(int argc, char **argv)
{
	Tour tour;
	Addresses &addresses = tour.addresses;
	Key key;
	uint16_t port = kFirstLiePort;
	bool slow = false;
	unsigned int limit = 0;
	const option options[] = {{"client", required_argument, nullptr, 'c'},
				  {"server", required_argument, nullptr, 's'},
				  {"port", required_argument, nullptr, 'p'},
				  {"slow", no_argument, nullptr, 'l'},
				  {"key", required_argument, nullptr, 'k'},
				  {"after", required_argument, nullptr, 'a'},
				  {"limit", required_argument, nullptr, 't'},
				  {}};
	for (int o; (o = getopt_long(argc, argv, "", options, nullptr)) != -1;) {
		if (o == 'c')
			addresses.client = optarg;
		else if (o == 's')
			addresses.server = optarg;
		else if (o == 'p')
			port = static_cast<uint16_t>(std::stoi(optarg));
		else if (o == 'l')
			slow = true;
		else if (o == 'k')
			key.name = optarg;
		else if (o == 'a')
			tour.after = optarg;
		else if (o == 't')
			limit = static_cast<unsigned int>(std::stoul(optarg));
		else
			return usage();
	}
	if (addresses.client.empty() || addresses.server.empty())
		return usage();

	const std::set<std::string> wanted(argv + optind, argv + argc);
	std::vector<Told> all;
	for (Lie &l : all_lies(key)) {
		const Told told{std::move(l), port++};
		if (told.lie.auth.empty() != key.name.empty())
			continue;
		// The first one is none.
		if (!tour.honest.port)
			tour.honest = told;
		if (wanted.empty() ? is_slow(told.lie) == slow : wanted.contains(told.lie.name))
			all.push_back(told);
	}
	std::printf("KTAP version 1\n1..%zu\n", all.size());
	std::vector<std::future<std::string>> results;
	for (const Told &t : all)
		results.push_back(std::async(slow ? std::launch::async : std::launch::deferred,
					     visit_safely, tour, t));
	unsigned failed = 0;
	for (size_t i = 0; i < all.size(); i++) {
		alarm(limit);
		const std::string text = results[i].get();
		failed += !text.empty();
		std::printf("%s %zu %s%s%s\n", text.empty() ? "ok" : "not ok", i + 1,
			    all[i].lie.name.c_str(), text.empty() ? "" : " # ", text.c_str());
		std::fflush(stdout);
	}
	return failed ? 1 : 0;
}
