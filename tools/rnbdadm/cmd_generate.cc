// SPDX-License-Identifier: GPL-2.0
// generate ..., and what completions, udev and systemd call.
#include "config.hh"
#include "generate.hh"
#include "text.hh"

#include <algorithm>
#include <cerrno>
#include <ostream>

#include <fmt/format.h>

namespace rnbdadm {

std::string json_schema()
{
	Json definitions;
	for (const Kind *kind : all_kinds()) {
		Json properties;
		Json required = Json::array();
		for (const Field &field : kind->fields) {
			Json type;
			switch (field.unit) {
			case Unit::Text:
			case Unit::State:
			case Unit::Owner:
			case Unit::Whom:
				type = {"string", "null"};
				break;
			case Unit::Flag:
				type = {"boolean", "null"};
				break;
			case Unit::List:
				type = "array";
				break;
			case Unit::Counts:
				type = {"object", "null"};
				break;
			case Unit::PerSecond:
			case Unit::BytesPerSecond:
			case Unit::Milliseconds:
				type = {"number", "null"};
				break;
			default:
				type = {"integer", "null"};
			}
			properties[field.key]["type"] = type;
			if (field.unit == Unit::List)
				properties[field.key]["items"]["type"] = "string";
			properties[field.key]["description"] = field.help;
			required.push_back(field.key);
		}
		Json &definition = definitions[kind->name];
		definition["type"] = "object";
		definition["properties"] = properties;
		definition["required"] = required;
	}
	// A session of dump, list tree and show has its paths and devices inside.
	Json &session = definitions["session"]["properties"];
	session["path_list"]["type"] = "array";
	session["path_list"]["items"]["$ref"] = "#/$defs/path";
	session["device_list"]["type"] = "array";
	session["device_list"]["items"]["anyOf"] =
	    Json::array({{{"$ref", "#/$defs/device"}}, {{"$ref", "#/$defs/opened"}}});
	Json j;
	j["$schema"] = "https://json-schema.org/draft/2020-12/schema";
	j["title"] = "Output of rnbdadm -o json";
	j["description"] =
	    "With --columns, objects have the chosen keys only. Other kinds of objects and "
	    "other keys may be added under the same version.";
	j["type"] = "object";
	j["required"] = {"schema", "version"};
	j["properties"]["schema"]["const"] = "rnbdadm";
	j["properties"]["version"]["const"] = kSchemaVersion;
	for (const Kind *kind : all_kinds()) {
		std::string reference = std::string("#/$defs/") + kind->name;
		j["properties"][kind->name]["$ref"] = reference;
		j["properties"][kind->plural]["type"] = "array";
		j["properties"][kind->plural]["items"]["$ref"] = reference;
	}
	// "opened" is its own plural: always a list.
	j["$defs"] = definitions;
	return j.dump(2) + "\n";
}

namespace {

void write_text(Call &call, const std::string &path, const std::string &text)
{
	if (int error = call.host.replace_file(path, text, Host::Folders::Make))
		throw Failure(exit_of(error), fmt::format("cannot write {}: {}", path,
							  words_of(error, Action::Configure)));
}

Exit generate_man(Call &call)
{
	std::string folder = call.arguments[0];
	write_text(call, folder + "/rnbdadm.8", man_overview());
	write_text(call, folder + "/rnbd.conf.5", man_config());
	for (const Command &command : commands())
		if (!command.hidden)
			write_text(call, folder + "/" + man_name(command), man_command(command));
	return Exit::Done;
}

Exit generate_bash(Call &call)
{
	call.out << bash_completion();
	return Exit::Done;
}

Exit generate_zsh(Call &call)
{
	call.out << zsh_completion();
	return Exit::Done;
}

Exit generate_schema(Call &call)
{
	call.out << json_schema();
	return Exit::Done;
}

// For systemd's generator: the target wants a unit for each device.
Exit generate_units(Call &call)
{
	std::string folder = call.arguments[0] + "/rnbd-client.target.wants";
	Config config = read_config(call.host);
	std::vector<std::string> names, mistakes;
	for (const DeviceConfig &device : config.devices)
		names.push_back(device.name);
	for (const Mistake &mistake : config.mistakes) {
		mistakes.push_back(mistake.line());
		// Its unit fails, and says why.
		if (mistake.kind == "device" && is_device_name(mistake.name))
			names.push_back(mistake.name);
	}
	for (const std::string &name : names)
		if (int error = call.host.make_link(fmt::format("{}/rnbd@{}.service", folder, name),
						    "/lib/systemd/system/rnbd@.service"))
			throw Failure(exit_of(error),
				      fmt::format("cannot write to {}: {}", folder,
						  words_of(error, Action::Configure)));
	if (mistakes.empty())
		return Exit::Done;
	call.report(failure_of(mistakes, "the configuration"));
	return names.empty() ? Exit::Config : Exit::Mistakes;
}

// Which kind of objects a command line is about: what it names, else its first kind.
const Kind *kind_of(const std::vector<std::string> &line)
{
	const Command *command = nullptr;
	std::string name;
	std::vector<std::string> words;
	for (const std::string &word : line)
		if (!word.starts_with("-"))
			words.push_back(word);
	for (const std::string &word : words) {
		name += (name.empty() ? "" : " ") + word;
		for (const Command &c : commands())
			if (name == c.name)
				command = &c;
	}
	if (!command || command->kind)
		return command ? command->kind : nullptr;
	std::vector<std::string> kinds;
	for (const Argument &argument : command->arguments)
		for (const std::string &kind : split(argument.complete, "|"))
			kinds.push_back(kind);
	words.insert(words.end(), kinds.begin(), kinds.end());
	for (const std::string &word : words)
		for (const Kind *kind : all_kinds())
			if (std::count(kinds.begin(), kinds.end(), word) && word == kind->plural)
				return kind;
	return nullptr;
}

Exit complete(Call &call)
{
	if (call.arguments[0] == "columns") {
		const Kind *kind = kind_of({call.arguments.begin() + 1, call.arguments.end()});
		for (const Field &field : kind ? kind->fields : std::vector<Field>())
			call.out << field.key << '\n';
		return Exit::Done;
	}
	for (const std::string &name : live_names(call.host, call.arguments[0]))
		call.out << name << '\n';
	return Exit::Done;
}

} // namespace

std::vector<Command> generate_commands()
{
	const Argument folder = {"FOLDER", "where to write", "file"};
	return {
	    {"generate man",
	     "write the manual pages to a folder",
	     "One for each command, rnbdadm(8) and rnbd.conf(5).",
	     {folder},
	     {},
	     {{"rnbdadm generate man ./man", ""}},
	     nullptr,
	     generate_man,
	     false,
	     ""},
	    {"generate bash",
	     "print the completion for bash",
	     "",
	     {},
	     {},
	     {{"source <(rnbdadm generate bash)", ""}},
	     nullptr,
	     generate_bash,
	     false,
	     ""},
	    {"generate zsh",
	     "print the completion for zsh",
	     "",
	     {},
	     {},
	     {{"rnbdadm generate zsh > _rnbdadm", ""}},
	     nullptr,
	     generate_zsh,
	     false,
	     ""},
	    {"generate schema",
	     "print the JSON schema of all documents",
	     "",
	     {},
	     {},
	     {{"rnbdadm generate schema", ""}},
	     nullptr,
	     generate_schema,
	     false,
	     ""},
	    {"generate units",
	     "write the links by which systemd starts the configured devices",
	     "Called by systemd's generator with the folder that it gives. A device whose section "
	     "has a mistake gets its link, too: its unit fails, and says what is wrong.",
	     {folder},
	     {},
	     {},
	     nullptr,
	     generate_units,
	     false,
	     ""},
	    {"generate initramfs",
	     "write what an initramfs needs to map devices",
	     "Prints the names of the devices with 'initramfs = yes' in rnbd.conf(5). With FOLDER, "
	     "writes there, below etc/rnbd, a configuration of these devices alone, and the newest "
	     "generation of each key that their sessions have. Called by the hook of "
	     "initramfs-tools. Does nothing if there is no such device, and fails if one of them, "
	     "or its key, cannot be used as it is.",
	     {{"FOLDER", "what becomes the root of the initramfs", "file", false}},
	     {},
	     {{"rnbdadm generate initramfs", "what an initramfs would map"}},
	     nullptr,
	     generate_initramfs,
	     false,
	     ""},
	    {"complete",
	     "print names for a completion",
	     "",
	     {{"KIND", "kinds, separated by |; or 'columns' of a command"},
	      {"WORD", "a word of the command line so far", "", false, true}},
	     {},
	     {},
	     nullptr,
	     complete,
	     true},
	};
}

} // namespace rnbdadm
