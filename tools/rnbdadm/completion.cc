// SPDX-License-Identifier: GPL-2.0
// Completion of command lines in bash and zsh. What can only be known at that moment, such as the
// names of devices, comes from `rnbdadm complete <kind>`.
#include "config.hh"
#include "failure.hh"
#include "generate.hh"
#include "keys.hh"
#include "name_lists.hh"
#include "reservations.hh"
#include "settings.hh"
#include "text.hh"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace rnbdadm {

std::vector<std::string> live_names(const Host &host, const std::string &kinds)
{
	std::set<std::string> names;
	for (const std::string &kind : split(kinds, "|")) {
		if (kind == "device")
			for (const Device &device : read_devices(host)) {
				names.insert(device.name);
				names.insert(device.device_path);
			}
		if (kind == "session" || kind == "server-session")
			for (const Session &session : read_sessions(host, kind != "session"))
				names.insert(session.name);
		if (kind == "path")
			for (const Session &session : read_sessions(host, false))
				for (const Path &path : session.paths)
					names.insert(path.name);
		if (kind == "served")
			for (const Opened &opened : read_opened(host))
				names.insert(opened.device);
		if (kind == "reserved")
			for (const Registration &r : read_reservations(host))
				names.insert(r.device);
		if (kind == "export")
			for (const Export &e : read_exports(host))
				names.insert(e.name);
		if (kind == "hca")
			for (const std::string &hca : host.list("/sys/class/infiniband"))
				names.insert(hca);
		if (kind == "netdev")
			for (const std::string &netdev : host.list("/sys/class/net"))
				names.insert(netdev);
		if (kind == "key-list")
			for (const NameList &list : read_name_lists(host))
				names.insert(list.key);
		if (kind == "key" && host.is_privileged())
			for (const Key &key : read_keys(host).keys) {
				names.insert(key.id.name.c_str());
				names.insert(name_of(key.id));
			}
		if (kind == "setting")
			for (const std::string &name : changeable_names())
				names.insert(name + "=");
		if (kind == "mapping")
			for (const DeviceConfig &device : read_config(host).devices)
				names.insert(device.name);
	}
	return {names.begin(), names.end()};
}

namespace {

const std::set<std::string> kLive = {"device",	 "session", "server-session", "path",	 "served",
				     "reserved", "export",  "mapping",	      "setting", "key",
				     "key-list", "hca",	    "netdev"};

bool is_live(const std::string &complete)
{
	std::vector<std::string> kinds = split(complete, "|");
	return !kinds.empty() && std::all_of(kinds.begin(), kinds.end(), [](const std::string &k) {
		return kLive.count(k) > 0;
	});
}

// A shell word that prints the candidates.
std::string bash_source(const std::string &complete)
{
	if (complete == "file")
		return "compgen -f -- \"$cur\"";
	if (complete == "columns")
		return "_rnbdadm_columns";
	if (is_live(complete))
		return fmt::format(
		    "compgen -W \"$(rnbdadm complete '{}' 2>/dev/null)\" -- \"$cur\"", complete);
	if (!complete.empty())
		return fmt::format("compgen -W '{}' -- \"$cur\"", replace_all(complete, "|", " "));
	return "";
}

std::string option_words(const std::vector<Option> &options)
{
	std::vector<std::string> words;
	for (const Option &option : options)
		words.push_back(std::string("--") + option.key.name);
	return join(words, " ");
}

std::vector<std::string> first_words()
{
	std::vector<std::string> words;
	for (const Command &command : commands()) {
		std::string word = split(command.name)[0];
		if (!command.hidden && !std::count(words.begin(), words.end(), word))
			words.push_back(word);
	}
	words.push_back("help");
	return words;
}

// The words that may follow a group: "path" -> add, remove ...
std::vector<std::string> next_words(const std::string &group)
{
	std::vector<std::string> words;
	for (const Command &command : commands()) {
		std::string name = command.name;
		if (command.hidden || !name.starts_with(group + " "))
			continue;
		std::string word = split(name.substr(group.size()))[0];
		if (!std::count(words.begin(), words.end(), word))
			words.push_back(word);
	}
	return words;
}

std::vector<std::string> groups()
{
	std::set<std::string> found;
	for (const Command &command : commands()) {
		std::vector<std::string> words = split(command.name);
		for (std::size_t n = 1; n < words.size() && !command.hidden; n++)
			found.insert(join(
			    {words.begin(), words.begin() + static_cast<std::ptrdiff_t>(n)}, " "));
	}
	return {found.begin(), found.end()};
}

std::string valued_options()
{
	std::set<std::string> names;
	auto add = [&](const std::vector<Option> &options) {
		for (const Option &option : options) {
			if (!option.key.takes_value())
				continue;
			names.insert(std::string("--") + option.key.name);
			if (option.key.letter)
				names.insert(std::string("-") + option.key.letter);
		}
	};
	add(global_options());
	for (const Command &command : commands())
		add(command.options);
	return join({names.begin(), names.end()}, "|");
}

void bash_options(std::string &text, const std::vector<Option> &options, const char *indent)
{
	for (const Option &option : options) {
		std::string source = bash_source(option.key.complete);
		if (!option.key.takes_value() || source.empty())
			continue;
		std::string names = fmt::format("--{}", option.key.name);
		if (option.key.letter)
			names += fmt::format("|-{}", option.key.letter);
		text += fmt::format("{}{}) mapfile -t COMPREPLY < <({}); return ;;\n", indent,
				    names, source);
	}
}

} // namespace

