// SPDX-License-Identifier: GPL-2.0
// What the file system says of a file below a fake host's root.
#pragma once

#include "fake.hh"

#include <sys/stat.h>

inline struct stat look(const FakeHost &host, const std::string &path)
{
	struct stat status = {};
	EXPECT_EQ(stat(host.place(path).c_str(), &status), 0) << path;
	return status;
}
