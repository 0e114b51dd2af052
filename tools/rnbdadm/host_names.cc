// SPDX-License-Identifier: GPL-2.0
// Addresses of machines by name, as this machine's resolver has them.
#include "host.hh"

#include <algorithm>
#include <memory>

#include <netdb.h>

namespace rnbdadm {

namespace {

// False if nobody answers: then it is no use to ask for the other family, which takes seconds more.
bool add_addresses(const std::string &name, int family, Resolved &resolved)
{
	struct addrinfo hints = {}, *list = nullptr;
	hints.ai_family = family;
	hints.ai_socktype = SOCK_STREAM;
	const int error = getaddrinfo(name.c_str(), nullptr, &hints, &list);
	if (error) {
		if (resolved.error.empty())
			resolved.error = gai_strerror(error);
		return error != EAI_AGAIN;
	}
	const std::unique_ptr<struct addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
	for (const struct addrinfo *a = list; a; a = a->ai_next) {
		char text[NI_MAXHOST];
		if (getnameinfo(a->ai_addr, a->ai_addrlen, text, sizeof(text), nullptr, 0,
				NI_NUMERICHOST))
			continue;
		if (std::find(resolved.addresses.begin(), resolved.addresses.end(), text) ==
		    resolved.addresses.end())
			resolved.addresses.emplace_back(text);
	}
	return true;
}

} // namespace

// The best first, as the resolver sorts them. Of a name with several lines in /etc/hosts it gives
// only the first when it is asked for both families.
Resolved Host::resolve(const std::string &name) const
{
	Resolved resolved;
	for (int family : {AF_UNSPEC, AF_INET, AF_INET6})
		if (!add_addresses(name, family, resolved))
			break;
	return resolved;
}

} // namespace rnbdadm
