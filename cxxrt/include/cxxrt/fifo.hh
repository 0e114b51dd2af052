// SPDX-License-Identifier: GPL-2.0
// Intrusive queue, first in, first out: a pointer for each element, where a List has two and the
// kernel's checks of them. For what is queued and taken again for each request.
//
// Invariants: a node is in at most one queue; a node that is in none says so; the queue owns
// nothing. Nobody leaves from the midst. All operations need the lock that guards the queue.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/types.hh>

namespace cxxrt {

template <class T> class FifoNode {
public:
	FifoNode() = default;
	~FifoNode() { WARN_ON(queued()); }
	FifoNode(const FifoNode &) = delete;
	FifoNode &operator=(const FifoNode &) = delete;

	bool queued() const { return next_ != nullptr; }

private:
	template <class U, FifoNode<U> U::*kNode> friend class Fifo;

	T *next_ = nullptr; // the last one's is itself
};

template <class T, FifoNode<T> T::*kNode> class Fifo {
public:
	Fifo() = default;
	~Fifo() { WARN_ON(!empty()); }
	Fifo(const Fifo &) = delete;
	Fifo &operator=(const Fifo &) = delete;

	bool empty() const { return !first_; }
	T *front() const { return first_; }
	void push_back(T &item)
	{
		next(item) = &item;
		if (first_)
			next(*last_) = &item;
		else
			first_ = &item;
		last_ = &item;
	}
	void push_front(T &item)
	{
		next(item) = first_ ? first_ : &item;
		if (!first_)
			last_ = &item;
		first_ = &item;
	}
	// Null if it is empty.
	T *pop_front()
	{
		T *item = first_;
		if (item) {
			T *after = exchange(next(*item), static_cast<T *>(nullptr));
			first_ = after == item ? nullptr : after;
		}
		return item;
	}

private:
	static T *&next(T &item) { return (item.*kNode).next_; }

	T *first_ = nullptr;
	T *last_ = nullptr; // while there is a first one
};

} // namespace cxxrt
