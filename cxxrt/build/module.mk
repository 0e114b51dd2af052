# SPDX-License-Identifier: GPL-2.0
# For a Kbuild file with modules that have C++ files. Include this file at the end:
#
#	obj-m := foo.o
#	foo-y := stub.o
#	foo-cc := main.cc parts/more.cc
#	include $(KBUILD_EXTMOD)/cxxrt/build/module.mk
#
# foo-cc is compiled at once, as one unit with the runtime: nearly all the time goes into the kernel's headers, and
# the compiler sees the whole program, but for functions that C calls, which CXXRT_FOR_C names. The files share their
# anonymous namespace. Paths are relative to the Kbuild file, or absolute. An object in foo-y is built from a file of
# C, or of C++ by itself.
#
# A module has a C file too: module_init(), MODULE_LICENSE(), EXPORT_SYMBOL() and tracepoints live
# there. Each composite module has the runtime once. The Kbuild file at the top of the tree must
# include tree.mk.

include $(dir $(lastword $(MAKEFILE_LIST)))flags.mk

ccflags-y += -I$(cxxrt-dir)/include -I$(cxxrt-gen)/probes

# Where the kernel has UBSAN but is not instrumented as a whole (ARCH=um), folders have to ask.
UBSAN_SANITIZE := y

cxxrt-modules := $(patsubst %.o,%,$(filter %.o,$(obj-m)))
$(foreach m,$(cxxrt-modules), \
	$(if $($(m)-cc),$(eval $(m)-y += $(m).unit.o), \
		$(if $($(m)-y)$($(m)-objs),$(eval $(m)-y += $(m).cxxrt.o))))

quiet_cmd_cxx_o_cc = CXX $(quiet_modtag)  $@
      cmd_cxx_o_cc = $(cxxrt-strictly) $(KCXX) $(cxx_flags) -c -o $@ $< $(cmd_objtool)

cmd_cxxrt_check = NM="$(NM)" READELF="$(READELF)" OBJDUMP="$(OBJDUMP)" \
	sh $(cxxrt-dir)/build/check-object.sh $@ || { rm -f $@; exit 1; }

define rule_cxx_o_cc
	$(call cmd_and_fixdep,cxx_o_cc)
	$(call cmd,cxxrt_check)
	$(call cmd,gen_ksymdeps)
	$(call cmd,check_local_export)
	$(call cmd,gen_objtooldep)
	$(call cmd,record_mcount)
endef

cxxrt-prereqs := $(cxxrt-gen)/overlay.done $(cxxrt-gen)/parity.done \
	$(cxxrt-dir)/build/check-object.sh

# Written anew only when the list is another one.
define filechk_cxxrt_unit
	printf '#include "%s"\n' $($*-cc) $(cxxrt-dir)/runtime/runtime.cc
endef

$(src)/%.unit.cc: FORCE
	$(call filechk,cxxrt_unit)

# The rule is that of all files: Kbuild finds the module's name by the stem.
$(obj)/%.unit.o: cxxrt-whole := -fwhole-program

clean-files += *.unit.cc

$(obj)/%.cxxrt.o: $(cxxrt-dir)/runtime/runtime.cc $(cxxrt-prereqs) FORCE
	$(call if_changed_rule,cxx_o_cc)

$(obj)/%.o: $(src)/%.cc $(cxxrt-prereqs) FORCE
	$(call if_changed_rule,cxx_o_cc)

$(cxxrt-gen)/%.done:
	@echo "cxxrt: the Kbuild file at the top of the tree must include cxxrt/build/tree.mk" >&2; false
