// SPDX-License-Identifier: GPL-2.0
// Errors as values. Pure.
//
// Error holds a negative errno and never zero. Result<T> is either a T or an Error; Status is the
// Result of a function that has nothing to return. TRY(expr) is the value of a Result, or returns
// its error from the enclosing function. A Result that is dropped is a compiler warning.
#pragma once

#include <cxxrt/types.hh>

namespace cxxrt {

namespace detail {
constexpr int kEio = 5;
constexpr int kMaxErrno = 4095;
} // namespace detail

class Error {
public:
	// From a positive errno number, as in Error::from_errno(22).
	static constexpr Error from_errno(int positive)
	{
		return Error{positive > 0 ? -positive : -detail::kEio};
	}

	// From what a kernel function returned: a negative errno. Anything else is a bug of the
	// caller and becomes EIO, so that an error can never read as success.
	static constexpr Error from_code(long code)
	{
		return Error{code < 0 && code >= -detail::kMaxErrno ? static_cast<int>(code)
								    : -detail::kEio};
	}

	// The negative errno, as kernel functions return it.
	constexpr int code() const { return code_; }

	constexpr bool operator==(const Error &) const = default;

private:
	explicit constexpr Error(int code) : code_(code) {}

	int code_;
};

// The errno values in use, by their usual names in lower case (upper case would be macros).
namespace err {
constexpr Error eperm = Error::from_errno(1);
constexpr Error enoent = Error::from_errno(2);
constexpr Error eintr = Error::from_errno(4);
constexpr Error eio = Error::from_errno(5);
constexpr Error enxio = Error::from_errno(6);
constexpr Error eagain = Error::from_errno(11);
constexpr Error enomem = Error::from_errno(12);
constexpr Error eacces = Error::from_errno(13);
constexpr Error enotblk = Error::from_errno(15);
constexpr Error ebusy = Error::from_errno(16);
constexpr Error eexist = Error::from_errno(17);
constexpr Error enodev = Error::from_errno(19);
constexpr Error einval = Error::from_errno(22);
constexpr Error enospc = Error::from_errno(28);
constexpr Error erofs = Error::from_errno(30);
constexpr Error erange = Error::from_errno(34);
constexpr Error enametoolong = Error::from_errno(36);
constexpr Error ebade = Error::from_errno(52);
constexpr Error ecomm = Error::from_errno(70);
constexpr Error eproto = Error::from_errno(71);
constexpr Error ebadmsg = Error::from_errno(74);
constexpr Error eoverflow = Error::from_errno(75);
constexpr Error eusers = Error::from_errno(87);
constexpr Error emsgsize = Error::from_errno(90);
constexpr Error eprotonosupport = Error::from_errno(93);
constexpr Error eopnotsupp = Error::from_errno(95);
constexpr Error eafnosupport = Error::from_errno(97);
constexpr Error econnaborted = Error::from_errno(103);
constexpr Error econnreset = Error::from_errno(104);
constexpr Error enotconn = Error::from_errno(107);
constexpr Error etimedout = Error::from_errno(110);
constexpr Error ehostunreach = Error::from_errno(113);
constexpr Error ealready = Error::from_errno(114);
constexpr Error einprogress = Error::from_errno(115);
constexpr Error estale = Error::from_errno(116);
constexpr Error enokey = Error::from_errno(126);
constexpr Error ekeyexpired = Error::from_errno(127);
constexpr Error ekeyrevoked = Error::from_errno(128);
constexpr Error ekeyrejected = Error::from_errno(129);
} // namespace err

template <class T> class [[nodiscard]] Result {
public:
	constexpr Result(T value) : code_(0), value_(move(value)) {}
	constexpr Result(Error e) : code_(e.code()), none_{} {}
	constexpr Result(Result &&o) : code_(o.code_), none_{}
	{
		if (ok())
			construct(move(o.value_));
	}
	Result(const Result &) = delete;
	Result &operator=(const Result &) = delete;
	constexpr ~Result()
	{
		if (ok())
			value_.~T();
	}

	constexpr bool ok() const { return code_ == 0; }
	constexpr explicit operator bool() const { return ok(); }
	// Only if !ok().
	constexpr Error error() const { return Error::from_code(code_); }
	// 0 or the negative errno.
	constexpr int code() const { return code_; }
	// Only if ok().
	constexpr T &value() { return value_; }
	constexpr const T &value() const { return value_; }
	constexpr T take() { return move(value_); }
	constexpr T *operator->() { return &value_; }
	constexpr const T *operator->() const { return &value_; }
	constexpr T &operator*() { return value_; }

private:
	// Placement without <new>: the class-specific operator keeps this header pure.
	template <class U> struct Holder {
		U value;
		static void *operator new(usize, void *place) noexcept { return place; }
	};

	constexpr void construct(T &&v)
	{
		static_assert(sizeof(Holder<T>) == sizeof(T));
		new (static_cast<void *>(&value_)) Holder<T>{move(v)};
	}

	int code_;
	union {
		char none_;
		T value_;
	};
};

template <> class [[nodiscard]] Result<void> {
public:
	constexpr Result() : code_(0) {}
	constexpr Result(Error e) : code_(e.code()) {}
	// From a kernel function that returns 0 or a negative errno.
	static constexpr Result from_code(long code)
	{
		return code ? Result(Error::from_code(code)) : Result();
	}

	constexpr bool ok() const { return code_ == 0; }
	constexpr explicit operator bool() const { return ok(); }
	constexpr Error error() const { return Error::from_code(code_); }
	constexpr int code() const { return code_; }
	constexpr void take() const {}

private:
	int code_;
};

using Status = Result<void>;

} // namespace cxxrt

#define TRY(expr)                                  \
	({                                         \
		auto cxxrt_try_ = (expr);          \
		if (!cxxrt_try_.ok()) [[unlikely]] \
			return cxxrt_try_.error(); \
		cxxrt_try_.take();                 \
	})
