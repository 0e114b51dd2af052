// SPDX-License-Identifier: GPL-2.0
// A full screen on a terminal, by ncurses, and what its keys mean.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace rnbdadm {

struct ScreenLine {
	std::string text;
	std::string state; // the word at its end that is coloured, as in tables; may be empty
	bool heading = false;
};

class Screen {
public:
	// Null if this terminal has none: it is dumb, or nobody knows it.
	static std::unique_ptr<Screen> open();
	Screen(const Screen &) = delete;
	Screen &operator=(const Screen &) = delete;
	// The terminal is as it was.
	~Screen();

	// The first lines stay, the others move up by as many as keys have asked for.
	void draw(const std::vector<ScreenLine> &fixed, const std::vector<ScreenLine> &lines);

	enum class Answer { Later, Draw, Quit };
	// Waits at most so long for a key. Draw: the same again, such as after a key that scrolls
	// or a change of the terminal's size.
	Answer wait(double seconds);

private:
	explicit Screen(void *screen) : screen_(screen) {}

	void *screen_;
	std::size_t offset_ = 0, size_ = 0;
};

} // namespace rnbdadm
