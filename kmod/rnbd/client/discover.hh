// SPDX-License-Identifier: GPL-2.0
// What a server exports to this machine: asked by ctl/discover, told by ctl/discovered (protocol
// D.5).
//
// The question is asked in a session: one that is open, or one that is opened for it and closes
// when the answer is here, as it would after the unmapping of its last device. The answer outlives
// it: it is text, which stays until the next question is answered, or the module goes.
#pragma once

#include <cxxrt/guarded.hh>
#include <cxxrt/memory.hh>
#include <rnbd/client/session.hh>
#include <rnbd/wire/discover.hh>

namespace rnbd::client {

class Discovery {
public:
	Discovery();
	Discovery(const Discovery &) = delete;
	Discovery &operator=(const Discovery &) = delete;

	// Asks in `session`, in which `question` came. EOPNOTSUPP if the server knows no such
	// question, EOVERFLOW if it does not come to an end, what the way met, EINTR. Sleeps long.
	Status ask(Session &session, TextView question);
	// Copies a part of the answer, as DeviceBlob has it. May sleep.
	usize read(u64 from, char *to, usize size);

private:
	class Text;
	struct Answer {
		cxxrt::Array<char> text;
		usize size = 0;
		u32 serial = 0;
	};

	static Result<bool> collect(Session &session, Text &text);
	static Status put(Text &text, const DiscoverView &view);

	cxxrt::Guarded<Answer, cxxrt::Mutex> answer_;
};

} // namespace rnbd::client
