/* SPDX-License-Identifier: GPL-2.0 */
/*
 * seqlock.h chooses by _Generic, C++ by overloads. Included by the patched seqlock.h in place of
 * its own __seqprop(); the types are those which the patched inline functions need.
 */
extern "C++" {
#define CXXRT_SEQPROP(T, P)                                                                \
	static __always_inline auto cxxrt_seq_ptr(T *s) { return P##_ptr(s); }             \
	static __always_inline auto cxxrt_seq_ptr(const T *s) { return P##_ptr((T *)s); }  \
	static __always_inline auto cxxrt_seq_const_ptr(const T *s) { return P##_ptr((T *)s); } \
	static __always_inline auto cxxrt_seq_sequence(const T *s) { return P##_sequence(s); } \
	static __always_inline auto cxxrt_seq_preemptible(const T *s)                      \
	{                                                                                  \
		return P##_preemptible(s);                                                 \
	}                                                                                  \
	static __always_inline void cxxrt_seq_assert(const T *s) { P##_assert(s); }
CXXRT_SEQPROP(seqcount_t, __seqprop)
CXXRT_SEQPROP(seqcount_raw_spinlock_t, __seqprop_raw_spinlock)
CXXRT_SEQPROP(seqcount_spinlock_t, __seqprop_spinlock)
CXXRT_SEQPROP(seqcount_rwlock_t, __seqprop_rwlock)
CXXRT_SEQPROP(seqcount_mutex_t, __seqprop_mutex)
#undef CXXRT_SEQPROP
}
#define __seqprop(s, prop) cxxrt_seq_##prop
