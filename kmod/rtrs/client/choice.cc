// SPDX-License-Identifier: GPL-2.0
// Which path a request takes (protocol B.5), and what if that one does not.
#include <rtrs/client/session.hh>
#include <rtrs/client/trace.hh>

using namespace cxxrt;

namespace rtrs::client {

// Under RcuReader. The policy is read once; a switch takes effect with the next choice.
Path *Session::choose(const TriedPaths &tried)
{
	const auto usable = [&](const Path &path) {
		return path.connected() && !tried.has(path.index());
	};
	switch (READ_ONCE(policy_)) {
	case Policy::RoundRobin:
		return note_choice(choose_round_robin(paths_, last_choice(), usable));
	case Policy::MinLatency:
		return choose_fastest(paths_, usable,
				      [](const Path &path) { return path.latency_ns(); });
	case Policy::MinInflight:
		break;
	}
	// What this CPU has on its way there: a sum over all of them would be more work for each
	// request the more there are, on lines that the others write. As each CPU has a connection
	// of every path, all that are loaded evenly by each are loaded evenly.
	const int cpu = raw_smp_processor_id();
	return note_choice(
	    choose_least_in_turn(paths_, last_choice(), usable,
				 [&](const Path &path) { return path.inflight_of(cpu); }));
}

// The path that this CPU took last: to compare with, it may be gone.
inline const void *Session::last_choice() const
{
	return reinterpret_cast<const void *>(
	    READ_ONCE(last_path_.on(raw_smp_processor_id()).address));
}

inline Path *Session::note_choice(Path *path)
{
	WRITE_ONCE(last_path_.on(raw_smp_processor_id()).address, reinterpret_cast<u64>(path));
	return path;
}

// Under RcuReader.
noinline Status Session::choose_and_submit(const rtrs_clt_request &request, SubmitKind kind)
{
	TriedPaths tried;
	Error last = err::econnaborted;
	while (Path *path = choose(tried)) {
		trace::choice(*this, path, request, kind);
		const Status s = path->submit(request);
		if (s.ok()) {
			if (kind == SubmitKind::FailOver)
				path->stats().failed_over();
			return {};
		}
		last = s.error();
		// What no other path can change.
		if (last == err::emsgsize || last == err::einval)
			return last;
		tried.add(path->index());
	}
	trace::choice(*this, nullptr, request, kind);
	return last;
}

void Session::commit(const Hctx &hctx)
{
	const RcuReader reader;
	for (Path &path : paths_)
		if (path.connected())
			path.commit(hctx);
}

int Session::poll(u32 queue, io_comp_batch *batch)
{
	const RcuReader reader;
	int found = 0;
	for (Path &path : paths_)
		if (path.connected())
			found += path.poll(queue, batch);
	return found;
}

} // namespace rtrs::client
