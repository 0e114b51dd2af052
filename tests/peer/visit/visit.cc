// SPDX-License-Identifier: GPL-2.0
#include "visit.hh"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <thread>

namespace peer {

namespace {

using std::chrono::seconds;

// The client's timeouts are 30 s, for a request 60 s, and emulated machines are slow.
constexpr seconds kTimeoutMin{25};
constexpr seconds kTimeoutMax{100};

std::string name_of(int error)
{
	const char *name = error ? strerrorname_np(error) : "success";
	return name ? name : std::to_string(error);
}

bool one_of(const std::string &word, const std::string &words)
{
	std::istringstream in(words);
	for (std::string w; std::getline(in, w, '|');)
		if (w == word)
			return true;
	return false;
}

std::string expect(int got, int want, const std::string &what)
{
	return got == want ? "" : what + ": got " + name_of(got) + ", want " + name_of(want);
}

std::string expect(bool got, bool want, const std::string &what)
{
	return got == want ? "" : what + (got ? " worked" : " failed");
}

std::string first_of(std::initializer_list<std::string> texts)
{
	for (const std::string &t : texts)
		if (!t.empty())
			return t;
	return "";
}

bool power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

std::string limits(const MappedDisk &d)
{
	const uint64_t logical = d.number("queue/logical_block_size");
	const uint64_t physical = d.number("queue/physical_block_size");
	if (!power_of_two(logical) || !power_of_two(physical) || logical < 512 ||
	    physical < logical)
		return "block sizes " + std::to_string(logical) + " and " +
		       std::to_string(physical);
	if (d.number("size") % (logical / 512))
		return "the size is no whole number of blocks";
	const uint64_t granularity = d.number("queue/discard_granularity");
	if (d.number("queue/discard_max_bytes") % logical || granularity % logical ||
	    (d.number("queue/discard_max_bytes") && !granularity) ||
	    d.number("discard_alignment") % logical)
		return "discard limits";
	return "";
}

// The state comes within a time, for it is reached behind a command.
std::string reach(const MappedDisk &d, const std::string &state)
{
	for (int i = 0; i < 50 && d.state() != state; i++)
		std::this_thread::sleep_for(milliseconds(100));
	return d.state() == state ? "" : "state is " + d.state() + ", want " + state;
}

bool use(MappedDisk &d, milliseconds pause = {})
{
	const bool written = d.write_block();
	std::this_thread::sleep_for(pause);
	return d.read_back() && written;
}

// ---- what the second word of an outcome asks for, on a mapped disk that was used

std::string wait(MappedDisk &)
{
	std::this_thread::sleep_for(seconds(3));
	return "";
}

std::string come_back(MappedDisk &d, bool same)
{
	return first_of({expect(d.reconnect(), 0, "reconnect"), reach(d, "open"),
			 same ? expect(use(d), true, "I/O after a reconnect") : ""});
}

std::string come_back_refused(MappedDisk &d)
{
	return first_of({expect(d.reconnect(), ENOTCONN, "reconnect"), reach(d, "closed"),
			 expect(use(d), false, "I/O without a path")});
}

// The path goes on trying; the user sees that there is none.
std::string come_back_unproven(MappedDisk &d, const std::string &error)
{
	const std::string refused = expect(d.reconnect(), ENOTCONN, "reconnect");
	const std::string why = name_of(-d.last_error());
	return first_of({refused, why == error ? "" : "last_error is " + why + ", want " + error,
			 reach(d, "closed"), expect(use(d), false, "I/O without a path")});
}

std::string come_back_slower(MappedDisk &d)
{
	const int before = d.heartbeat_interval();
	const std::string text = come_back_unproven(d, "EKEYREJECTED");
	const int now = d.heartbeat_interval();
	if (text.empty() && (!before || now != before))
		return "heartbeats each " + std::to_string(now) + " ms, before " +
		       std::to_string(before);
	return text;
}

std::string come_back_closed(MappedDisk &d)
{
	const std::string text = expect(d.reconnect(), 0, "reconnect");
	std::this_thread::sleep_for(seconds(1));
	return first_of(
	    {text, reach(d, "closed"), expect(use(d), false, "I/O of a disk that is refused")});
}

std::string come_back_smaller(MappedDisk &d)
{
	const std::string text = come_back(d, false);
	return d.number("size") == 1024 ? text : "the size is " + d.attribute("size");
}

std::string do_more(const std::string &word, MappedDisk &d)
{
	if (word == "wait" || word == "accomplice")
		return wait(d);
	if (word == "limits")
		return limits(d);
	if (word == "reconnect")
		return come_back(d, true);
	if (word == "reconnect-heartbeats")
		return come_back_slower(d);
	if (word.starts_with("reconnect-E"))
		return come_back_unproven(d, word.substr(std::strlen("reconnect-")));
	if (word.starts_with("discover-")) {
		const std::string got = name_of(d.discover());
		return "discover-" + got == word ? "" : "discover: got " + got + ", want " + word;
	}
	if (word.starts_with("reserve-")) {
		const int code = d.reserve();
		const std::string got = code > 0 ? "CONFLICT" : name_of(-code);
		return "reserve-" + got == word ? "" : "reserve: got " + got + ", want " + word;
	}
	if (word == "reconnect-refused")
		return come_back_refused(d);
	if (word == "reconnect-stays-closed")
		return come_back_closed(d);
	if (word == "reconnect-smaller")
		return come_back_smaller(d);
	return "";
}

// I/O that is never answered ends when the administrator disconnects the path. Its age does not end
// it, for the connection acknowledges what it is asked: the server could as well be at work.
std::string get_unstuck(MappedDisk &d, bool unmap_too)
{
	constexpr int kTimeout = 1;
	if (const int code = d.set_request_timeout(kTimeout))
		return "request_timeout: " + name_of(code);
	bool worked = true;
	bool ended = false;
	bool unmapped = false;
	int unmap_code = 0;
	std::thread io([&] {
		MappedDisk copy = d;
		worked = use(copy);
		__atomic_store_n(&ended, true, __ATOMIC_RELEASE);
	});
	std::this_thread::sleep_for(seconds(2));
	std::thread unmap([&] {
		MappedDisk copy = d;
		if (unmap_too)
			unmap_code = copy.unmap("force");
		__atomic_store_n(&unmapped, unmap_too, __ATOMIC_RELEASE);
	});
	// Ages are looked at every 5 s before the new timeout counts; then it is asked and waited
	// for as long again, and looked at twice a second.
	std::this_thread::sleep_for(seconds(6 + 3 * kTimeout));
	const bool early = __atomic_load_n(&ended, __ATOMIC_ACQUIRE);
	const bool unmapped_early = __atomic_load_n(&unmapped, __ATOMIC_ACQUIRE);
	const int code = d.disconnect();
	io.join();
	unmap.join();
	return first_of({expect(early, false, "I/O that nobody answered"),
			 expect(unmapped_early, false, "unmap while I/O waits"),
			 expect(code, 0, "disconnect"), expect(unmap_code, 0, "unmap"),
			 expect(worked, false, "I/O over a path that was disconnected")});
}

// Many requests at a time, until the first fails or a time is over.
void keep_busy(MappedDisk &d)
{
	constexpr int kThreads = 8;
	const auto end = Clock::now() + seconds(2);
	std::vector<std::thread> threads;
	for (int i = 0; i < kThreads; i++)
		threads.emplace_back([copy = d, end]() mutable {
			while (Clock::now() < end && (copy.write_block() || copy.read_back()))
				copy.read_back();
		});
	for (std::thread &t : threads)
		t.join();
}

std::string use_mapped(MappedDisk &d, const std::string &outcome, const std::string &word)
{
	if (outcome == "stuck")
		return get_unstuck(d, word == "unmap");
	if (word == "busy")
		keep_busy(d);
	// Further answers to the write, which a busy server sends late: as long as nothing else has
	// its slot, they are nobody's. Behind that nobody could tell them from answers to the read.
	const bool worked = use(d, seconds(word == "slowly" ? 1 : 0));
	if (outcome == "any")
		return "";
	return first_of({expect(worked, outcome == "ok", "I/O"), do_more(word, d)});
}

std::string visit_lie(const Addresses &addresses, const Told &told)
{
	const std::string &all = told.lie.outcome;
	const size_t colon = all.find(':');
	const std::string outcome = all.substr(0, colon == all.npos ? all.find(' ') : colon);
	const size_t space = all.find(' ');
	const std::string word = space == all.npos ? "" : all.substr(space + 1);

	MappedDisk d(addresses, told.lie.name);
	MappedDisk other(addresses, told.lie.name + "-other");
	if (word == "accomplice")
		if (const int code = other.map(told.port))
			return "map_device of another session: " + name_of(code);
	const int code = d.map(told.port, told.lie.auth);
	if (colon != all.npos) {
		if (one_of(name_of(code), all.substr(colon + 1)))
			return "";
		if (!code)
			d.unmap("force");
		return "map_device: got " + name_of(code) + ", want " + all;
	}
	if (code)
		return outcome == "any" ? "" : "map_device: " + name_of(code);
	const std::string text = use_mapped(d, outcome, word);
	const std::string unmapped = word == "unmap" ? "" : expect(d.unmap("force"), 0, "unmap");
	if (word == "accomplice")
		other.unmap("force");
	return first_of({text, unmapped});
}

// In a session of the same name.
std::string visit_honest(const Tour &tour, const Told &told)
{
	MappedDisk d(tour.addresses, told.lie.name);
	if (d.session_exists())
		return "the session is still there";
	if (const int code = d.map(tour.honest.port, tour.honest.lie.auth))
		return "an honest session afterwards: " + name_of(code);
	return first_of({expect(use(d), true, "I/O in an honest session afterwards"),
			 expect(d.unmap("normal"), 0, "unmap of an honest session afterwards")});
}

} // namespace

bool is_slow(const Lie &lie)
{
	return lie.outcome.find("late") != std::string::npos;
}

std::string visit(const Tour &tour, const Told &told)
{
	const auto begin = Clock::now();
	std::string text = visit_lie(tour.addresses, told);
	const auto took = std::chrono::duration_cast<seconds>(Clock::now() - begin);
	if (text.empty() && is_slow(told.lie) && (took < kTimeoutMin || took > kTimeoutMax))
		text = "took " + std::to_string(took.count()) + " s";
	const bool after = tour.after.empty() || !std::system(tour.after.c_str());
	return first_of({text, expect(after, true, tour.after), visit_honest(tour, told)});
}

} // namespace peer
