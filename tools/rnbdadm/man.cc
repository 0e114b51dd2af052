// SPDX-License-Identifier: GPL-2.0
// Manual pages.
#include "config.hh"
#include "generate.hh"
#include "settings.hh"
#include "text.hh"

#include <algorithm>

#include <fmt/format.h>

namespace rnbdadm {

namespace {

// What troff would take for its own.
std::string quoted(const std::string &text)
{
	std::string result = replace_all(text, "\\", "\\e");
	result = replace_all(result, "-", "\\-");
	if (!result.empty() && (result[0] == '.' || result[0] == '\''))
		result = "\\&" + result;
	return replace_all(replace_all(result, "\n.", "\n\\&."), "\n'", "\n\\&'");
}

std::string head(const std::string &name, int section, const std::string &summary)
{
	return fmt::format(".\\\" SPDX-License-Identifier: GPL-2.0\n"
			   ".TH {} {} \"\" \"rnbdadm {}\" \"RNBD\"\n.SH NAME\n{} \\- {}\n",
			   quoted(replace_all(name, " ", "-")), section, version(),
			   quoted(replace_all(name, " ", "-")), quoted(summary));
}

std::string paragraphs(const std::string &text)
{
	std::string result;
	for (std::size_t at = 0; at < text.size();) {
		std::size_t end = std::min(text.find("\n\n", at), text.size());
		result += ".PP\n" + quoted(text.substr(at, end - at)) + "\n";
		at = end + 2;
	}
	return result;
}

std::string item(const std::string &term, const std::string &text)
{
	return fmt::format(".TP\n\\fB{}\\fR\n{}\n", quoted(term), quoted(text));
}

std::string option_items(const std::vector<Option> &options)
{
	std::string result;
	for (const Option &option : options) {
		std::string names =
		    option.key.letter ? fmt::format("\\fB\\-{}\\fR, ", option.key.letter) : "";
		names += fmt::format("\\fB\\-\\-{}\\fR", quoted(option.key.name));
		if (option.key.takes_value())
			names += fmt::format(" \\fI{}\\fR", quoted(option.key.value));
		result += fmt::format(".TP\n{}\n{}{}\n", names, quoted(option.help),
				      option.key.many() ? "; may be repeated" : "");
	}
	return result;
}

std::string exit_codes()
{
	std::string result = ".SH EXIT STATUS\nThe numbers keep their meaning in later versions.\n";
	for (const ExitText &e : kExitTexts)
		result += item(std::to_string(static_cast<int>(e.code)), e.text);
	return result;
}

std::string columns(const Kind &kind)
{
	std::string result = fmt::format(".SH COLUMNS\nThe keys of a {} in JSON, and the words for "
					 "\\fB\\-\\-columns\\fR:\n",
					 quoted(replace_all(kind.name, "_", " ")));
	for (const Field &field : kind.fields)
		result += item(field.key, std::string(field.help) + (field.shown ? ""
										 : " (not shown "
										   "by default)"));
	return result;
}

std::string example_items(const std::vector<Example> &examples)
{
	std::string result;
	for (const Example &example : examples) {
		if (*example.text)
			result += ".PP\n" + quoted(example.text) + ":\n";
		result += fmt::format(".PP\n.RS 4\n.nf\n{}\n.fi\n.RE\n", quoted(example.line));
	}
	return result;
}

const char *const kSample = R"([defaults]
request-timeout = 30

[session store]
path = 10.0.0.2@10.0.0.1
path = 10.0.1.2@10.0.1.1
policy = min-latency

[device vm1]
session = store
device = /dev/vg0/vm1
no-path-timeout = 120

[device images]
session = store
device = /dev/vg0/images
access = ro

[export backup]
device = /dev/vg1/backup
client = host7
address = 10.0.0.0/30
)";

} // namespace

std::string man_name(const Command &command)
{
	return fmt::format("rnbdadm-{}.8", replace_all(command.name, " ", "-"));
}

