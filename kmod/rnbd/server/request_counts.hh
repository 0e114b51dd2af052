// SPDX-License-Identifier: GPL-2.0
// How much one client has asked of one disk, counted on each CPU: for an administrator, nothing
// depends on it. None of the sums is a snapshot.
#pragma once

#include <cxxrt/percpu.hh>
#include <rnbd/wire/operations.hh>

namespace rnbd::server {

class RequestCounts {
public:
	RequestCounts() = default;
	// ENOMEM. May sleep.
	static Result<RequestCounts> create()
	{
		RequestCounts made;
		made.counts_ = TRY(cxxrt::PerCpu<Counts>::create());
		return made;
	}

	// The device has carried out a request whose data are `bytes` long. Any context.
	[[gnu::always_inline]] void done(Operation operation, u32 bytes)
	{
		counts_.inc(&Counts::of, requests_of(operation));
		counts_.add(&Counts::of, bytes_of(operation), u64{bytes});
	}
	// The device has failed a request. Any context.
	void failed(Operation operation)
	{
		counts_.inc(&Counts::of, requests_of(operation));
		counts_.inc(&Counts::errors);
	}

	u64 requests(Operation operation) const
	{
		return counts_.sum(&Counts::of, requests_of(operation));
	}
	u64 bytes(Operation operation) const
	{
		return counts_.sum(&Counts::of, bytes_of(operation));
	}
	u64 errors() const { return counts_.sum(&Counts::errors); }

private:
	static usize requests_of(Operation operation) { return 2 * static_cast<usize>(operation); }
	static usize bytes_of(Operation operation) { return requests_of(operation) + 1; }

	struct Counts {
		// Requests and bytes of each operation, side by side: a request touches two words.
		u64 of[2 * kOperations];
		u64 errors;
	};
	cxxrt::PerCpu<Counts> counts_;
};

} // namespace rnbd::server
