// SPDX-License-Identifier: GPL-2.0
// From words to a command with its options, and what goes wrong there.
#include "command.hh"
#include "text.hh"
#include "words.hh"

#include <algorithm>
#include <memory>
#include <ostream>

#include <fmt/format.h>

namespace rnbdadm {

namespace {

std::vector<std::string> command_names()
{
	std::vector<std::string> names;
	for (const Command &command : commands())
		if (!command.hidden)
			names.push_back(command.name);
	return names;
}

bool is_group(const std::string &word)
{
	return std::any_of(commands().begin(), commands().end(), [&](const Command &c) {
		return std::string(c.name).starts_with(word + " ");
	});
}

std::string first_word(const std::string &name)
{
	return name.substr(0, name.find(' '));
}

// The command that the longest run of leading words names; `used` is their number.
const Command *find_command(const std::vector<std::string> &words, std::size_t &used)
{
	for (std::size_t n = std::min<std::size_t>(words.size(), 3); n > 0; n--) {
		std::string name =
		    join({words.begin(), words.begin() + static_cast<std::ptrdiff_t>(n)}, " ");
		for (const Alias &alias : aliases())
			if (name == alias.name)
				name = alias.stands_for;
		for (const Command &command : commands())
			if (name == command.name) {
				used = n;
				return &command;
			}
	}
	return nullptr;
}

const Option *find_option(const Command *command, const std::string &name, char letter)
{
	auto fits = [&](const Option &o) {
		return letter ? o.key.letter == letter : o.key.name == name;
	};
	if (command)
		for (const Option &option : command->options)
			if (fits(option))
				return &option;
	for (const Option &option : global_options())
		if (fits(option))
			return &option;
	return nullptr;
}

std::vector<std::string> option_names(const Command *command)
{
	std::vector<std::string> names;
	if (command)
		for (const Option &option : command->options)
			names.push_back(std::string("--") + option.key.name);
	for (const Option &option : global_options())
		names.push_back(std::string("--") + option.key.name);
	return names;
}

[[noreturn]] void unknown_command(const std::vector<std::string> &words)
{
	std::string name = words[0];
	std::vector<std::string> candidates = command_names();
	for (const std::string &command : command_names())
		if (command.find(' ') != std::string::npos)
			candidates.push_back(first_word(command));
	// The longest run of words that begins a command.
	std::string group;
	std::size_t used = 0;
	for (std::string run; used < words.size(); used++) {
		run += (used ? " " : "") + words[used];
		if (!is_group(run))
			break;
		group = run;
	}
	if (!group.empty() && used == words.size())
		throw Failure(Exit::Usage, fmt::format("'{}' needs another word", group),
			      "see: rnbdadm " + group + " --help");
	if (!group.empty()) {
		std::string whole = group + " " + words[used];
		throw Failure(Exit::Usage,
			      fmt::format("there is no command '{}'{}", whole,
					  did_you_mean(whole, candidates)),
			      "see: rnbdadm " + group + " --help");
	}
	throw Failure(
	    Exit::Usage,
	    fmt::format("there is no command '{}'{}", name, did_you_mean(name, candidates)),
	    "see: rnbdadm --help");
}

class Reader {
public:
	Reader(const std::vector<std::string> &words) : words_(words) {}

	// Splits into plain words and options; options may stand anywhere, "--" ends them.
	void read()
	{
		// The command is known by its words alone, and says which options take a value.
		// Global options with a value may stand before it, so read twice.
		collect(nullptr);
		command = find_command(plain, used);
		collect(command);
		command = find_command(plain, used);
	}

	const Command *command = nullptr;
	std::size_t used = 0;
	std::vector<std::string> plain;
	std::vector<std::pair<OptionKey, std::string>> options;
	Failure fault = Failure(Exit::Done, "");

