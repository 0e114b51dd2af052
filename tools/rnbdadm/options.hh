// SPDX-License-Identifier: GPL-2.0
// The options of all commands: each is one object here, of the type that its value has. What it
// means for a command stands there (Option of command.hh).
#pragma once

#include "output.hh"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rnbdadm {

enum class OptionType { Flag, Number, Choice, Text, List };

// `complete` is what completes its value: a kind of live object (device, session, path, export,
// mapping ...), "file", words separated by '|', or nothing.
struct OptionKey {
	const char *name;
	char letter; // 0 for none
	OptionType type;
	const char *value; // name of the value, "" for a flag
	const char *complete = "";
	std::int64_t min = 0, max = 0, fallback = 0; // of a number

	constexpr bool takes_value() const { return type != OptionType::Flag; }
	constexpr bool many() const { return type == OptionType::List; }
};

struct FlagKey : OptionKey {
	constexpr FlagKey(const char *n, char l = 0) : OptionKey{n, l, OptionType::Flag, ""} {}
};

struct NumberKey : OptionKey {
	constexpr NumberKey(const char *n, char l, const char *v, std::int64_t least,
			    std::int64_t most, std::int64_t otherwise)
	    : OptionKey{n, l, OptionType::Number, v, "", least, most, otherwise}
	{
	}
};

// One of `words`, the first if it is not given; E counts them in this order.
template <class E> struct ChoiceKey : OptionKey {
	constexpr ChoiceKey(const char *n, char l, const char *v, const char *words)
	    : OptionKey{n, l, OptionType::Choice, v, words}
	{
	}
};

struct TextKey : OptionKey {
	constexpr TextKey(const char *n, char l, const char *v, const char *c = "")
	    : OptionKey{n, l, OptionType::Text, v, c}
	{
	}
};

// May be given several times.
struct ListKey : OptionKey {
	constexpr ListKey(const char *n, char l, const char *v, const char *c = "")
	    : OptionKey{n, l, OptionType::List, v, c}
	{
	}
};

enum class When { Auto, Always, Never };

namespace opt {

constexpr std::int64_t kMany = 1 << 30;
constexpr std::int64_t kDay = 86400; // s

// Of all commands.
inline constexpr ChoiceKey<Format> kOutput{"output", 'o', "FORMAT", "table|json|csv"};
inline constexpr ListKey kColumns{"columns", 'c', "LIST", "columns"};
inline constexpr FlagKey kRaw{"raw"};
inline constexpr ChoiceKey<ByteUnit> kUnits{"units", 0, "UNIT", "auto|B|KiB|MiB|GiB|TiB"};
inline constexpr FlagKey kNoHeader{"no-header"};
inline constexpr ChoiceKey<When> kColor{"color", 0, "WHEN", "auto|always|never"};
inline constexpr FlagKey kDryRun{"dry-run", 'n'};
inline constexpr NumberKey kTimeout{"timeout", 't', "SECONDS", 1, kDay, 90};
inline constexpr FlagKey kVerbose{"verbose", 'v'};
inline constexpr TextKey kRoot{"root", 0, "FOLDER", "file"};
inline constexpr FlagKey kHelp{"help", 'h'};
inline constexpr FlagKey kVersion{"version"};

// Of sessions and disks.
inline constexpr TextKey kSession{"session", 's', "NAME", "session"};
inline constexpr ListKey kPath{"path", 'p', "[SRC@]DST"};
inline constexpr NumberKey kPort{"port", 0, "NUMBER", 1, 65535, 1234};
inline constexpr TextKey kAccess{"access", 'a', "MODE", "ro|rw|migration|shared"};
inline constexpr TextKey kAuth{"auth", 0, "POLICY", "off|optional|required"};
inline constexpr TextKey kKey{"key", 0, "NAME"};
inline constexpr NumberKey kPollQueues{"poll-queues", 0, "NUMBER", -1, 65536, 0};
inline constexpr NumberKey kNoPathTimeout{"no-path-timeout", 0, "SECONDS", -1, kMany, 0};
inline constexpr FlagKey kIfMapped{"if-mapped"};
inline constexpr FlagKey kSpareInitramfs{"spare-initramfs"};
inline constexpr FlagKey kOthersToo{"others-too"};
inline constexpr FlagKey kShrink{"shrink"};

// Of exports and keys.
inline constexpr ListKey kClients{"client", 0, "SESSION"};
inline constexpr ListKey kKeys{"key", 0, "KEY", "key"};
inline constexpr ListKey kAddresses{"address", 0, "ADDRESS[/BITS]"};
inline constexpr TextKey kFrom{"from", 0, "ADDRESS"};
inline constexpr TextKey kLocalUse{"local-use", 0, "MODE", "exclusive|shared"};
inline constexpr FlagKey kAnyClient{"any-client"};
inline constexpr FlagKey kAnyKey{"any-key"};
inline constexpr FlagKey kAnyAddress{"any-address"};
inline constexpr TextKey kGeneration{"generation", 0, "NUMBER"};

// Of the configuration.
inline constexpr FlagKey kDevices{"devices"};
inline constexpr FlagKey kExports{"exports"};
inline constexpr FlagKey kPresentPaths{"present-paths"};
inline constexpr FlagKey kMissingOnly{"missing-only"};
inline constexpr FlagKey kSave{"save"};
inline constexpr FlagKey kPrune{"prune"};

// Of what looks again and again.
inline constexpr FlagKey kWatch{"watch", 'w'};
inline constexpr NumberKey kInterval{"interval", 'i', "SECONDS", 1, kDay, 1};
inline constexpr NumberKey kCount{"count", 0, "NUMBER", 1, kMany, 0};
inline constexpr NumberKey kFor{"for", 0, "SECONDS", 1, kMany, 0};
inline constexpr FlagKey kReset{"reset"};
inline constexpr TextKey kRun{"run", 0, "PLACE", "file"};
inline constexpr NumberKey kRunLimit{"run-limit", 0, "SECONDS", 1, kDay, 30};

// Of several kinds.
inline constexpr FlagKey kAll{"all"};
inline constexpr FlagKey kForce{"force", 'f'};
inline constexpr TextKey kFile{"file", 0, "FILE", "file"};

} // namespace opt

// What of them stands on a command line.
class Options {
public:
	// Of a command that has these.
	explicit Options(std::vector<OptionKey> known = {}) : known_(std::move(known)) {}

	// Failure (Usage) if `word` is no value of its type; "" for a flag.
	void add(const OptionKey &key, const std::string &word);

	// Whether it is given. A command that asks for what it has not is wrong: std::logic_error.
	bool has(const OptionKey &key) const { return find(key) != nullptr; }
	std::int64_t number(const NumberKey &key) const;
	std::string text(const TextKey &key, const std::string &fallback = "") const;
	std::vector<std::string> list(const ListKey &key) const;
	template <class E> E choice(const ChoiceKey<E> &key) const
	{
		return static_cast<E>(choice_of(key));
	}

private:
	// The last word that was given for it, and what it says; of a list all words.
	struct Value {
		std::vector<std::string> words;
		std::int64_t number = 0;
	};

	// Null if it is not given.
	const Value *find(const OptionKey &key) const;
	std::int64_t choice_of(const OptionKey &key) const;

	std::vector<OptionKey> known_;
	std::map<std::string, Value> values_; // by name: a command has one option of a name
};

} // namespace rnbdadm
