// SPDX-License-Identifier: GPL-2.0
// The frames of a network card, both ways.
#pragma once

#include <chrono>
#include <cstddef>
#include <span>
#include <vector>

namespace peer {

class Capture {
public:
	// Throws std::system_error.
	explicit Capture(const char *netdev);
	~Capture();
	Capture(const Capture &) = delete;
	Capture &operator=(const Capture &) = delete;

	// The next frame, until the next call; empty if none comes in time.
	std::span<const char> next(std::chrono::milliseconds timeout);
	// Whether that one was sent from here: then it is as it goes over the cable.
	bool outgoing() const { return outgoing_; }
	// How many came while there was no room for them.
	unsigned lost();

private:
	int fd_;
	bool outgoing_ = false;
	std::vector<char> frame_;
};

} // namespace peer
