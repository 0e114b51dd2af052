# SPDX-License-Identifier: GPL-2.0
# For the Kbuild file at the top of a module tree: makes the header overlay and compares layouts,
# once per tree and before any folder is entered. Include it after obj-m is complete:
#
#	obj-m := kmod/foo/
#	include $(src)/cxxrt/build/tree.mk
#
# Before the include, a project may name a header of its own, in C, with the kernel headers that it needs and
# cxxrt does not include, and rules for them as in overlay/header.rules:
#
#	cxxrt-headers := $(src)/kmod/foo/kernel_headers.h
#	cxxrt-rules := $(src)/kmod/foo/header.rules
#
# With CXXRT_ONLY_OVERLAY set, nothing else is built. With CXXRT_WERROR set, every warning is an error.

include $(dir $(lastword $(MAKEFILE_LIST)))flags.mk

cxxrt-overlay-inputs := $(addprefix $(cxxrt-dir)/,build/overlay.sh build/check-kernel.sh \
	build/probes.sh build/flags.mk build/tree.mk overlay/header.rules overlay/probes.c \
	include/cxxrt/overlay/headers.h) $(cxxrt-headers) $(cxxrt-rules)
cxxrt-parity-inputs := $(addprefix $(cxxrt-dir)/build/,explain.sh layout.cc layout.sh layout.awk) \
	$(cxxrt-dir)/include/cxxrt/kernel.hh $(cxxrt-dir)/include/cxxrt/new.hh \
	$(wildcard $(cxxrt-dir)/include/cxxrt/overlay/*.h $(cxxrt-dir)/overlay/shadow/*/*.h)

# What header.rules call the architecture. User-mode Linux exists on x86 only, and has its headers.
cxxrt-arch := $(if $(CONFIG_UML),x86,$(SRCARCH))

# Compiled as a part of a module would be, but for no file's dependencies, and with the compiler's warnings, which the
# flags of some trees switch off.
cxxrt-no-dep := -Wp$(comma)-MMD$(comma)% -Wp$(comma)-MD$(comma)% -w

# Generated headers: what was found out about the kernel, and the one that includes those of the project.
cxxrt-found := $(cxxrt-gen)/probes

$(cxxrt-gen)/%: part-of-module := y

# Said at once: pahole would end the build after all is compiled.
ifdef CONFIG_DEBUG_INFO_BTF_MODULES
ifneq ($(wildcard $(objtree)/vmlinux),)
ifeq ($(findstring c++14,$(PAHOLE_FLAGS)),)
$(error cxxrt: BTF cannot describe C++: build by cxxrt/build/project.mk, or with PAHOLE_FLAGS as there)
endif
endif
endif

quiet_cmd_cxxrt_overlay = CXXGEN  $@
      cmd_cxxrt_overlay = \
	mkdir -p $(cxxrt-found)/cxxrt && \
	CC="$(CC)" KCXX="$(KCXX)" sh $(cxxrt-dir)/build/check-kernel.sh $(objtree) \
		> $(cxxrt-gen)/kernel.txt 2> $(cxxrt-gen)/kernel.log || { cat $(cxxrt-gen)/kernel.log >&2; exit 1; }; \
	sed 's/.*/$(pound)define CXXRT_KERNEL "&"/' $(cxxrt-gen)/kernel.txt > $(cxxrt-found)/cxxrt/kernel_series.h && \
	printf '$(if $(cxxrt-headers),$(pound)include "%s"\n)' $(abspath $(cxxrt-headers)) \
		> $(cxxrt-found)/cxxrt/project.h && \
	sh $(cxxrt-dir)/build/overlay.sh $(cxxrt-arch) "$(cxxrt-dir)/overlay/header.rules $(cxxrt-rules)" \
		$(cxxrt-dir)/include/cxxrt/overlay/headers.h $(cxxrt-gen) \
		$(patsubst -I%,%,$(filter -I%,$(c_flags))) \
		-- $(CC) $(filter-out $(cxxrt-no-dep) -Werror%,$(c_flags)) -I$(cxxrt-found) && \
	AWK="$(AWK)" sh $(cxxrt-dir)/build/probes.sh $(cxxrt-dir)/overlay/probes.c \
		$(cxxrt-found)/cxxrt/probes.h \
		$(CC) $(filter-out $(cxxrt-no-dep) -Werror%,$(c_flags)) && touch $@

$(cxxrt-gen)/overlay.done: $(cxxrt-overlay-inputs) $(objtree)/include/generated/autoconf.h
	$(call cmd,cxxrt_overlay)

quiet_cmd_cxxrt_parity = CXXPAR  $@
      cmd_cxxrt_parity = rm -f $@; \
	$(CC) $(filter-out $(cxxrt-no-dep) -g%,$(c_flags)) -I$(cxxrt-found) -w $(cxxrt-dwarf) -x c -c \
		-o $(cxxrt-gen)/layout-c.o $(cxxrt-dir)/include/cxxrt/overlay/headers.h; \
	LC_ALL=C $(KCXX) $(filter-out $(cxxrt-no-dep) -g%,$(cxx_flags)) -I$(cxxrt-found) $(cxxrt-dwarf) \
		-femit-class-debug-always -x c++ -c \
		-o $(cxxrt-gen)/layout-cxx.o $(cxxrt-dir)/build/layout.cc 2> $(cxxrt-gen)/cxx.log || \
		{ sh $(cxxrt-dir)/build/explain.sh $(cxxrt-gen) $(abspath $(objtree)) >&2; exit 1; }; \
	READELF="$(READELF)" AWK="$(AWK)" sh $(cxxrt-dir)/build/layout.sh $(cxxrt-gen) > $@.tmp; \
	mv $@.tmp $@
cxxrt-dwarf := -gdwarf-4 -fno-eliminate-unused-debug-types

$(cxxrt-gen)/parity.done: $(cxxrt-gen)/overlay.done $(cxxrt-parity-inputs)
	$(call cmd,cxxrt_parity)

$(patsubst %/,$(obj)/%,$(filter %/,$(obj-m) $(obj-y))): $(cxxrt-gen)/parity.done

ifdef CXXRT_ONLY_OVERLAY
obj-m :=
$(obj)/: $(cxxrt-gen)/parity.done
endif

clean-files += .cxxrt-gen
