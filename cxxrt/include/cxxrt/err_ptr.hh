// SPDX-License-Identifier: GPL-2.0
// The kernel's error pointers become Results where they appear: ib_pd *pd = TRY(from_err_ptr(
// ib_alloc_pd(device, 0))).
#pragma once

#include <cxxrt/kernel.hh>
#include <cxxrt/result.hh>

namespace cxxrt {

// What a kernel function returned that reports errors as pointers (IS_ERR). A null is a value.
template <class T> Result<T *> from_err_ptr(T *pointer)
{
	if (IS_ERR(pointer))
		return Error::from_code(PTR_ERR(pointer));
	return pointer;
}

} // namespace cxxrt
