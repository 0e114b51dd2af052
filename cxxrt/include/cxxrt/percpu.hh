// SPDX-License-Identifier: GPL-2.0
// One T for each possible CPU, so that hot counters share no cache line. T is a struct of
// integers; it starts as zeroes.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/result.hh>

namespace cxxrt {

template <class T> class PerCpu {
public:
	constexpr PerCpu() = default;
	// ENOMEM. May sleep.
	static Result<PerCpu> create()
	{
		T __percpu *copies = alloc_percpu(T);
		if (!copies)
			return err::enomem;
		return PerCpu(copies);
	}
	PerCpu(PerCpu &&o) : copies_(exchange(o.copies_, static_cast<T *>(nullptr))) {}
	PerCpu &operator=(PerCpu &&o)
	{
		if (this != &o) {
			free_percpu(copies_);
			copies_ = exchange(o.copies_, static_cast<T *>(nullptr));
		}
		return *this;
	}
	~PerCpu() { free_percpu(copies_); }

	// Adds to a member of this CPU's copy. Any context, preemption included.
	template <class M> void add(M T::*member, M amount)
	{
		this_cpu_add(copies_->*member, amount);
	}
	template <class M> void inc(M T::*member) { this_cpu_add(copies_->*member, M(1)); }

	// Likewise an element of a member that is an array; `index` is below its size.
	template <class M, usize N> void add(M (T::*member)[N], usize index, M amount)
	{
		this_cpu_add((copies_->*member)[index], amount);
	}
	template <class M, usize N> void inc(M (T::*member)[N], usize index)
	{
		add(member, index, M(1));
	}

	T &on(int cpu) const { return *per_cpu_ptr(copies_, cpu); }

	// Sum of a member over all CPUs; not a snapshot.
	template <class M> M sum(M T::*member) const
	{
		M total = 0;
		int cpu;
		for_each_possible_cpu(cpu) total += READ_ONCE(on(cpu).*member);
		return total;
	}
	template <class M, usize N> M sum(M (T::*member)[N], usize index) const
	{
		M total = 0;
		int cpu;
		for_each_possible_cpu(cpu) total += READ_ONCE((on(cpu).*member)[index]);
		return total;
	}

	// Calls f(cpu, copy) for every possible CPU.
	template <class F> void for_each(F &&f) const
	{
		int cpu;
		for_each_possible_cpu(cpu) f(cpu, on(cpu));
	}

private:
	explicit PerCpu(T __percpu *copies) : copies_(copies) {}

	T __percpu *copies_ = nullptr;
};

} // namespace cxxrt
