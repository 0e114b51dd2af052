# SPDX-License-Identifier: GPL-2.0
# Common to tree.mk and module.mk: where things are, and the compiler's flags.

cxxrt-dir := $(patsubst %/build/,%,$(dir $(lastword $(MAKEFILE_LIST))))
# One overlay per build tree, whatever the number of folders.
cxxrt-gen := $(KBUILD_EXTMOD)/.cxxrt-gen

# The g++ of the kernel's own gcc: gcc-12 -> g++-12, x86_64-linux-gnu-gcc -> x86_64-linux-gnu-g++.
KCXX ?= $(subst gcc,g++,$(CC))

# Flags of the kernel's C compiler that g++ does not take, or that would silence it, or be strict in its place.
cxxrt-c-only := -w -Werror -std=% -Wstrict-prototypes -Werror=strict-prototypes -Wmissing-prototypes \
	-Wold-style-declaration -Wold-style-definition -Wdeclaration-after-statement \
	-Wno-pointer-sign -Wpointer-sign -Werror=implicit-function-declaration \
	-Werror=implicit-int -Werror=incompatible-pointer-types -Wincompatible-pointer-types \
	-Werror=designated-init -Wdesignated-init -Wno-override-init -Wno-shift-negative-value \
	-Wenum-conversion -Wunterminated-string-initialization \
	-Wno-unterminated-string-initialization

# -fpermissive lets the kernel's headers pass (they are system headers, so they stay silent), and what it forgives
# is an error in our code all the same. So are all warnings where CXXRT_WERROR is set, for those who work on
# the code; on a user's machine a compiler or a configuration that is new to us may warn.
# -fno-weak: COMDAT groups do not survive "ld -r". -faligned-new=8: what kmalloc() promises for any size.
# No SSE or x87 also where the kernel itself does not say so (ARCH=um).
cxxrt-flags := -std=gnu++20 -ffreestanding -nostdinc++ -fpermissive -Wall -Wextra \
	$(if $(CXXRT_WERROR),-Werror) \
	-Wno-unused-parameter -Wno-missing-field-initializers -Wno-sign-compare \
	-fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-use-cxa-atexit \
	-fno-operator-names -fno-weak -fcheck-new -faligned-new=8 -D__STDC_VERSION__=201710L \
	$(if $(CONFIG_X86)$(CONFIG_UML),-mno-sse -mno-mmx -mno-avx -mno-80387) \
	$(if $(CONFIG_ARM64),-mno-outline-atomics)

cxxrt-strictly := $(if $(CXXRT_WERROR),,sh $(cxxrt-dir)/build/strictly.sh)

# Our own code before, the kernel's patched headers between, the kernel's headers after. -MD, not
# -MMD, which would drop system headers, that is every kernel header, from the dependencies.
cxx_flags = -I$(cxxrt-dir)/include -I$(cxxrt-dir)/overlay/shadow -I$(cxxrt-gen)/include \
	$(patsubst -Wp$(comma)-MMD$(comma)%,-Wp$(comma)-MD$(comma)%, \
		$(filter-out $(cxxrt-c-only),$(c_flags))) \
	$(cxxrt-flags) $(cxxrt-whole) $(cxxflags-y) $(CXXFLAGS_$(target-stem).o)
