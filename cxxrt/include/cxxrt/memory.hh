// SPDX-License-Identifier: GPL-2.0
// Sole ownership of heap memory: Box<T> for one object, Array<T> for a run of them.
//
// Both are empty or own their memory; creation returns ENOMEM as a value and never warns twice.
// Freeing may sleep for an Array (it can be vmalloc memory): not from atomic context.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/result.hh>

namespace cxxrt {

// Bytes that a CPU fetches, and takes from another one, together.
constexpr usize kCacheLine = L1_CACHE_BYTES;

template <class T> class Box {
public:
	constexpr Box() = default;
	// Takes over what `new (gfp) T` returned.
	static Box adopt(T *object) { return Box(object); }
	Box(Box &&o) : object_(exchange(o.object_, static_cast<T *>(nullptr))) {}
	Box &operator=(Box &&o)
	{
		if (this != &o) {
			reset();
			object_ = exchange(o.object_, static_cast<T *>(nullptr));
		}
		return *this;
	}
	Box(const Box &) = delete;
	Box &operator=(const Box &) = delete;
	~Box() { reset(); }

	T *get() const { return object_; }
	T *operator->() const { return object_; }
	T &operator*() const { return *object_; }
	explicit operator bool() const { return object_ != nullptr; }
	T *release() { return exchange(object_, static_cast<T *>(nullptr)); }
	void reset() { delete exchange(object_, static_cast<T *>(nullptr)); }

private:
	explicit Box(T *object) : object_(object) {}

	T *object_ = nullptr;
};

// A T on the heap, constructed with `args`. ENOMEM.
template <class T, class... Args> Result<Box<T>> make_box(gfp_t gfp, Args &&...args)
{
	T *object = new (gfp) T(forward<Args>(args)...);
	if (!object)
		return err::enomem;
	return Box<T>::adopt(object);
}

template <class T> class Array {
public:
	Array() = default;
	// `count` value-initialised elements, the multiplication checked; large arrays come from
	// vmalloc, so no element may be handed to a device by its address. ENOMEM. May sleep.
	static Result<Array> create(usize count)
	{
		if (!count)
			return Array();
		usize bytes;
		if (check_mul_overflow(count, sizeof(T), &bytes))
			return err::enomem;
		// As in <cxxrt/new.hh>; what has a page is aligned to one.
		if (alignof(T) > ARCH_KMALLOC_MINALIGN && bytes < PAGE_SIZE)
			bytes = roundup_pow_of_two(bytes);
		void *memory = kvzalloc(bytes, GFP_KERNEL);
		if (!memory)
			return err::enomem;
		T *items = static_cast<T *>(memory);
		for (usize i = 0; i < count; i++)
			new (&items[i]) T();
		return Array(items, count);
	}
	Array(Array &&o)
	    : items_(exchange(o.items_, static_cast<T *>(nullptr))),
	      count_(exchange(o.count_, usize(0)))
	{
	}
	Array &operator=(Array &&o)
	{
		if (this != &o) {
			reset();
			items_ = exchange(o.items_, static_cast<T *>(nullptr));
			count_ = exchange(o.count_, usize(0));
		}
		return *this;
	}
	Array(const Array &) = delete;
	Array &operator=(const Array &) = delete;
	~Array() { reset(); }

	// Destroys the elements, last first, and frees the memory. May sleep.
	void reset()
	{
		while (count_)
			items_[--count_].~T();
		kvfree(exchange(items_, static_cast<T *>(nullptr)));
	}

	// Destroys the elements behind the first `count`, last first; the memory stays.
	void truncate(usize count)
	{
		while (count_ > count)
			items_[--count_].~T();
	}

	usize size() const { return count_; }
	T *data() const { return items_; }
	// `i` is below size(): the callers' bound checks are at the trust boundary.
	T &operator[](usize i) const { return items_[i]; }
	T *begin() const { return items_; }
	T *end() const { return items_ + count_; }

private:
	Array(T *items, usize count) : items_(items), count_(count) {}

	T *items_ = nullptr;
	usize count_ = 0;
};

} // namespace cxxrt
