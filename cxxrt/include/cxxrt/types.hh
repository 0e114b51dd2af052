// SPDX-License-Identifier: GPL-2.0
// Fixed-width integers and the few type traits that pure code needs. Pure: no kernel header, no
// std header; the aliases name the same types as the kernel's, so both may be visible at once.
#pragma once

namespace cxxrt {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using s8 = signed char;
using s16 = short;
using s32 = int;
using s64 = long long;
using usize = decltype(sizeof(0));

template <class T> struct RemoveReference {
	using type = T;
};
template <class T> struct RemoveReference<T &> {
	using type = T;
};
template <class T> struct RemoveReference<T &&> {
	using type = T;
};

template <class A, class B> constexpr bool is_same = false;
template <class A> constexpr bool is_same<A, A> = true;

template <class T> constexpr typename RemoveReference<T>::type &&move(T &&t) noexcept
{
	return static_cast<typename RemoveReference<T>::type &&>(t);
}

template <class T> constexpr T &&forward(typename RemoveReference<T>::type &t) noexcept
{
	return static_cast<T &&>(t);
}

template <class T> constexpr T exchange(T &object, T value) noexcept
{
	T old = move(object);
	object = move(value);
	return old;
}

template <class T> constexpr const T &min_of(const T &a, const T &b)
{
	return b < a ? b : a;
}

template <class T> constexpr const T &max_of(const T &a, const T &b)
{
	return a < b ? b : a;
}

} // namespace cxxrt
