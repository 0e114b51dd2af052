// SPDX-License-Identifier: GPL-2.0
// What a command ends with: an exit code that scripts may rely on, and a reason in words.
#pragma once

#include <stdexcept>
#include <string>

namespace rnbdadm {

// A promise to scripts: numbers are never given another meaning. The man page prints this table.
enum class Exit : int {
	Done = 0,
	Failed = 1,    // the kernel or the server refused; the text says why
	Usage = 2,     // the command line is wrong; nothing was tried
	NotFound = 3,  // no object of that name
	Ambiguous = 4, // the name fits several objects
	Exists = 5,    // is there already
	Busy = 6,      // in use
	TimedOut = 7,  // not decided within --timeout
	Denied = 8,    // needs other privileges
	Missing = 9,   // a module is not loaded, or too old for this
	Partial = 10,  // some of several objects failed
	Config = 11,   // the configuration is faulty; nothing was done
	Differs = 12,  // diff found a difference, doctor or explain a problem
	Mistakes = 13, // the configuration has mistakes; all else in it was done
};

struct ExitText {
	Exit code;
	const char *name;
	const char *text;
};

// Every Exit, in order.
extern const ExitText kExitTexts[14];

// Thrown by whatever cannot go on; main prints it on stderr. `hint` says what to do next.
class Failure : public std::runtime_error {
public:
	Failure(Exit code, const std::string &text, std::string hint = "")
	    : std::runtime_error(text), code_(code), hint_(std::move(hint))
	{
	}

	Exit code() const { return code_; }
	const std::string &hint() const { return hint_; }

private:
	Exit code_;
	std::string hint_;
};

// What was written when an errno came back; the same number means different things.
enum class Action {
	Map,
	Unmap,
	Remap,
	Resize,
	AddPath,
	ConnectPath,
	ClosePath,
	Configure,
	ServerClose,
	Export,
	Discover,
	Reservations,
};

// The reason behind a positive errno in words, with its name: "the server has no such device
// (ENOENT)".
std::string words_of(int error, Action action);
// What to look at, where the number alone does not say it; may be empty.
std::string advice_of(int error, Action action);
// An EACCES of the server is a refusal, one of this machine's a lack of rights.
Exit exit_of(int error, Action action = Action::Configure);
// "cannot write <file>: <reason in words>", of a file that was to be replaced.
Failure unwritable(const std::string &file, int error);

} // namespace rnbdadm