	bool has(const OptionKey &key) const
	{
		return std::any_of(options.begin(), options.end(), [&](const auto &given) {
			return given.first.name == std::string(key.name);
		});
	}

private:
	void collect(const Command *known)
	{
		plain.clear();
		options.clear();
		fault = Failure(Exit::Done, "");
		bool ended = false;
		for (std::size_t i = 0; i < words_.size(); i++) {
			const std::string &word = words_[i];
			if (ended || word.size() < 2 || word[0] != '-' || is_negative(word))
				plain.push_back(word);
			else if (word == "--")
				ended = true;
			else if (word[1] == '-')
				read_long(known, word.substr(2), i);
			else
				read_short(known, word, i);
		}
	}

	static bool is_negative(const std::string &word)
	{
		return word.find_first_not_of("0123456789", 1) == std::string::npos;
	}

	void read_long(const Command *known, const std::string &text, std::size_t &i)
	{
		std::size_t equals = text.find('=');
		std::string name = text.substr(0, equals);
		const Option *option = find_option(known, name, 0);
		if (!option)
			return unknown(known, "--" + name);
		if (equals != std::string::npos) {
			if (!option->key.takes_value())
				return complain(fmt::format("--{} takes no value", name));
			options.emplace_back(option->key, text.substr(equals + 1));
			return;
		}
		take(*option, "--" + name, i);
	}

	void read_short(const Command *known, const std::string &word, std::size_t &i)
	{
		for (std::size_t at = 1; at < word.size(); at++) {
			const Option *option = find_option(known, "", word[at]);
			if (!option)
				return unknown(known, std::string("-") + word[at]);
			if (option->key.takes_value() && at + 1 < word.size()) {
				options.emplace_back(option->key, word.substr(at + 1));
				return;
			}
			take(*option, std::string("-") + word[at], i);
		}
	}

	void take(const Option &option, const std::string &written, std::size_t &i)
	{
		if (!option.key.takes_value()) {
			options.emplace_back(option.key, "");
			return;
		}
		if (i + 1 >= words_.size())
			return complain(
			    fmt::format("{} needs a value: {}", written, option.key.value));
		options.emplace_back(option.key, words_[++i]);
	}

	void unknown(const Command *known, const std::string &name)
	{
		complain(fmt::format("there is no option {}{}", name,
				     did_you_mean(name, option_names(known))));
	}

	void complain(const std::string &text)
	{
		if (fault.code() == Exit::Done)
			fault = Failure(Exit::Usage, text);
	}

