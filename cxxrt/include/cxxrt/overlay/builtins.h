/* SPDX-License-Identifier: GPL-2.0 */
/*
 * C++ forms of the C-only builtins and of the few macros of compiler_types.h that kernel headers
 * use. Read outside extern "C" and before any kernel header (compiler_types.h itself comes from the
 * command line, with -include).
 */
#ifndef CXXRT_OVERLAY_BUILTINS_H
#define CXXRT_OVERLAY_BUILTINS_H
#pragma GCC system_header

#undef auto /* 6.1.18x and later: #define auto __auto_type */
#undef inline
/*
 * Since 6.8 per-CPU data has a named address space (__seg_gs), which g++ does not know: it is
 * reached by segment-prefixed instructions in assembler text, as before.
 */
#undef CONFIG_USE_X86_SEG_SUPPORT
#undef CONFIG_CC_HAS_NAMED_AS
#ifdef __percpu_seg_override /* compiler_types.h has asked already */
#undef __percpu_seg_override
#define __percpu_seg_override
#undef __percpu_qual
#define __percpu_qual
#endif
#undef USE_TYPEOF_UNQUAL /* typeof_unqual() is C */

namespace cxxrt::overlay {

template <class T> struct RemoveCv { using type = T; };
template <class T> struct RemoveCv<const T> { using type = T; };
template <class T> struct RemoveCv<volatile T> { using type = T; };
template <class T> struct RemoveCv<const volatile T> { using type = T; };
template <class T> struct RemoveRef { using type = T; };
template <class T> struct RemoveRef<T &> { using type = T; };
template <class T> struct RemoveRef<T &&> { using type = T; };
template <class T> using Plain = typename RemoveCv<typename RemoveRef<T>::type>::type;

template <class A, class B> struct Same { static constexpr bool value = false; };
template <class A> struct Same<A, A> { static constexpr bool value = true; };

/*
 * __builtin_types_compatible_p(): a function of two null pointers, because __typeof__ of a
 * statement expression is not allowed in a template argument list.
 */
template <class A, class B> constexpr bool compatible(A *, B *)
{
	return Same<Plain<A>, Plain<B>>::value;
}

/* READ_ONCE() of scalars, and of structs of the size of a scalar (pte_t, ...). */
template <class T> [[gnu::always_inline]] inline Plain<T> read_once(const volatile T *p)
{
	if constexpr (__is_class(T) || __is_union(T)) {
		if constexpr (sizeof(T) == 8)
			return __builtin_bit_cast(Plain<T>, *(const volatile unsigned long *)p);
		else if constexpr (sizeof(T) == 4)
			return __builtin_bit_cast(Plain<T>, *(const volatile unsigned int *)p);
		else if constexpr (sizeof(T) == 2)
			return __builtin_bit_cast(Plain<T>, *(const volatile unsigned short *)p);
		else
			return __builtin_bit_cast(Plain<T>, *(const volatile unsigned char *)p);
	} else {
		return *p;
	}
}

/* abs() */
template <class T> struct SignedOf { using type = T; };
template <> struct SignedOf<unsigned char> { using type = signed char; };
template <> struct SignedOf<unsigned short> { using type = short; };
template <> struct SignedOf<unsigned int> { using type = int; };
template <> struct SignedOf<unsigned long> { using type = long; };
template <> struct SignedOf<unsigned long long> { using type = long long; };
template <class T> [[gnu::always_inline]] constexpr inline auto absolute(T x)
{
	using S = typename SignedOf<Plain<T>>::type;
	S s = (S)x;
	return s < 0 ? -s : s;
}

/*
 * container_of(): a pointer to the type of the member, or to void. A function of null pointers,
 * too: a pointer to void has nothing to take the type of.
 */
template <class P, class M> constexpr bool points_to(P *, M *)
{
	return Same<Plain<P>, Plain<M>>::value || Same<Plain<P>, void>::value;
}

/*
 * The functions below are only named inside __typeof__(). They are functions, with null pointers as
 * arguments, where a template with arguments would be shorter: the kernel's macros are called with
 * statement expressions, which are not allowed in a template argument list.
 */

/* Unsigned type of the size of T: uaccess.h __inttype(), bitfield.h. */
template <unsigned long size> struct UintOf { using type = unsigned long long; };
template <> struct UintOf<1> { using type = unsigned char; };
template <> struct UintOf<2> { using type = unsigned short; };
template <> struct UintOf<4> { using type = unsigned int; };
template <> struct UintOf<8> { using type = unsigned long; };
template <class T> typename UintOf<sizeof(T)>::type uint_like(T *);

/* container_of_const(): T * or const T *, as the pointer is. */
template <class T, class P> T *copy_const(P *);
template <class T, class P> const T *copy_const(const P *);

} // namespace cxxrt::overlay

/* page_folio(), since 6.6 ptdesc_page() and the like, and what the network makes of pages. */
extern "C" {
struct page;
struct folio;
struct ptdesc;
struct netmem_desc;
}
namespace cxxrt::overlay {
struct folio *folio_of(struct page *);
const struct folio *folio_of(const struct page *);
struct folio *folio_of(struct ptdesc *);
const struct folio *folio_of(const struct ptdesc *);
struct page *page_of(struct ptdesc *);
const struct page *page_of(const struct ptdesc *);
struct ptdesc *ptdesc_of(struct page *);
const struct ptdesc *ptdesc_of(const struct page *);
struct netmem_desc *nmdesc_of(struct page *);
const struct netmem_desc *nmdesc_of(const struct page *);
} // namespace cxxrt::overlay

/*
 * The C macro declares a function in block scope, which in an anonymous namespace would have
 * internal linkage ("declared static but never defined"): one global function instead.
 */
extern "C" [[noreturn]] void __cxxrt_compiletime_assert_failed(void)
	__attribute__((__error__("compiletime_assert() or BUILD_BUG_ON() failed")));
#undef __compiletime_assert
#define __compiletime_assert(condition, msg, prefix, suffix)         \
	do {                                                         \
		if (!(condition))                                    \
			__cxxrt_compiletime_assert_failed();         \
	} while (0)

#define _Static_assert static_assert
#define __auto_type auto
#define __builtin_types_compatible_p(a, b) \
	(::cxxrt::overlay::compatible((__typeof__(a) *)nullptr, (__typeof__(b) *)nullptr))
#define __builtin_choose_expr(c, a, b) ((c) ? (a) : (b))
#undef __unqual_scalar_typeof
#define __unqual_scalar_typeof(x) \
	__typeof__(::cxxrt::overlay::read_once((__typeof__(x) *)nullptr))
#define asmlinkage
#ifdef at_least /* of the elements of an array that is an argument */
#undef at_least
#define at_least
#endif

#endif
