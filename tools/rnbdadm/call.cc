// SPDX-License-Identifier: GPL-2.0
// One parsed command line at work: its options, and what it writes.
#include "command.hh"
#include "text.hh"

#include <ostream>

#include <fmt/format.h>

namespace rnbdadm {

std::string Call::value(const std::string &option, const std::string &fallback) const
{
	auto found = options.find(option);
	return found == options.end() ? fallback : found->second.back();
}

std::vector<std::string> Call::values(const std::string &option) const
{
	auto found = options.find(option);
	return found == options.end() ? std::vector<std::string>() : found->second;
}

std::int64_t Call::number(const std::string &option, std::int64_t fallback, std::int64_t min,
			  std::int64_t max) const
{
	if (!has(option))
		return fallback;
	Integer number = parse_signed(value(option));
	if (!number || *number < min || *number > max)
		throw Failure(Exit::Usage,
			      fmt::format("--{}: '{}' is no whole number from {} to {}", option,
					  value(option), min, max));
	return *number;
}

int Call::try_write(const std::string &path, const std::string &text)
{
	if (dry_run) {
		out << fmt::format("write '{}' to {}\n", text, path);
		return 0;
	}
	// Else the reason would be taken for the server's.
	if (!host.may_write(path))
		throw Failure(Exit::Denied, fmt::format("no permission to write to {}", path),
			      "run it as root");
	say(fmt::format("writing '{}' to {}", text, path));
	bool told = false;
	if (terminal.err_is_terminal)
		host.on_wait = [&](double seconds) {
			terminal.err << fmt::format("\rwaiting for the kernel: {:.0f} of {:.0f} s ",
						    seconds, timeout)
				     << std::flush;
			told = true;
		};
	int error = host.write(path, text, timeout);
	host.on_wait = nullptr;
	if (told)
		terminal.err << "\r\033[K" << std::flush;
	return error;
}

void Call::write(const std::string &path, const std::string &text, Action action,
		 const std::string &what)
{
	int error = try_write(path, text);
	if (!error)
		return;
	if (error == ETIMEDOUT)
		throw Failure(
		    Exit::TimedOut,
		    fmt::format("{}: not decided within {:.0f} s; the kernel goes on with it", what,
				timeout),
		    "look again with rnbdadm list, or give it more time with --timeout");
	throw Failure(exit_of(error, action), fmt::format("{}: {}", what, words_of(error, action)));
}

bool Call::wait_for(const std::function<bool()> &done)
{
	double end = host.now() + timeout;
	while (!done()) {
		if (host.now() >= end)
			return false;
		host.sleep(0.1);
	}
	return true;
}

void Call::say(const std::string &text) const
{
	if (verbose)
		terminal.err << text << '\n';
}

void Call::report(const Failure &failure) const
{
	terminal.err << "rnbdadm: " << failure.what() << '\n';
	if (!failure.hint().empty())
		terminal.err << "  " << replace_all(failure.hint(), "\n", "\n  ") << '\n';
}

Exit Call::each(std::size_t count, const std::function<void(std::size_t)> &work) const
{
	std::size_t failed = 0;
	Exit last = Exit::Done;
	for (std::size_t i = 0; i < count; i++) {
		try {
			work(i);
		} catch (const Failure &failure) {
			report(failure);
			last = failure.code();
			failed++;
		}
	}
	return failed && count > 1 ? Exit::Partial : last;
}

} // namespace rnbdadm
