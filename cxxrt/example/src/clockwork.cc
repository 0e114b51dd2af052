// SPDX-License-Identifier: GPL-2.0
#include <cxxrt/log.hh>

#include "clockwork.hh"

namespace example {

namespace {

using namespace cxxrt;

constexpr unsigned int kMaxIntervalMs = 60000;
constexpr unsigned int kMaxKeep = 4096;

Status check(const char *name, unsigned int value, unsigned int most)
{
	if (value >= 1 && value <= most)
		return {};
	log_error(name, "%u is not in the range from 1 to %u", value, most);
	return err::einval;
}

// As in /proc/loadavg, but in hundredths.
u32 load_now()
{
	return avenrun[0] * 100 / FIXED_1;
}

} // namespace

Result<Box<Clockwork>> Clockwork::start(const example_params &params)
{
	// What fails here returns, and destructors undo what was done before.
	TRY(check("interval_ms", params.interval_ms, kMaxIntervalMs));
	TRY(check("keep", params.keep, kMaxKeep));
	auto room = TRY(Array<Measurement>::create(params.keep));
	auto queue = TRY(Workqueue::create("cxxrt_example", 0));
	auto made = TRY(make_box<Clockwork>(GFP_KERNEL, params, move(queue), move(room)));
	made->files_ = DebugDir::create("cxxrt-example");
	made->files_.add_file<Clockwork, &Clockwork::show>("lateness", made.get());
	made->wind();
	return made;
}

Clockwork::Clockwork(const example_params &params, Workqueue queue, Array<Measurement> room)
    : interval_ms_(params.interval_ms),
      history_(cxxrt::lock_class<"cxxrt_example history">(), move(room)), queue_(move(queue))
{
}

Clockwork::~Clockwork()
{
	work_.cancel_sync();
}

void Clockwork::wind()
{
	due_ = ktime_add_ms(ktime_get(), interval_ms_);
	work_.queue_after(queue_, msecs_to_jiffies(interval_ms_));
}

void Clockwork::measure()
{
	const s64 late_us = ktime_us_delta(ktime_get(), due_);
	const Measurement m{late_us > 0 ? static_cast<u64>(late_us) : 0, load_now()};
	history_.with([&](History &history) { history.add(m); });
	wind();
}

void Clockwork::show(DebugText &text)
{
	// Only inside of with() there is a History to be had.
	history_.with([&](History &history) {
		text.print("%llu measurements, at most %llu us late\n", history.count(),
			   history.worst_us());
		for (usize i = 0; i < history.kept(); i++) {
			const Measurement &m = history.latest(i);
			text.print("%llu us late, load %u.%02u\n", m.late_us, m.load / 100,
				   m.load % 100);
		}
	});
}

} // namespace example