std::string bash_completion()
{
	std::string text =
	    "# SPDX-License-Identifier: GPL-2.0\n"
	    "# bash completion of rnbdadm; made by rnbdadm generate bash.\n"
	    "# shellcheck shell=bash disable=SC2034\n\n"
	    "# One more column of a list with commas, of what the line is about.\n"
	    "_rnbdadm_columns()\n{\n"
	    "\tlocal last=${cur##*,} sign=''\n"
	    "\tcase $last in [+-]*) sign=${last:0:1} ;; esac\n"
	    "\tcompgen -P \"${cur%\"$last\"}$sign\" -W \"$(rnbdadm complete columns -- "
	    "\"${words[@]:1:cword-1}\" 2>/dev/null)\" -- \"${last#[+-]}\"\n}\n\n"
	    "_rnbdadm()\n{\n"
	    "\tlocal cur prev command='' word options n=0 i\n"
	    "\tcur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
	    "\tCOMPREPLY=()\n"
	    "\t# A name such as store:/dev/a is one word for us and three for bash.\n"
	    "\tif declare -F _get_comp_words_by_ref >/dev/null; then\n"
	    "\t\tlocal words cword\n"
	    "\t\t_get_comp_words_by_ref -n :=@ cur prev words cword\n"
	    "\telse\n"
	    "\t\tlocal words=(\"${COMP_WORDS[@]}\") cword=$COMP_CWORD\n"
	    "\tfi\n\n"
	    "\t# The command is the plain words before the cursor, as far as they name one.\n"
	    "\tfor ((i = 1; i < cword; i++)); do\n"
	    "\t\tword=${words[i]}\n"
	    "\t\tcase $word in\n"
	    "\t\t" +
	    valued_options() +
	    ") ((i++)) ;;\n"
	    "\t\t-*) ;;\n"
	    "\t\t*)\n"
	    "\t\t\tcase \"$command${command:+ }$word\" in\n";
	std::vector<std::string> names = groups();
	for (const Command &command : commands())
		if (!command.hidden)
			names.push_back(command.name);
	for (const std::string &name : names)
		text += fmt::format("\t\t\t'{}') command='{}' ;;\n", name, name);
	text += "\t\t\t*) ((++n)) ;;\n\t\t\tesac\n\t\t\t;;\n\t\tesac\n\tdone\n\n"
		"\tcase $command in\n";
	for (const Command &command : commands()) {
		if (command.hidden)
			continue;
		text += fmt::format("\t'{}')\n\t\toptions='{}'\n\t\tcase $prev in\n", command.name,
				    option_words(command.options));
		bash_options(text, command.options, "\t\t");
		text += "\t\t*) ;;\n\t\tesac\n";
		std::string cases;
		for (std::size_t i = 0; i < command.arguments.size(); i++) {
			std::string source = bash_source(command.arguments[i].complete);
			if (source.empty())
				continue;
			std::string at = command.arguments[i].many ? "*" : std::to_string(i);
			cases +=
			    fmt::format("\t\t\t{}) mapfile -t COMPREPLY < <({}) ;;\n", at, source);
		}
		if (!cases.empty())
			text += "\t\tif [[ $cur != -* ]]; then\n\t\t\tcase $n in\n" + cases +
				(cases.find("\t*)") == std::string::npos ? "\t\t\t*) ;;\n" : "") +
				"\t\t\tesac\n\t\tfi\n";
		text += "\t\t;;\n";
	}
	for (const std::string &group : groups())
		text += fmt::format(
		    "\t'{}') mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$cur\") ;;\n", group,
		    join(next_words(group), " "));
	text += fmt::format("\t'') mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$cur\") ;;\n",
			    join(first_words(), " "));
	text += "\t*) ;;\n\tesac\n\tcase $prev in\n";
	bash_options(text, global_options(), "\t");
	text += "\t*) ;;\n\tesac\n";
	text += fmt::format(
	    "\tif [[ $cur == -* ]]; then\n"
	    "\t\tmapfile -t COMPREPLY < <(compgen -W \"$options {}\" -- \"$cur\")\n\tfi\n",
	    option_words(global_options()));
	text += "\tdeclare -F __ltrim_colon_completions >/dev/null && __ltrim_colon_completions "
		"\"$cur\"\n"
		"}\n\ncomplete -F _rnbdadm rnbdadm\n";
	return text;
}

