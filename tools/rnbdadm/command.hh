// SPDX-License-Identifier: GPL-2.0
// The table of commands. The parser, the help, the man pages and the completions are made from it,
// so that none of them can say what another does not.
#pragma once

#include "failure.hh"
#include "host.hh"
#include "options.hh"

#include <iosfwd>
#include <limits>

namespace rnbdadm {

// One that a command has, and what it means there.
struct Option {
	OptionKey key;
	const char *help;
};

struct Argument {
	const char *name;
	const char *help;
	const char *complete = ""; // as that of an option
	bool required = true;
	bool many = false;
};

struct Example {
	const char *line;
	const char *text;
};

class Call;

struct Command {
	const char *name; // one or two words
	const char *summary;
	const char *text; // paragraphs, separated by an empty line
	std::vector<Argument> arguments;
	std::vector<Option> options;
	std::vector<Example> examples;
	const Kind *kind; // what it lists, or null
	Exit (*run)(Call &);
	bool hidden = false;
	const char *formats = "table|json|csv"; // for --output; "" if it is no table
};

struct Alias {
	const char *name;
	const char *stands_for;
};

const std::vector<Command> &commands();
const std::vector<Alias> &aliases();
const std::vector<Option> &global_options();
// Words for a group such as "path".
const char *group_summary(const std::string &group);

// Where output goes, and what kind of place that is.
struct Terminal {
	std::ostream &out;
	std::ostream &err;
	bool out_is_terminal = false;
	bool err_is_terminal = false;
	bool colours = true; // where nothing else is said (NO_COLOR)
	std::size_t out_columns = 0;
};

// One parsed command line at work.
class Call {
public:
	Call(Host &h, Terminal &t, const Command &c) : host(h), terminal(t), command(c), out(t.out)
	{
	}

	Host &host;
	Terminal &terminal;
	const Command &command;
	std::ostream &out;
	Options options;
	std::vector<std::string> arguments;
	Style style;
	double timeout = 90;
	bool dry_run = false;
	bool verbose = false;

	// Of an option, by its type (options.hh).
	bool has(const OptionKey &option) const { return options.has(option); }
	std::int64_t number(const NumberKey &option) const { return options.number(option); }
	std::string value(const TextKey &option, const std::string &fallback = "") const
	{
		return options.text(option, fallback);
	}
	std::vector<std::string> values(const ListKey &option) const
	{
		return options.list(option);
	}

	// Writes to sysfs, or says that it would (--dry-run); as Host::write().
	int try_write(const std::string &path, const std::string &text);
	// Several at once, with one --timeout and one line of progress for all.
	std::vector<int> try_write_all(const std::vector<Host::Order> &orders);
	// What an answer other than 0 means: "<what>: <reason in words>", and what to look at:
	// where it was to connect `paths` ("[source@]destination"), what is wrong on their ways.
	Failure failure_of(int answer, Action action, const std::string &what,
			   const std::vector<std::string> &paths = {}) const;
	// The same; Failure "<what>: <reason in words>".
	void write(const std::string &path, const std::string &text, Action action,
		   const std::string &what, const std::vector<std::string> &paths = {});
	// Replaces a plain file that was named on the command line; Failure.
	void save(const std::string &file, const std::string &content);
	// Waits until `done`, at most --timeout, and `limit` seconds.
	bool wait_for(const std::function<bool()> &done,
		      double limit = std::numeric_limits<double>::infinity());
	void say(const std::string &text) const; // with --verbose, on stderr
	// A path of the command line, in which names of machines may stand, in the form that the
	// kernel takes. What a name was resolved to is said with --verbose and --dry-run.
	std::string path_of(const std::string &word) const;
	void report(const Failure &failure) const;

	// --watch was given, or what implies it.
	bool watches() const;
	// Calls show() after each --interval, --count times or for ever.
	Exit watch(const std::function<void()> &show);

	// Does `work` for each; a failure is reported and the next one follows. The exit code of
	// the failure if there was one object, Partial if some of several failed.
	Exit each(std::size_t count, const std::function<void(std::size_t)> &work) const;
};

// Parses and runs a command line without the program's name; everything that goes wrong ends up as
// text on `terminal.err` and as an exit code. `host` is replaced by --root.
int run(const std::vector<std::string> &words, Host &host, Terminal &terminal);

// On stderr, with its hint.
void print_failure(std::ostream &err, const Failure &failure);

// Help texts.
void print_overview(std::ostream &out);
void print_group(std::ostream &out, const std::string &group);
void print_help(std::ostream &out, const Command &command);
std::string usage_of(const Command &command);

const char *version();

} // namespace rnbdadm
