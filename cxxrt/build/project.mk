# SPDX-License-Identifier: GPL-2.0
# For the Makefile of a project with modules in C++:
#
#	SOURCES := Kbuild src			what the modules are built from, files and folders
#	include <cxxrt>/build/project.mk
#
# gives these targets, of which the first one is the default:
#
#	modules		for the kernel whose headers or build folder are KDIR: the running one, if not given
#	mirror		only the folder that they are built in
#	overlay		only cxxrt's part: the header overlay and the comparison of layouts
#	objects		OBJECTS=src/a.o: only these
#	report		packs what the build has found of a kernel that it fails for
#
# Kbuild builds in BUILD, a folder of symbolic links for each kernel, so that the sources stay clean and objects of
# several kernels never mix. KBUILD_ARGS are further variables for it. It gets CXXRT, the folder of cxxrt.

cxxrt-root := $(patsubst %/build/project.mk,%,$(abspath $(lastword $(MAKEFILE_LIST))))

KDIR ?= /lib/modules/$(shell uname -r)/build
release := $(shell sed -n 's/^\#define UTS_RELEASE "\(.*\)"/\1/p' \
	'$(KDIR)/include/generated/utsrelease.h' 2>/dev/null)
# Where the modules are left.
BUILD ?= build/$(or $(release),unknown)

# Where a vmlinux lies in KDIR, Kbuild adds BTF to modules by pahole, which fails on types of C++.
no_cxx_btf := --btf_gen_floats -j --lang_exclude=rust,c++14
btf = $(if $(wildcard $(KDIR)/vmlinux),PAHOLE_FLAGS='$(no_cxx_btf)')
# ccache takes a result from its cache by the headers that were read then. It does not see that a patched copy has come
# since, which is found before the kernel's header; only with what the preprocessor makes of the source it does.
kbuild = CCACHE_NODIRECT=1 $(MAKE) -C '$(KDIR)' M='$(abspath $(BUILD))' CXXRT='$(cxxrt-root)' $(KBUILD_ARGS) $(btf)

.PHONY: modules mirror overlay objects report

modules: mirror
	+$(kbuild) modules

mirror:
	@sh '$(cxxrt-root)/build/check-kernel.sh' '$(KDIR)' >/dev/null
	@sh '$(cxxrt-root)/build/mirror.sh' '$(abspath $(KDIR))' '$(BUILD)' $(SOURCES)

overlay: mirror
	+$(kbuild) CXXRT_ONLY_OVERLAY=1 modules

objects: mirror
	+$(kbuild) $(OBJECTS)

report:
	@sh '$(cxxrt-root)/build/report.sh' '$(KDIR)' '$(BUILD)' $(MAKE) -k modules
