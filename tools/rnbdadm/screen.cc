// SPDX-License-Identifier: GPL-2.0
// A full screen on a terminal.
#include "screen.hh"

#include <algorithm>
#include <clocale>
#include <csignal>
#include <cstdio>

#define NCURSES_NOMACROS 1
#include <curses.h>

namespace rnbdadm {

namespace {

// A signal ends the loop, so that the terminal is put in order on every way out.
volatile std::sig_atomic_t ended = 0;

void end(int)
{
	ended = 1;
}

enum Colour : short { kGood = 1, kPoor, kBad };

short colour_of(const std::string &state)
{
	if (state == "open" || state == "connected")
		return kGood;
	return state == "init" ? kPoor : kBad;
}

void put_line(int row, const ScreenLine &line)
{
	bool coloured = !line.state.empty() && line.text.ends_with(line.state) && has_colors();
	move(row, 0);
	if (line.heading)
		attron(A_BOLD);
	addnstr(line.text.c_str(), static_cast<int>(line.text.size()));
	attroff(A_BOLD);
	clrtoeol();
	if (!coloured)
		return;
	int width = static_cast<int>(line.state.size());
	// Of text in the terminal's encoding as many columns as bytes: states are ASCII, and the
	// cursor stands behind the last of them unless the line was cut.
	if (getcury(stdscr) == row && getcurx(stdscr) >= width)
		mvchgat(row, getcurx(stdscr) - width, width, A_NORMAL, colour_of(line.state),
			nullptr);
}

} // namespace

std::unique_ptr<Screen> Screen::open()
{
	std::setlocale(LC_CTYPE, "");
	struct sigaction action = {};
	action.sa_handler = end;
	for (int signal : {SIGINT, SIGTERM, SIGHUP})
		sigaction(signal, &action, nullptr);
	SCREEN *screen = newterm(nullptr, stdout, stdin);
	if (!screen)
		return nullptr;
	// Without these there is no way to write over what is there.
	if (!tigetstr("cup") || tigetstr("cup") == reinterpret_cast<char *>(-1)) {
		endwin();
		delscreen(screen);
		return nullptr;
	}
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	scrollok(stdscr, FALSE);
	curs_set(0);
	if (has_colors()) {
		start_color();
		use_default_colors();
		init_pair(kGood, COLOR_GREEN, -1);
		init_pair(kPoor, COLOR_YELLOW, -1);
		init_pair(kBad, COLOR_RED, -1);
	}
	return std::unique_ptr<Screen>(new Screen(screen));
}

Screen::~Screen()
{
	endwin();
	delscreen(static_cast<SCREEN *>(screen_));
}

void Screen::draw(const std::vector<ScreenLine> &fixed, const std::vector<ScreenLine> &lines)
{
	int rows = getmaxy(stdscr), row = 0;
	size_ = lines.size();
	offset_ = std::min(offset_, size_ ? size_ - 1 : 0);
	erase();
	for (const ScreenLine &line : fixed)
		if (row < rows)
			put_line(row++, line);
	for (std::size_t i = offset_; i < lines.size() && row < rows; i++)
		put_line(row++, lines[i]);
	refresh();
}

Screen::Answer Screen::wait(double seconds)
{
	wtimeout(stdscr, static_cast<int>(std::max(seconds, 0.0) * 1000));
	int key = getch();
	if (ended)
		return Answer::Quit;
	std::size_t page = static_cast<std::size_t>(std::max(getmaxy(stdscr) - 4, 1));
	auto up = [&](std::size_t n) {
		offset_ -= std::min(offset_, n);
		return Answer::Draw;
	};
	auto down = [&](std::size_t n) {
		offset_ = std::min(offset_ + n, size_ ? size_ - 1 : 0);
		return Answer::Draw;
	};
	switch (key) {
	case 'q':
	case 'Q':
	case 27: // escape
		return Answer::Quit;
	case KEY_UP:
		return up(1);
	case KEY_DOWN:
		return down(1);
	case KEY_PPAGE:
		return up(page);
	case KEY_NPAGE:
		return down(page);
	case 'L' & 0x1f: // somebody else has written over it
		clearok(curscr, TRUE);
		return Answer::Draw;
	case KEY_RESIZE:
		return Answer::Draw;
	default:
		return Answer::Later;
	}
}

} // namespace rnbdadm