	const std::vector<std::string> &words_;
};

void check_arguments(const Command &command, const std::vector<std::string> &given)
{
	std::size_t least = 0, most = 0;
	for (const Argument &argument : command.arguments) {
		if (argument.required && given.size() <= least)
			throw Failure(Exit::Usage,
				      fmt::format("{}: {} is missing", command.name, argument.name),
				      "usage: " + usage_of(command));
		least += argument.required;
		most = argument.many ? given.size() : most + 1;
	}
	if (given.size() > most)
		throw Failure(
		    Exit::Usage,
		    fmt::format("{}: '{}' is one word too many", command.name, given[most]),
		    "usage: " + usage_of(command));
}

void read_globals(Call &call)
{
	call.style.format = call.options.choice(opt::kOutput);
	for (const std::string &columns : call.values(opt::kColumns))
		for (const std::string &column : split(columns, ", "))
			call.style.columns.push_back(column);
	const When colour = call.options.choice(opt::kColor);
	call.style.colour =
	    colour == When::Always ||
	    (colour == When::Auto && call.terminal.out_is_terminal && call.terminal.colours);
	call.style.header = !call.has(opt::kNoHeader);
	call.style.raw = call.has(opt::kRaw);
	call.style.bytes = call.options.choice(opt::kUnits);
	call.style.width = call.terminal.out_is_terminal ? call.terminal.out_columns : 0;
	call.timeout = static_cast<double>(call.number(opt::kTimeout));
	call.dry_run = call.has(opt::kDryRun);
	call.verbose = call.has(opt::kVerbose);
}

// A format that a command does not have is refused rather than ignored.
void check_format(const Call &call)
{
	const std::string formats = call.command.formats;
	const std::string wanted =
	    split(opt::kOutput.complete, "|")[static_cast<std::size_t>(call.style.format)];
	std::vector<std::string> words = split(formats, "|");
	if (call.has(opt::kOutput) && !std::count(words.begin(), words.end(), wanted))
		throw Failure(
		    Exit::Usage,
		    fmt::format("{}: there is no --output {} of this", call.command.name, wanted),
		    formats.empty() ? "it is a text of its own format"
				    : "--output: " + join(words, ", "));
	if (call.has(opt::kColumns) &&
	    (words.empty() || !std::count(words.begin(), words.end(), "csv")))
		throw Failure(Exit::Usage,
			      fmt::format("{}: this has no columns", call.command.name));
}

// Failure (Usage) for a word that is no value of its option.
Options options_of(const Reader &reader)
{
	std::vector<OptionKey> known;
	for (const std::vector<Option> &some : {reader.command->options, global_options()})
		for (const Option &option : some)
			known.push_back(option.key);
	Options options(std::move(known));
	for (const auto &[key, word] : reader.options) {
		check_word(key, word);
		options.add(key, word);
	}
	return options;
}

Exit run_command(const std::vector<std::string> &words, Host &given, Terminal &terminal,
		 std::string &command_name)
{
	Reader reader(words);
	reader.read();
	bool help = reader.has(opt::kHelp);
	if (!reader.plain.empty() && reader.plain[0] == "help") {
		reader.plain.erase(reader.plain.begin());
		reader.command = find_command(reader.plain, reader.used);
		help = true;
	}
	bool version_word = reader.plain.size() == 1 && reader.plain[0] == "version";
	if ((reader.has(opt::kVersion) || version_word) && !reader.command) {
		terminal.out << "rnbdadm " << version() << '\n';
		return Exit::Done;
	}
	if (reader.plain.empty()) {
		if (reader.fault.code() != Exit::Done)
			throw reader.fault;
		print_overview(help ? terminal.out : terminal.err);
		return help ? Exit::Done : Exit::Usage;
	}
	if (help && !reader.command && is_group(join(reader.plain, " "))) {
		print_group(terminal.out, join(reader.plain, " "));
		return Exit::Done;
	}
	if (!reader.command)
		unknown_command(reader.plain);
	command_name = reader.command->name;
	if (help) {
		print_help(terminal.out, *reader.command);
		return Exit::Done;
	}
	if (reader.fault.code() != Exit::Done)
		throw Failure(Exit::Usage,
			      fmt::format("{}: {}", reader.command->name, reader.fault.what()),
			      fmt::format("see: rnbdadm {} --help", reader.command->name));
	std::unique_ptr<Host> other;
	Options options = options_of(reader);
	if (options.has(opt::kRoot))
		other = std::make_unique<Host>(options.text(opt::kRoot));
	Call call(other ? *other : given, terminal, *reader.command);
	call.options = std::move(options);
	call.arguments.assign(reader.plain.begin() + static_cast<std::ptrdiff_t>(reader.used),
			      reader.plain.end());
	read_globals(call);
	check_format(call);
	if (reader.command->kind)
		chosen_fields(*reader.command->kind, call.style.columns);
	check_arguments(*reader.command, call.arguments);
	return reader.command->run(call);
}

} // namespace

int run(const std::vector<std::string> &words, Host &host, Terminal &terminal)
{
	std::string command;
	try {
		Exit code = run_command(words, host, terminal, command);
		terminal.out.flush();
		if (!terminal.out) {
			terminal.err << "rnbdadm: cannot write the output\n";
			return static_cast<int>(Exit::Failed);
		}
		return static_cast<int>(code);
	} catch (const Failure &failure) {
		terminal.out.flush();
		print_failure(terminal.err, failure);
		return static_cast<int>(failure.code());
	} catch (const std::exception &fault) {
		terminal.err << "rnbdadm: " << command << ": " << fault.what() << '\n';
		return static_cast<int>(Exit::Failed);
	}
}

} // namespace rnbdadm
