// SPDX-License-Identifier: GPL-2.0
// Precompiled: headers of libraries that nearly every file uses. Each file includes what it needs
// by itself, too; hence the guard of the old kind.
#ifndef TOOLS_RNBDADM_PREFIX_HH
#define TOOLS_RNBDADM_PREFIX_HH

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
