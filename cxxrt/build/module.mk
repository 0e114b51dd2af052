# SPDX-License-Identifier: GPL-2.0
# For a Kbuild file with modules that have C++ objects. List foo.o as usual, it is built from foo.cc;
# include this file at the end:
#
#	obj-m := foo.o
#	foo-y := stub.o main.o
#	include $(KBUILD_EXTMOD)/cxxrt/build/module.mk
#
# A module has a C file too: module_init(), MODULE_LICENSE(), EXPORT_SYMBOL() and tracepoints live
# there. Each composite module gets the runtime object. The Kbuild file at the top of the tree must
# include tree.mk.

include $(dir $(lastword $(MAKEFILE_LIST)))flags.mk

ccflags-y += -I$(cxxrt-dir)/include -I$(cxxrt-gen)/probes

# Where the kernel has UBSAN but is not instrumented as a whole (ARCH=um), folders have to ask.
UBSAN_SANITIZE := y

$(foreach m,$(patsubst %.o,%,$(filter %.o,$(obj-m))), \
	$(if $($(m)-y)$($(m)-objs),$(eval $(m)-y += $(m).cxxrt.o)))

quiet_cmd_cxx_o_cc = CXX $(quiet_modtag)  $@
      cmd_cxx_o_cc = $(KCXX) $(cxx_flags) -c -o $@ $< $(cmd_objtool)

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

$(obj)/%.cxxrt.o: $(cxxrt-dir)/runtime/runtime.cc $(cxxrt-prereqs) FORCE
	$(call if_changed_rule,cxx_o_cc)

$(obj)/%.o: $(src)/%.cc $(cxxrt-prereqs) FORCE
	$(call if_changed_rule,cxx_o_cc)

$(cxxrt-gen)/%.done:
	@echo "cxxrt: the Kbuild file at the top of the tree must include cxxrt/build/tree.mk" >&2; false
