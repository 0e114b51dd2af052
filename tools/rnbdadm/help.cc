// SPDX-License-Identifier: GPL-2.0
// Help texts, from the table of commands.
#include "command.hh"
#include "text.hh"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>

#ifndef RNBD_VERSION
#define RNBD_VERSION "unknown"
#endif

namespace rnbdadm {

const char *version()
{
	return RNBD_VERSION;
}

std::string usage_of(const Command &command)
{
	std::string text = fmt::format("rnbdadm {}", command.name);
	for (const Argument &argument : command.arguments) {
		std::string name = argument.name;
		if (argument.many)
			name += "...";
		text += argument.required ? " " + name : " [" + name + "]";
	}
	return text + " [options]";
}

namespace {

std::string left_side(const Option &option)
{
	const OptionKey &key = option.key;
	std::string text = key.letter ? fmt::format("-{}, ", key.letter) : "    ";
	text += fmt::format("--{}", key.name);
	if (key.takes_value())
		text += fmt::format(" {}", key.value);
	return text;
}

// `text` in lines of at most 96 columns, all but the first behind `indent` blanks.
std::string wrapped(const std::string &text, std::size_t indent)
{
	std::string lines, line;
	for (const std::string &word : split(text)) {
		if (!line.empty() && indent + line.size() + 1 + word.size() > 96) {
			lines += line + "\n" + std::string(indent, ' ');
			line.clear();
		}
		line += (line.empty() ? "" : " ") + word;
	}
	return lines + line;
}

void print_rows_of(std::ostream &out, const std::vector<std::pair<std::string, std::string>> &rows)
{
	std::size_t widest = 0;
	for (const auto &[left, right] : rows)
		widest = std::max(widest, left.size());
	for (const auto &[left, right] : rows)
		out << fmt::format("  {:<{}}  {}\n", left, widest, wrapped(right, widest + 4));
}

void print_options(std::ostream &out, const std::vector<Option> &options)
{
	std::vector<std::pair<std::string, std::string>> rows;
	for (const Option &option : options)
		rows.emplace_back(left_side(option),
				  std::string(option.help) +
				      (option.key.many() ? " (may be repeated)" : ""));
	print_rows_of(out, rows);
}

} // namespace

void print_overview(std::ostream &out)
{
	out << "rnbdadm manages RNBD: block devices of other machines, over RDMA.\n\n"
	       "usage: rnbdadm COMMAND [words] [options]\n\ncommands:\n";
	std::vector<std::pair<std::string, std::string>> rows;
	std::string last;
	for (const Command &command : commands()) {
		if (command.hidden)
			continue;
		std::string name = command.name;
		std::string group = name.substr(0, name.find(' '));
		if (group != name && *group_summary(group)) {
			if (group != last)
				rows.emplace_back(group + " ...", group_summary(group));
			last = group;
			continue;
		}
		rows.emplace_back(name, command.summary);
	}
	print_rows_of(out, rows);
	out << "\noptions of all commands:\n";
	print_options(out, global_options());
	out << "\nFirst steps on a client:\n"
	       "  rnbdadm doctor\n"
	       "  rnbdadm map /dev/nvme0n1 --session store --path 192.0.2.10\n"
	       "  rnbdadm list\n"
	       "\n'rnbdadm COMMAND --help' says more, and so does 'man rnbdadm'.\n";
}

void print_group(std::ostream &out, const std::string &group)
{
	out << group_summary(group) << "\n\n";
	std::vector<std::pair<std::string, std::string>> rows;
	for (const Command &command : commands())
		if (!command.hidden && std::string(command.name).starts_with(group + " "))
			rows.emplace_back(command.name, command.summary);
	print_rows_of(out, rows);
	out << fmt::format("\n'rnbdadm {} COMMAND --help' says more.\n", group);
}

void print_help(std::ostream &out, const Command &command)
{
	out << command.summary << "\n\nusage: " << usage_of(command) << "\n\n";
	std::string text = command.text;
	for (std::size_t at = 0; at < text.size();) {
		std::size_t end = std::min(text.find("\n\n", at), text.size());
		out << wrapped(text.substr(at, end - at), 0) << "\n\n";
		at = end + 2;
	}
	if (!command.arguments.empty()) {
		out << "words:\n";
		std::vector<std::pair<std::string, std::string>> rows;
		for (const Argument &argument : command.arguments)
			rows.emplace_back(argument.name, argument.help);
		print_rows_of(out, rows);
		out << '\n';
	}
	if (!command.options.empty()) {
		out << "options:\n";
		print_options(out, command.options);
		out << '\n';
	}
	if (command.kind) {
		std::vector<std::string> keys;
		for (const Field &field : command.kind->fields)
			keys.push_back(field.key);
		out << "columns:\n  " << wrapped(join(keys, " "), 2) << "\n\n";
	}
	out << "options of all commands:\n";
	print_options(out, global_options());
	if (!command.examples.empty()) {
		out << "\nexamples:\n";
		for (const Example &example : command.examples)
			out << fmt::format("  {}\n      {}\n", example.line,
					   wrapped(example.text, 6));
	}
}

} // namespace rnbdadm
