// SPDX-License-Identifier: GPL-2.0
// Shared life: an object derives from RefCounted<T> and is held by Ref<T>.
//
// Invariants: the count starts at one, owned by whoever calls Ref<T>::adopt() right after
// creation; a Ref is empty or owns exactly one count; the drop of the last one calls
// T::destroy(), which by default deletes the object, in the context of that drop.
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/result.hh>

namespace cxxrt {

template <class T> class RefCounted {
public:
	RefCounted(const RefCounted &) = delete;
	RefCounted &operator=(const RefCounted &) = delete;

	void get() { refcount_inc(&refs_); }
	// False when the object is already dying: for look-ups that hold no reference.
	[[nodiscard]] bool try_get() { return refcount_inc_not_zero(&refs_); }
	void put()
	{
		if (refcount_dec_and_test(&refs_))
			static_cast<T *>(this)->destroy();
	}
	void destroy() { delete static_cast<T *>(this); }
	// Whether there is more than one reference: for who holds one, and can make no more appear.
	// When it says no, what the others did has been done.
	bool shared() const
	{
		const bool is = refcount_read(&refs_) > 1;
		smp_mb();
		return is;
	}

protected:
	RefCounted() { refcount_set(&refs_, 1); }
	~RefCounted() = default;

private:
	refcount_t refs_;
};

template <class T> class Ref {
public:
	constexpr Ref() = default;
	// Takes over one count that the caller owns.
	static Ref adopt(T *object) { return Ref(object); }
	// Takes a count of its own; the caller's knowledge keeps `object` alive meanwhile.
	static Ref share(T *object)
	{
		object->get();
		return Ref(object);
	}
	// Empty if `object` is null or dying. The caller holds the lock or RCU that keeps the
	// memory.
	static Ref try_share(T *object)
	{
		return object && object->try_get() ? Ref(object) : Ref();
	}

	Ref(const Ref &o) : object_(o.object_)
	{
		if (object_)
			object_->get();
	}
	Ref(Ref &&o) : object_(exchange(o.object_, static_cast<T *>(nullptr))) {}
	Ref &operator=(Ref o)
	{
		T *mine = object_;
		object_ = o.object_;
		o.object_ = mine;
		return *this;
	}
	~Ref() { reset(); }

	T *get() const { return object_; }
	T *operator->() const { return object_; }
	T &operator*() const { return *object_; }
	explicit operator bool() const { return object_ != nullptr; }
	// Gives the count to the caller.
	[[nodiscard]] T *release() { return exchange(object_, static_cast<T *>(nullptr)); }
	void reset()
	{
		if (T *object = release())
			object->put();
	}

private:
	explicit Ref(T *object) : object_(object) {}

	T *object_ = nullptr;
};

// A new T with its first reference. ENOMEM.
template <class T, class... Args> Result<Ref<T>> make_ref(gfp_t gfp, Args &&...args)
{
	T *object = new (gfp) T(forward<Args>(args)...);
	if (!object)
		return err::enomem;
	return Ref<T>::adopt(object);
}

} // namespace cxxrt
