// SPDX-License-Identifier: GPL-2.0
// rtrs-attack: runs attacks against an RTRS/RNBD server and reports each as a KTAP line.
//
//	rtrs-attack --server ADDRESS [--port N] --device PATH [--key NAME:GENERATION:SECRET]
//		    [--list] [--stain] [NAME...]
//
// With --stain an attack has also worked if memory that rtrs-stain filled there came back.
#include "attack.hh"
#include "proof.hh"
#include "stain.hh"

#include <cstdio>
#include <exception>
#include <getopt.h>
#include <set>

using namespace peer;

namespace {

const char *const kGivenAway = "memory of the server came back that was not asked for";

int usage()
{
	std::fprintf(stderr, "usage: rtrs-attack --server ADDRESS [--port N] --device PATH "
			     "[--key NAME:GENERATION:SECRET] [--list] [--stain] [NAME...]\n");
	return 2;
}

} // namespace

int main(int argc, char **argv)
{
	Target target;
	bool list = false;
	const option options[] = {{"server", required_argument, nullptr, 's'},
				  {"port", required_argument, nullptr, 'p'},
				  {"device", required_argument, nullptr, 'd'},
				  {"list", no_argument, nullptr, 'l'},
				  {"stain", no_argument, nullptr, 't'},
				  {"key", required_argument, nullptr, 'k'},
				  {}};
	for (int o; (o = getopt_long(argc, argv, "", options, nullptr)) != -1;) {
		if (o == 's')
			target.server = optarg;
		else if (o == 'p')
			target.port = static_cast<uint16_t>(std::stoi(optarg));
		else if (o == 'd')
			target.device = optarg;
		else if (o == 'k')
			target.key = parse_key(optarg);
		else if (o == 'l')
			list = true;
		else if (o == 't')
			stain::watch();
		else
			return usage();
	}

	std::vector<Attack> all;
	for (auto *part : {handshake_attacks, info_attacks, request_attacks, fence_attacks,
			   capsule_attacks, rnbd_attacks})
		for (Attack &a : part())
			all.push_back(std::move(a));
	if (list || !target.key.name.empty())
		for (Attack &a : proof_attacks())
			all.push_back(std::move(a));
	std::set<std::string> wanted(argv + optind, argv + argc);
	if (!wanted.empty())
		std::erase_if(all, [&](const Attack &a) { return !wanted.contains(a.name); });
	if (list) {
		for (const Attack &a : all)
			std::printf("%-28s %s\n", a.name.c_str(), a.row.c_str());
		return 0;
	}
	if (target.server.empty() || target.device.empty() || all.empty())
		return usage();

	std::printf("KTAP version 1\n1..%zu\n", all.size());
	unsigned failed = 0;
	unsigned number = 0;
	for (const Attack &a : all) {
		std::string text;
		try {
			text = a.run(target);
		} catch (const std::exception &e) {
			text = e.what();
		}
		if (stain::take_found())
			text += text.empty() ? kGivenAway : std::string("; ") + kGivenAway;
		failed += !text.empty();
		std::printf("%s %u %s%s%s\n", text.empty() ? "ok" : "not ok", ++number,
			    a.name.c_str(), text.empty() ? "" : " # ", text.c_str());
		std::fflush(stdout);
	}
	return failed ? 1 : 0;
}
