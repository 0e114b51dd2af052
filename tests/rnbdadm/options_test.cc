// SPDX-License-Identifier: GPL-2.0
// Options by their types.
#include "fake.hh"

#include <set>
#include <stdexcept>

namespace {

using namespace rnbdadm;

std::string refusal(const OptionKey &key, const std::string &word)
{
	Options options({key});
	try {
		options.add(key, word);
	} catch (const Failure &failure) {
		EXPECT_EQ(failure.code(), Exit::Usage);
		return failure.what();
	}
	return "";
}

} // namespace

TEST(RnbdadmOptions, ValuesHaveTheirType)
{
	Options options({opt::kForce, opt::kPort, opt::kOutput, opt::kSession, opt::kPath});
	EXPECT_FALSE(options.has(opt::kForce));
	EXPECT_EQ(options.number(opt::kPort), 1234);
	EXPECT_EQ(options.choice(opt::kOutput), Format::Table);
	EXPECT_EQ(options.text(opt::kSession, "none"), "none");
	EXPECT_TRUE(options.list(opt::kPath).empty());
	options.add(opt::kForce, "");
	for (const char *port : {"1", "65535"})
		options.add(opt::kPort, port);
	options.add(opt::kOutput, "csv");
	options.add(opt::kSession, "one");
	options.add(opt::kSession, "two");
	for (const char *path : {"a", "b"})
		options.add(opt::kPath, path);
	EXPECT_TRUE(options.has(opt::kForce));
	EXPECT_EQ(options.number(opt::kPort), 65535);
	EXPECT_EQ(options.choice(opt::kOutput), Format::Csv);
	EXPECT_EQ(options.text(opt::kSession), "two");
	EXPECT_EQ(options.list(opt::kPath), (std::vector<std::string>{"a", "b"}));
}

TEST(RnbdadmOptions, OtherValuesAreRefused)
{
	for (const char *word : {"", "0", "65536", "-1", "0x50", "80 ", "eighty"})
		EXPECT_EQ(refusal(opt::kPort, word),
			  std::string("--port: '") + word + "' is no whole number from 1 to 65535");
	EXPECT_EQ(refusal(opt::kPollQueues, "-1"), "");
	EXPECT_EQ(refusal(opt::kOutput, "jsn"),
		  "--output: 'jsn' is not table, json or csv, did you mean 'json'?");
	EXPECT_EQ(refusal(opt::kColor, "blue"), "--color: 'blue' is not auto, always or never");
}

// Of another name, or of the same one and another type.
TEST(RnbdadmOptions, ACommandAsksForItsOwnOnly)
{
	const Options options({opt::kForce, opt::kKey});
	EXPECT_THROW(options.has(opt::kAll), std::logic_error);
	EXPECT_THROW(options.list(opt::kKeys), std::logic_error);
	EXPECT_EQ(options.text(opt::kKey), "");
}

TEST(RnbdadmOptions, NoCommandHasTwoOfOneNameOrLetter)
{
	for (const Command &command : commands()) {
		std::set<std::string> names;
		std::set<char> letters;
		for (const std::vector<Option> &some : {command.options, global_options()})
			for (const Option &option : some) {
				EXPECT_TRUE(names.insert(option.key.name).second)
				    << command.name << " --" << option.key.name;
				EXPECT_TRUE(!option.key.letter ||
					    letters.insert(option.key.letter).second)
				    << command.name << " -" << option.key.letter;
				EXPECT_EQ(option.key.takes_value(), *option.key.value != 0)
				    << option.key.name;
			}
	}
}
