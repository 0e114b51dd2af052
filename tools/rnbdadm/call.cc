// SPDX-License-Identifier: GPL-2.0
// One parsed command line at work: its options, and what it writes.
#include "command.hh"
#include "names.hh"
#include "text.hh"
#include "way.hh"

#include <algorithm>
#include <cerrno>
#include <ostream>

#include <fmt/format.h>

namespace rnbdadm {

int Call::try_write(const std::string &path, const std::string &text)
{
	return try_write_all({{path, text}})[0];
}

std::vector<int> Call::try_write_all(const std::vector<Host::Order> &orders)
{
	for (const Host::Order &order : orders) {
		if (dry_run)
			out << printable(fmt::format("write '{}' to {}\n", order.text, order.path));
		// Else the reason would be taken for the server's.
		else if (!host.may_write(order.path))
			throw Failure(Exit::Denied,
				      fmt::format("no permission to write to {}", order.path),
				      "run it as root");
	}
	if (dry_run)
		return std::vector<int>(orders.size(), 0);
	for (const Host::Order &order : orders)
		say(fmt::format("writing '{}' to {}", order.text, order.path));
	bool told = false;
	if (terminal.err_is_terminal)
		host.on_wait = [&](double seconds, std::size_t left) {
			std::string many = orders.size() > 1
					       ? fmt::format(", {} of {} decided",
							     orders.size() - left, orders.size())
					       : "";
			terminal.err
			    << fmt::format("\rwaiting for the kernel: {:.0f} of {:.0f} s{} ",
					   seconds, timeout, many)
			    << std::flush;
			told = true;
		};
	std::vector<int> answers = host.write_all(orders, timeout);
	host.on_wait = nullptr;
	if (told)
		terminal.err << "\r\033[K" << std::flush;
	return answers;
}

namespace {

// Errors that mean that a server was not reached, or may mean it.
bool may_be_the_way(int answer)
{
	switch (answer) {
	case Host::kCancelled:
	case Host::kGoesOn:
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case ENETUNREACH:
	case EADDRNOTAVAIL:
	case ENODEV:
	case ENOTCONN:
	case ECONNRESET:
		return true;
	default:
		return false;
	}
}

Failure with_hint(const Failure &failure, const std::string &hint)
{
	if (hint.empty())
		return failure;
	return {failure.code(), failure.what(),
		hint + (failure.hint().empty() ? "" : "\n" + failure.hint())};
}

} // namespace

Failure Call::failure_of(int answer, Action action, const std::string &what,
			 const std::vector<std::string> &paths) const
{
	if (!paths.empty())
		return with_hint(failure_of(answer, action, what),
				 may_be_the_way(answer) ? wrong_ways(host, paths) : "");
	if (answer == Host::kCancelled)
		return {
		    Exit::TimedOut,
		    fmt::format("{}: not decided within {:.0f} s, and given up", what, timeout),
		    "give it more time with --timeout; see what is left with rnbdadm list tree"};
	if (answer == Host::kGoesOn)
		return {Exit::TimedOut,
			fmt::format("{}: not decided within {:.0f} s; the kernel goes on with it",
				    what, timeout),
			"look again with rnbdadm list, or give it more time with --timeout"};
	return {exit_of(answer, action), fmt::format("{}: {}", what, words_of(answer, action)),
		advice_of(answer, action)};
}

void Call::write(const std::string &path, const std::string &text, Action action,
		 const std::string &what, const std::vector<std::string> &paths)
{
	if (int answer = try_write(path, text))
		throw failure_of(answer, action, what, paths);
}

void Call::save(const std::string &file, const std::string &content)
{
	if (const int error = host.replace_file(file, content))
		throw unwritable(file, error);
}

bool Call::wait_for(const std::function<bool()> &done, double limit)
{
	double end = host.now() + std::min(timeout, limit);
	while (!done()) {
		if (host.now() >= end)
			return false;
		host.sleep(0.1);
	}
	return true;
}

std::string Call::path_of(const std::string &word) const
{
	const std::string path = resolved_path(host, word);
	try {
		canonical_path(word);
	} catch (const Failure &) {
		if (verbose || dry_run)
			terminal.err << printable(fmt::format("{} is {}\n", word, path));
	}
	return path;
}

void Call::say(const std::string &text) const
{
	if (verbose)
		terminal.err << printable(text) << '\n';
}

void print_failure(std::ostream &err, const Failure &failure)
{
	err << "rnbdadm: " << printable(failure.what()) << '\n';
	if (!failure.hint().empty())
		err << "  " << replace_all(printable(failure.hint()), "\n", "\n  ") << '\n';
}

void Call::report(const Failure &failure) const
{
	print_failure(terminal.err, failure);
}

bool Call::watches() const
{
	return has(opt::kWatch) || has(opt::kInterval) || has(opt::kCount);
}

Exit Call::watch(const std::function<void()> &show)
{
	const double interval = static_cast<double>(number(opt::kInterval));
	const std::int64_t count = number(opt::kCount);
	for (std::int64_t n = 0; !count || n < count; n++) {
		host.sleep(interval);
		if (style.format == Format::Table && terminal.out_is_terminal)
			out << "\033[H\033[2J";
		else if (style.format == Format::Table && n)
			out << '\n';
		show();
		out.flush();
		// Nobody reads on.
		if (!out)
			return Exit::Failed;
	}
	return Exit::Done;
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
