// SPDX-License-Identifier: GPL-2.0
// The administration tool of RNBD.
#include "command.hh"

#include <csignal>
#include <cstdlib>
#include <iostream>

#include <sys/ioctl.h>
#include <unistd.h>

namespace {

std::size_t terminal_columns()
{
	struct winsize size = {};
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 ? 0 : size.ws_col;
}

} // namespace

int main(int argc, char **argv)
{
	// A reader that went away ends the output with an error, not the program by a signal.
	signal(SIGPIPE, SIG_IGN);
	rnbdadm::Host host;
	rnbdadm::Terminal terminal{std::cout,
				   std::cerr,
				   isatty(STDOUT_FILENO) == 1,
				   isatty(STDERR_FILENO) == 1,
				   !getenv("NO_COLOR"),
				   terminal_columns()};
	return rnbdadm::run({argv + 1, argv + argc}, host, terminal);
}
