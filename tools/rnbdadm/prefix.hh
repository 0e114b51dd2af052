// SPDX-License-Identifier: GPL-2.0
// Precompiled: headers of libraries that nearly every file uses. Each file includes what it needs
// by itself, too; hence the guard of the old kind.
#ifndef TOOLS_RNBDADM_PREFIX_HH
#define TOOLS_RNBDADM_PREFIX_HH

#if !__has_include(<fmt/format.h>) || !__has_include(<nlohmann/json.hpp>) || \
    !__has_include(<libudev.h>) || !__has_include(<libkmod.h>) || \
    !__has_include(<curses.h>) || !__has_include(<prometheus/text_serializer.h>) || \
    !__has_include(<keyutils.h>) || !__has_include(<openssl/evp.h>) || \
    !__has_include(<netlink/route/neighbour.h>) || !__has_include(<libsmartcols/libsmartcols.h>)
#error "apt install build-essential libfmt-dev nlohmann-json3-dev libudev-dev libkmod-dev \
libncurses-dev prometheus-cpp-dev libkeyutils-dev libssl-dev libnl-route-3-dev \
libsmartcols-dev"
#endif

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#endif
