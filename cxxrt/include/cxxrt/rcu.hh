// SPDX-License-Identifier: GPL-2.0
// Read-copy-update: the read side as a scope, the pointer as a type, and the list whose readers
// take no lock.
//
// Rule: what load() or a walk gives is valid until the end of the RcuReader scope, unless a
// reference is taken inside it. Writers serialise among themselves by a lock of their own and
// call synchronize_rcu() (or free by RCU) between the removal and the death of an element.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/list.hh>

namespace cxxrt {

class [[nodiscard]] RcuReader {
public:
	RcuReader() { rcu_read_lock(); }
	~RcuReader() { rcu_read_unlock(); }
	RcuReader(const RcuReader &) = delete;
	RcuReader &operator=(const RcuReader &) = delete;
};

template <class T> class RcuPtr {
public:
	constexpr RcuPtr() = default;
	explicit constexpr RcuPtr(T *object) : object_(object) {}
	RcuPtr(const RcuPtr &) = delete;
	RcuPtr &operator=(const RcuPtr &) = delete;

	// Inside an RcuReader scope.
	T *load() const { return rcu_dereference(object_); }
	// By a writer that holds the writers' lock, or when no reader exists.
	T *load_locked() const { return READ_ONCE(object_); }
	// Publishes a fully built object.
	void publish(T *object) { smp_store_release(&object_, object); }

private:
	T *object_ = nullptr;
};

// List whose readers walk under RcuReader. An element that was removed keeps its forward link for
// readers that stand on it: it may be put on a list again, or freed, only after a grace period.
template <class T, list_head T::*kNode> class RcuList {
public:
	RcuList() { INIT_LIST_HEAD_RCU(&head_); }
	RcuList(const RcuList &) = delete;
	RcuList &operator=(const RcuList &) = delete;

	// Writers' lock held.
	void push_back(T &item) { list_add_tail_rcu(&(item.*kNode), &head_); }
	void remove(T &item) { list_del_rcu(&(item.*kNode)); }
	bool empty() const { return list_empty(&head_); }

	// The element after `item` in a circle that leaves out the head; the first one if `item`
	// is null; null if the list is empty. Under RcuReader or the writers' lock.
	T *next_in_circle(T *item) const
	{
		const list_head *at = item ? &(item->*kNode) : &head_;
		const list_head *next = READ_ONCE(at->next);
		if (next == &head_)
			next = READ_ONCE(head_.next);
		return next == &head_ ? nullptr : from_head(next);
	}

	// The item of a list of one, else null. Under RcuReader or the writers' lock.
	T *only() const
	{
		const list_head *first = READ_ONCE(head_.next);
		return first != &head_ && READ_ONCE(first->next) == &head_ ? from_head(first)
									   : nullptr;
	}

	class Iterator {
	public:
		explicit Iterator(const list_head *at) : at_(at) {}
		T &operator*() const { return *from_head(at_); }
		Iterator &operator++()
		{
			at_ = READ_ONCE(at_->next);
			return *this;
		}
		bool operator!=(const Iterator &o) const { return at_ != o.at_; }

	private:
		const list_head *at_;
	};
	// Under RcuReader, or the writers' lock.
	Iterator begin() const { return Iterator(READ_ONCE(head_.next)); }
	Iterator end() const { return Iterator(&head_); }

private:
	static T *from_head(const list_head *head)
	{
		T *const base = nullptr;
		const usize offset = reinterpret_cast<usize>(&(base->*kNode));
		return reinterpret_cast<T *>(reinterpret_cast<usize>(head) - offset);
	}

	list_head head_;
};

} // namespace cxxrt
