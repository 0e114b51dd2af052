/* SPDX-License-Identifier: GPL-2.0 */
/* Closes the region that <cxxrt/overlay/begin.h> opened. */
#pragma GCC system_header
}
#include <cxxrt/overlay/keywords-off.h>
#undef inline
#undef _Bool
#pragma GCC diagnostic pop
