// SPDX-License-Identifier: GPL-2.0
// generate ..., and what completions, udev and systemd call.
#include "config.hh"
#include "generate.hh"
#include "text.hh"

#include <cerrno>
#include <filesystem>
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
	if (int error = call.host.replace_file(path, text))
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
	std::error_code error;
	std::filesystem::create_directories(call.host.place(folder), error);
	for (const DeviceConfig &device : config.devices) {
		if (error)
			break;
		std::filesystem::path link =
		    call.host.place(fmt::format("{}/rnbd@{}.service", folder, device.name));
		std::filesystem::remove(link, error);
		std::filesystem::create_symlink("/lib/systemd/system/rnbd@.service", link, error);
	}
	if (error)
		throw Failure(Exit::Failed,
			      fmt::format("cannot write to {}: {}", folder, error.message()));
	return Exit::Done;
}

Exit complete(Call &call)
{
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
	     generate_man},
	    {"generate bash",
	     "print the completion for bash",
	     "",
	     {},
	     {},
	     {{"source <(rnbdadm generate bash)", ""}},
	     nullptr,
	     generate_bash},
	    {"generate zsh",
	     "print the completion for zsh",
	     "",
	     {},
	     {},
	     {{"rnbdadm generate zsh > _rnbdadm", ""}},
	     nullptr,
	     generate_zsh},
	    {"generate schema",
	     "print the JSON schema of all documents",
	     "",
	     {},
	     {},
	     {{"rnbdadm generate schema", ""}},
	     nullptr,
	     generate_schema},
	    {"generate units",
	     "write the links by which systemd starts the configured devices",
	     "Called by systemd's generator with the folder that it gives.",
	     {folder},
	     {},
	     {},
	     nullptr,
	     generate_units},
	    {"complete",
	     "print names for a completion",
	     "",
	     {{"KIND", "kinds, separated by |"}},
	     {},
	     {},
	     nullptr,
	     complete,
	     true},
	};
}

} // namespace rnbdadm