namespace {

std::string zsh_escaped(const std::string &text)
{
	std::string result = replace_all(text, "'", "'\\''");
	result = replace_all(result, "[", "\\[");
	result = replace_all(result, "]", "\\]");
	return replace_all(result, ":", "\\:");
}

std::string zsh_action(const std::string &complete)
{
	if (complete == "file")
		return "_files";
	if (complete == "columns")
		return "{_rnbdadm_columns}";
	if (is_live(complete))
		return fmt::format("{{_rnbdadm_live \"{}\"}}", complete);
	if (!complete.empty())
		return "(" + replace_all(complete, "|", " ") + ")";
	return " ";
}

std::string zsh_option(const Option &option)
{
	std::string names = fmt::format("--{}", option.key.name);
	std::string tail = fmt::format("[{}]", zsh_escaped(option.help));
	if (option.key.takes_value())
		tail += fmt::format(":{}:{}", zsh_escaped(option.key.value),
				    zsh_action(option.key.complete));
	std::string star = option.key.many() ? "*" : "";
	std::string text = fmt::format("\t\t'{}{}{}' \\\n", star, names, tail);
	if (option.key.letter)
		text += fmt::format("\t\t'{}-{}{}' \\\n", star, option.key.letter, tail);
	return text;
}

} // namespace

std::string zsh_completion()
{
	std::string text = "#compdef rnbdadm\n# SPDX-License-Identifier: GPL-2.0\n"
			   "# zsh completion of rnbdadm; made by rnbdadm generate zsh.\n\n"
			   "_rnbdadm_live()\n{\n\tlocal -a names\n"
			   "\tnames=(${(f)\"$(rnbdadm complete \"$1\" 2>/dev/null)\"})\n"
			   "\tcompadd -a names\n}\n\n"
			   "_rnbdadm_columns()\n{\n\tlocal -a names\n"
			   "\tnames=(${(f)\"$(rnbdadm complete columns -- ${=line_so_far} "
			   "2>/dev/null)\"})\n"
			   "\t_sequence compadd -a names\n}\n\n_rnbdadm()\n{\n"
			   "\tlocal command='' word n=0 i at=1\n"
			   "\tlocal line_so_far=\"${words[2,CURRENT-1]}\"\n"
			   "\tfor ((i = 2; i < CURRENT; i++)); do\n"
			   "\t\tword=$words[i]\n\t\tcase $word in\n\t\t" +
			   valued_options() +
			   ") ((i++)) ;;\n\t\t-*) ;;\n\t\t*)\n"
			   "\t\t\tcase \"$command${command:+ }$word\" in\n";
	std::vector<std::string> names = groups();
	for (const Command &command : commands())
		if (!command.hidden)
			names.push_back(command.name);
	for (const std::string &name : names)
		text += fmt::format("\t\t\t'{}') command='{}' at=$i ;;\n", name, name);
	text += "\t\t\tesac\n\t\t\t;;\n\t\tesac\n\tdone\n\tcase $command in\n";
	std::string globals;
	for (const Option &option : global_options())
		globals += zsh_option(option);
	for (const Command &command : commands()) {
		if (command.hidden)
			continue;
		text += fmt::format(
		    "\t'{}')\n\t\t((CURRENT -= at - 1))\n"
		    "\t\twords=(rnbdadm \"${{(@)words[at+1,-1]}}\")\n\t\t_arguments -s \\\n",
		    command.name);
		for (const Option &option : command.options)
			text += zsh_option(option);
		for (std::size_t i = 0; i < command.arguments.size(); i++) {
			const Argument &a = command.arguments[i];
			text +=
			    fmt::format("\t\t'{}:{}:{}' \\\n", a.many ? "*" : std::to_string(i + 1),
					zsh_escaped(a.name), zsh_action(a.complete));
		}
		text += globals + "\t\t&& return\n\t\t;;\n";
	}
	for (const std::string &group : groups())
		text += fmt::format("\t'{}') compadd {} ;;\n", group, join(next_words(group), " "));
	text += "\t*)\n\t\tlocal -a all\n\t\tall=(\n";
	std::vector<std::string> first = first_words();
	for (const std::string &word : first) {
		std::string summary = group_summary(word);
		for (const Command &command : commands())
			if (word == command.name)
				summary = command.summary;
		text += fmt::format("\t\t\t'{}:{}'\n", word,
				    zsh_escaped(summary.empty() ? "help for a command" : summary));
	}
	text += "\t\t)\n\t\t_describe command all\n\t\t;;\n\tesac\n}\n\n_rnbdadm \"$@\"\n";
	return text;
}

} // namespace rnbdadm
