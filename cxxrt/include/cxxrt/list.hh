// SPDX-License-Identifier: GPL-2.0
// Intrusive doubly linked list over struct list_head.
//
// An element holds a ListNode for each list that it can be on. Invariants: a node is on at most
// one list; a node that is on none is linked to itself; the list owns nothing: whoever removes an
// element decides what becomes of it. All operations need the lock that guards the list.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/types.hh>

namespace cxxrt {

class ListNode {
public:
	ListNode() { INIT_LIST_HEAD(&head_); }
	~ListNode() { WARN_ON(linked()); }
	ListNode(const ListNode &) = delete;
	ListNode &operator=(const ListNode &) = delete;

	bool linked() const { return !list_empty(&head_); }
	void unlink() { list_del_init(&head_); }

	list_head head_;
};

template <class T, ListNode T::*kNode> class List {
public:
	List() { INIT_LIST_HEAD(&head_); }
	~List() { WARN_ON(!empty()); }
	List(const List &) = delete;
	List &operator=(const List &) = delete;

	bool empty() const { return list_empty(&head_); }
	void push_back(T &item) { list_add_tail(&(item.*kNode).head_, &head_); }
	void push_front(T &item) { list_add(&(item.*kNode).head_, &head_); }
	static void remove(T &item) { (item.*kNode).unlink(); }
	T *front() const { return empty() ? nullptr : from_head(head_.next); }
	T *pop_front()
	{
		T *item = front();
		if (item)
			remove(*item);
		return item;
	}
	// All elements of `other` behind those of this list; `other` is empty afterwards.
	void take_all(List &other) { list_splice_tail_init(&other.head_, &head_); }

	// Read-side walk: `remove` of the current element is not allowed inside.
	class Iterator {
	public:
		explicit Iterator(list_head *at) : at_(at) {}
		T &operator*() const { return *from_head(at_); }
		Iterator &operator++()
		{
			at_ = at_->next;
			return *this;
		}
		bool operator!=(const Iterator &o) const { return at_ != o.at_; }

	private:
		list_head *at_;
	};
	Iterator begin() { return Iterator(head_.next); }
	Iterator end() { return Iterator(&head_); }

private:
	static T *from_head(list_head *head)
	{
		// The offset of a member that is named by a pointer to member.
		T *const base = nullptr;
		const usize offset = reinterpret_cast<usize>(&(base->*kNode).head_);
		return reinterpret_cast<T *>(reinterpret_cast<char *>(head) - offset);
	}

	list_head head_;
};

} // namespace cxxrt