std::string man_overview()
{
	std::string text = head("rnbdadm", 8, "manage block devices of other machines over RDMA");
	text +=
	    ".SH SYNOPSIS\n\\fBrnbdadm\\fR \\fICOMMAND\\fR [words] [options]\n.SH DESCRIPTION\n";
	text += paragraphs(
	    "RNBD makes a block device of one machine, the server, a disk of another one, the "
	    "client. "
	    "Its transport, RTRS, connects the two by a session of one or more paths. rnbdadm "
	    "manages "
	    "both sides: it reads and writes the files of the modules in sysfs and configfs, and "
	    "never "
	    "opens a block device, so it answers for a dead one, too.\n\n"
	    "Objects may be called by any of their names: a disk as rnbd0, /dev/rnbd0, its path on "
	    "the "
	    "server, session:path or its name in the configuration; a path as source@destination, "
	    "session:port, hca:port or an address. A session and its paths go by the name of the "
	    "server's machine, too. If a name fits several objects, they are listed and "
	    "nothing is done.\n\n"
	    "A command that succeeds says nothing but what it was asked for. Errors are on stderr, "
	    "with the reason of the kernel in words.");
	std::string others;
	for (const Alias &alias : aliases())
		others += fmt::format("{}{} for {}", others.empty() ? "" : ", ", alias.name,
				      alias.stands_for);
	text += paragraphs("Other names of commands: " + others + ".");
	text += ".SH COMMANDS\n";
	for (const Command &command : commands())
		if (!command.hidden)
			text += fmt::format(".TP\n\\fB{}\\fR (see \\fBrnbdadm\\-{}\\fR(8))\n{}\n",
					    quoted(command.name),
					    quoted(replace_all(command.name, " ", "-")),
					    quoted(command.summary));
	text += ".SH OPTIONS OF ALL COMMANDS\n" + option_items(global_options());
	text += ".SH OUTPUT\n";
	text += paragraphs(
	    "Tables have aligned columns, units of 1024 and, on a terminal, colours; NO_COLOR in "
	    "the "
	    "environment turns those off. CSV has a line of keys and plain numbers. JSON documents "
	    "begin "
	    "with \"schema\": \"rnbdadm\" and their \"version\"; keys may be added under the same "
	    "version. 'rnbdadm generate schema' prints their JSON schema. What a module does not "
	    "offer "
	    "is null.");
	text += exit_codes();
	text += ".SH FILES\n";
	text += item("/etc/rnbd/rnbd.conf, /etc/rnbd/rnbd.conf.d/*.conf",
		     "what apply maps and exports, see rnbd.conf(5)");
	text += item("/etc/rnbd/keys.d/",
		     "keys, a file NAME.GENERATION for each, which only root can read");
	text += item("/etc/rnbd/events.d/",
		     "programs that rnbd-events.service runs for each event; see "
		     "rnbdadm-monitor(8)");
	text += item("/run/rnbd/devices/", "which disks this program has mapped");
	text += item("/sys/class/rnbd-client, rnbd-server, rtrs-client, rtrs-server",
		     "the files of the modules");
	text += item("/sys/kernel/config/rnbd/exports", "exports by name");
	text += ".SH SEE ALSO\n\\fBrnbd.conf\\fR(5)";
	for (const Command &command : commands())
		if (!command.hidden)
			text += fmt::format(", \\fBrnbdadm\\-{}\\fR(8)",
					    quoted(replace_all(command.name, " ", "-")));
	return text + "\n";
}

std::string man_command(const Command &command)
{
	std::string text = head(std::string("rnbdadm ") + command.name, 8, command.summary);
	text += ".SH SYNOPSIS\n" + quoted(usage_of(command)) + "\n.SH DESCRIPTION\n";
	text += paragraphs(*command.text ? command.text : command.summary);
	for (const Argument &argument : command.arguments)
		text += item(argument.name, argument.help);
	if (!command.options.empty())
		text += ".SH OPTIONS\n" + option_items(command.options);
	// Said once, so that a page is about its command.
	text += ".SH OPTIONS OF ALL COMMANDS\n"
		"\\fBrnbdadm\\fR(8) has them, such as \\fB\\-\\-output\\fR.\n";
	if (command.kind)
		text += columns(*command.kind);
	if (!command.examples.empty())
		text += ".SH EXAMPLES\n" + example_items(command.examples);
	text += exit_codes();
	return text + ".SH SEE ALSO\n\\fBrnbdadm\\fR(8), \\fBrnbd.conf\\fR(5)\n";
}

std::string man_config()
{
	std::string text = head("rnbd.conf", 5, "what RNBD maps and exports");
	text +=
	    ".SH SYNOPSIS\n/etc/rnbd/rnbd.conf, /etc/rnbd/rnbd.conf.d/*.conf\n.SH DESCRIPTION\n";
	text += paragraphs(
	    "'rnbdadm apply' maps the devices and makes the exports that are described here; "
	    "systemd "
	    "does so at each start, with one unit rnbd@NAME.service for each device once "
	    "rnbd-client.target "
	    "is enabled, and rnbd-server.service for the exports. All files are read as if they "
	    "were one. "
	    "After a change: systemctl daemon-reload, then systemctl start rnbd-client.target; on "
	    "a "
	    "server systemctl reload rnbd-server. 'rnbdadm map --save' and 'rnbdadm server export "
	    "add --save' add a section at the end of rnbd.conf, 'rnbdadm unmap --save' and "
	    "'rnbdadm server export remove --save' take it out; all else stays as it is.\n\n"
	    "An address is written in any of its ways: fd00::1, FD00:0:0::1 and [fd00::1] are one. "
	    "A line is empty, a comment that begins with # or ;, a [section], or a key = value. A "
	    "value is one word, but that of device, and no comment stands behind it. A mistake is "
	    "reported with its file and line. It costs the section that it stands in: a device or "
	    "an export that is described there, of a session also its devices, of [defaults] all "
	    "that would take the value from there, of a key all exports for clients by name, since "
	    "anybody may use names that are not bound. All else is brought about. Of two sections "
	    "of "
	    "one name the first holds. 'rnbdadm check' reads the configuration and does nothing "
	    "else.");
	text += ".SH SECTIONS\n";
	text +=
	    item("[defaults]", "values for all sections below, in any file; the last one counts");
	text += item("[session NAME]",
		     "a session with a server. The name must differ for each client of the server");
	text += item(
	    "[device NAME]",
	    "a device to map. The name is yours; it is that of the unit rnbd@NAME.service, and "
	    "rnbdadm takes it as a name of the disk");
	text +=
	    item("[export NAME]",
		 "on a server: a block device that clients may map by this name, in which there is "
		 "no blank; its device may have some");
	text += item("[key NAME]",
		     "on a server: which names of sessions the key of that name opens, and nobody "
		     "else. Without, it opens those that are in no such section");
	text += paragraphs(
	    "What a device does not say is taken from its session, and then from [defaults]; what "
	    "a session or an export does not say, from [defaults]. A key that stands nowhere "
	    "leaves a setting as the module has it: the default below is that of the modules of "
	    "this project.");
	text += ".SH KEYS\n";
	for (const ConfigKey &key : config_keys()) {
		std::vector<std::string> where;
		if (key.defaults)
			where.push_back("defaults");
		if (key.session)
			where.push_back("session");
		if (key.device)
			where.push_back("device");
		if (key.exported)
			where.push_back("export");
		if (key.key)
			where.push_back("key");
		text += fmt::format(".TP\n\\fB{}\\fR = \\fI{}\\fR  ({}{})\n{}.\n.br\n{}.\n",
				    quoted(key.name), quoted(key.value), join(where, ", "),
				    key.many ? "; may be repeated" : "", quoted(key.help),
				    key.standard.empty() ? "It is needed"
							 : "Default: " + quoted(key.standard));
	}
	text += ".SH NAMES OF MACHINES\n";
	text += paragraphs(
	    "Where an address may stand in a path, a name of a machine may stand, too. It is "
	    "resolved when the devices are applied or compared, and when an initramfs is made, "
	    "which "
	    "gets addresses; a path that runs to any of its addresses is the path that is meant. A "
	    "path whose name nobody knows is left out and reported, and a device of a session that "
	    "has no other fails, and nothing else; its unit tries again. What a disk is needed for "
	    "before the resolver works, its root for example, wants addresses or /etc/hosts.\n\n"
	    "The 'address' of an export may be a name, too, and stands for all addresses of that "
	    "machine when exports are applied; when it gets another one, 'systemctl reload "
	    "rnbd-server' takes it. An export whose name nobody knows is not made, and one that "
	    "runs stays as it is. Such a rule is as good as whoever answers for names.");
	text += ".SH EXAMPLE\n.nf\n" + quoted(kSample) + ".fi\n";
	text += ".SH INITRAMFS\n";
	text += paragraphs(
	    "A device with 'initramfs = yes' can have the root file system. The hook of "
	    "initramfs-tools puts into the initramfs the modules, rnbdadm, a configuration of "
	    "these devices alone, and the newest generation of the keys of their sessions; an "
	    "initramfs with a key can be read by root only. Without such a device nothing is put "
	    "there. The initramfs configures the network by the kernel's parameter ip=, makes what "
	    "'soft-roce' names, loads the keys and maps the devices by the paths from addresses "
	    "that it has then, for rnbd.timeout= seconds, 180 if not given. After each change of "
	    "what it has, such as a new generation of a key: update-initramfs -u. "
	    "rnbd@NAME.service takes such a device as it is, and leaves it mapped when it stops. "
	    "Give it 'no-path-timeout = -1': I/O of a root file system must wait, not fail.");
	text += ".SH FILE SYSTEMS\n";
	text += paragraphs(
	    "In /etc/fstab give the option _netdev, so that the file system is mounted after the "
	    "units of "
	    "the devices and unmounted before them, and name the disk by its file system or by "
	    "/dev/rnbd/by-session/, since the number of a disk may change:");
	text += ".PP\n.RS 4\n.nf\nUUID=...  /srv  ext4  _netdev,nofail  0  2\n.fi\n.RE\n";
	return text +
	       ".SH SEE ALSO\n\\fBrnbdadm\\fR(8), \\fBrnbdadm\\-apply\\fR(8), "
	       "\\fBrnbdadm\\-check\\fR(8), \\fBrnbdadm\\-diff\\fR(8), \\fBrnbdadm\\-save\\fR(8)\n";
}

} // namespace rnbdadm
