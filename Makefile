# SPDX-License-Identifier: GPL-2.0
# The entry points; `make help` lists them. The modules are built by the kernel's own Kbuild, from the
# file Kbuild on, in a folder of symbolic links per kernel: several kernels never mix their objects.

include packaging/version.mk

# Those that Debian's meta package has brought: kernels of other kinds, for real time or clouds, may lie beside. Else the
# newest that are there.
arch := $(or $(shell dpkg --print-architecture 2>/dev/null),amd64)
brought := $(shell dpkg-query -W -f '$${Depends}' linux-headers-$(arch) 2>/dev/null | sed -n 's/^linux-headers-\([^ ]*\).*/\1/p')
headers := $(or $(patsubst %/Makefile,%,$(wildcard /usr/src/linux-headers-$(brought)/Makefile)),\
	$(shell ls -d /usr/src/linux-headers-*-$(arch) 2>/dev/null | sort -rV | head -n 1))
# The kernel to build for: the running one, else the newest headers that are installed.
KDIR ?= $(or $(wildcard /lib/modules/$(shell uname -r)/build),$(headers),/lib/modules/$(shell uname -r)/build)
# What the modules are built from, and what Kbuild is told beside. Users get what they load, and the self-test where
# they install it; who works on the code has TESTS=1: the modules of all tests, and every warning is an error.
SOURCES := Kbuild $(wildcard kmod cxxrt tests/cxxrt tests/kunit tests/misdeeds)
CXXRT_WERROR ?= $(TESTS)
SELFTEST := $(if $(filter install selftest dkms,$(MAKECMDGOALS)),selftest)
KBUILD_ARGS = RNBD_VERSION='$(VERSION)' RNBD_TESTS='$(or $(if $(TESTS),all),$(SELFTEST))' CXXRT_WERROR='$(CXXRT_WERROR)'
include cxxrt/build/project.mk

# Virtual machines run the newest kernel that has headers here, unless KDIR was given.
lab = $(if $(filter file,$(origin KDIR)),$(addprefix KDIR=,$(headers)),KDIR='$(KDIR)')

.PHONY: install uninstall selftest dkms clean quick check unit mutants cxxrt cxxrt-6.1 cxxrt-6.12 cxxrt-7.3 model vm vm-full demo fuzz test help
.PHONY: vm-uml vm-uml-full vm-debug vm-debug-full vm-kcsan vm-6.1 vm-6.12 vm-7.3 vm-pairs vm-pairs-full
.PHONY: vm-pairs-arm64 vm-arm64 vm-arm64-6.12 vm-arm64-7.3 vm-arm64-16k
.PHONY: cluster vm-update matrix soak bench bench-modules
.PHONY: kernels rnbdadm rnbdadm-texts rnbdadm-test install-rnbdadm uninstall-rnbdadm deb rpm packages

# What users have of this.
own = $(addprefix kmod/,rtrs/rtrs-core rtrs/rtrs-client rtrs/rtrs-server rnbd/rnbd-client rnbd/rnbd-server)
# Kbuild's word for DESTDIR.
INSTALL_MOD_PATH ?= $(DESTDIR)
run_depmod = PATH="$$PATH:/sbin:/usr/sbin" depmod $(addprefix -b ,$(INSTALL_MOD_PATH)) '$(release)'

# Into updates/, where depmod looks before the kernel's own folder: these win over in-tree modules. From copies, among
# which are no modules that are tests, and which are signed before Kbuild compresses them: by Debian's key, if it lies
# in KDIR, or by MOK/mok.key. Kbuild runs depmod only with System.map, which installed headers don't have.
MOK ?=
copies = $(abspath $(BUILD))/install
signed_by = $(KDIR)/scripts/sign-file $(or $(shell sed -n 's/^CONFIG_MODULE_SIG_HASH="\(.*\)"/\1/p' \
	'$(KDIR)/include/config/auto.conf'),sha256) '$(abspath $(MOK))/mok.key' '$(abspath $(MOK))/mok.pub'
# What the build has proven of this kernel's headers, the self-test proves of the kernel that runs. DKMS installs
# modules by itself, and is done with the target dkms.
selftest_of = sh cxxrt/build/selftest.sh $(1) '$(release)' '$(BUILD)/tests/cxxrt/cxxrt-selftest.ko'
selftest: modules
	$(call selftest_of,--now)

dkms: modules
	$(call selftest_of)

install: modules
	$(if $(DESTDIR)$(INSTALL_MOD_PATH),,$(call selftest_of))
	rm -rf '$(copies)'
	mkdir '$(copies)'
	grep -v tests/ '$(BUILD)/modules.order' | sed 's,^$(abspath $(BUILD))/,$(copies)/,' > '$(copies)/modules.order'
	cd '$(BUILD)' && cp --parents $(addsuffix .ko,$(own)) '$(copies)'
	$(if $(MOK),cd '$(copies)' && for module in $(addsuffix .ko,$(own)); do $(signed_by) $$module || exit 1; done)
	+$(MAKE) -C '$(KDIR)' M='$(copies)' INSTALL_MOD_DIR=updates INSTALL_MOD_PATH='$(INSTALL_MOD_PATH)' \
		$(if $(wildcard $(KDIR)/certs/signing_key.*),,CONFIG_MODULE_SIG_ALL=) modules_install
	$(run_depmod)

# What `make install` has put there for this kernel, compressed or not; DKMS has a folder of its own.
updates = $(INSTALL_MOD_PATH)/lib/modules/$(release)/updates
uninstall:
	@[ -n '$(release)' ] || { echo "uninstall: no kernel is in KDIR=$(KDIR)" >&2; exit 1; }
	for module in $(own); do rm -f '$(updates)'/$$module.ko '$(updates)'/$$module.ko.*; done
	for folder in /kmod/rtrs /kmod/rnbd /kmod ''; do [ ! -d '$(updates)'$$folder ] || \
		rmdir --ignore-fail-on-non-empty '$(updates)'$$folder; done
	$(run_depmod)

clean:
	rm -rf build

# For whoever changes something: a build, the tests of pure code, one scenario.
quick: TESTS := 1
quick: modules
	$(MAKE) -C tests/unit run
	tests/vm/run map-mkfs

check:
	tools/check/run

unit:
	$(MAKE) -C tests/unit run

cxxrt:
	tests/cxxrt/run KDIR='$(KDIR)'

cxxrt-6.1 cxxrt-6.12 cxxrt-7.3: cxxrt-%:
	kdir=$$(tests/vm/run --kernel $* --prepare) && tests/vm/in-root $* tests/cxxrt/run KDIR="$$kdir"

fuzz:
	$(MAKE) -C tests/fuzz run

model:
	tests/model/run

mutants:
	tests/mutants/run

# RECORD=1: how the plan ended goes into README's table of kernels.
record = $(if $(RECORD),--record)

vm vm-full: rnbdadm deb
	$(lab) $(MAKE) TESTS=1 modules
	$(lab) tests/vm/run --planned --at-once 3 $(record) $(if $(filter %-full,$@),--full) \
		--result build/results/$@.txt --logs build/$@

# On another kernel, which is fetched or built when the cache has none: the plan, or with -full every scenario.
# name, variables of its modules.
modules_for = kdir=$$(tests/vm/run --kernel $(1) --prepare) && \
	tests/vm/in-root $(1) $(MAKE) TESTS=1 KDIR="$$kdir" $(2) modules
define on_kernel
	+$(modules_for)
	tests/vm/run --kernel $(1) --result build/results/$@.txt --logs build/$@ $(if $(filter %-full,$@),,--planned $(record)) \
		$(if $(filter uml 6.1 6.12 7.3,$(1)),--at-once 3)
endef

# A kernel of the next series comes, is booted, and goes, below the packages.
newer = $$(cd tests/vm && python3 -c 'from vmlab import kernels; print(kernels.newer())')
vm-update: rnbdadm deb
	$(lab) $(MAKE) TESTS=1 modules
	+newer=$(newer) && $(call modules_for,$$newer)
	$(lab) tests/vm/run --logs build/$@ 'packages[kernels]'

vm-uml vm-uml-full: rnbdadm
	$(call on_kernel,uml,ARCH=um SUBARCH=x86_64)

vm-debug vm-debug-full: rnbdadm
	$(call on_kernel,debug)

vm-kcsan: rnbdadm
	$(call on_kernel,kcsan)

vm-6.1 vm-6.12 vm-7.3: vm-%:
	$(call on_kernel,$*)

# Two machines with different kernels: each series on either side, or -full: all pairs, and in-tree modules.
vm-pairs vm-pairs-full:
	+$(foreach series,6.1 6.12 7.3,$(call modules_for,$(series)) &&) true
	tests/vm/run --pairs $(if $(filter %-full,$@),all,ring) --at-once 3 $(record) \
		--result build/results/$@.txt --logs build/$@

# The newest headers of Debian's suites, for a weekly look: built against, not run. RELEASE=trixie: of that one alone.
kernels:
	tests/vm/newest $(record) $(RELEASE)

# Another architecture, all of it emulated.
arm64 = ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu-
vm-pairs-arm64:
	tests/vm/deps.sh arm64
	$(lab) $(MAKE) TESTS=1 modules
	+$(call modules_for,arm64,$(arm64))
	tests/vm/run --pairs arm64 $(record) --result build/results/$@.txt --logs build/$@

vm-arm64 vm-arm64-6.12 vm-arm64-7.3 vm-arm64-16k: vm-%:
	tests/vm/deps.sh arm64
	$(call on_kernel,$*,$(arm64))

matrix:
	$(lab) $(MAKE) TESTS=1 modules
	$(lab) tests/vm/run --at-once 3 --logs build/matrix matrix disk-matrix

# Everything of more machines than two. FROM=COMMIT: an upgrade from that one's
# modules, which must know `rnbdadm server pause`.
cluster: rnbdadm
	$(lab) $(MAKE) TESTS=1 modules
	$(if $(FROM),rm -rf build/older && mkdir -p build/older && git archive '$(FROM)' | tar -x -C build/older)
	$(if $(FROM),$(lab) $(MAKE) -C build/older modules)
	$(lab) $(if $(FROM),OLDER='$(CURDIR)/build/older') tests/vm/run --logs build/cluster \
		cluster moving-server two-servers four-machines multipath-tools ocfs2 gfs2 live-migration many-sessions

# SOAK_SECONDS, SEED, FAULTS, SOAK_DISK=lvm: see the scenario.
soak:
	$(lab) $(MAKE) TESTS=1 modules
	$(lab) tests/vm/run 'soak[$(or $(SOAK_DISK),null)]'

# QUICK=1: ratios of instructions against the stored ones; else all figures, ROUNDS times, and a report.
bench:
	$(if $(QUICK),,bench/deps.sh)
	$(lab) $(MAKE) TESTS=1 modules
	$(lab) bench/run $(if $(ROUNDS),--rounds $(ROUNDS)) \
		$(if $(QUICK),--quick --result build/results/bench.txt,$(record))

bench-modules:
	$(lab) $(MAKE) TESTS=1 modules
	$(lab) bench/run --quick --modules-only --result build/results/bench-modules.txt

demo:
	$(lab) tests/vm/demo

rnbdadm:
	$(MAKE) -C tools/rnbdadm all

rnbdadm-test: rnbdadm
	$(MAKE) -C tools/rnbdadm test

# Manual pages and completions, as the program itself describes its commands.
rnbdadm-texts: rnbdadm
	build/rnbdadm/rnbdadm generate man '$(CURDIR)/build/man'
	build/rnbdadm/rnbdadm generate bash > build/rnbdadm.bash
	build/rnbdadm/rnbdadm generate zsh > build/_rnbdadm

install-rnbdadm: rnbdadm-texts
	$(MAKE) -f packaging/install.mk install

uninstall-rnbdadm:
	$(MAKE) -f packaging/install.mk uninstall

deb:
	packaging/deb

rpm:
	KMOD='$(KMOD)' $(if $(filter command line,$(origin KDIR)),KDIR='$(KDIR)') packaging/rpm

packages:
	tests/packages/run

test:
	+tests/all

help:
	@sed -n 's/^#? \{0,1\}//p' Makefile

#? make             build the modules for the running kernel
#? make TESTS=1     with the modules of the tests, and with warnings as errors
#? make install     install them into updates/ and run depmod
#? make selftest    what the build relies on, tried in the running kernel: a minute, no RDMA; make install does it, too
#? make report      packs what is needed to support a kernel that the build, or the self-test, fails for
#? make uninstall   remove them again; the kernel's own are then found
#? make quick       builds the modules, runs the unit tests and one scenario: two minutes, once all is built
#? make check       static checks: format, lint, layering, forbidden constructs
#? make unit        tests of the pure code in userspace
#? make mutants     mistakes in the pure code, one at a time, of which each must make a unit test fail
#? make cxxrt       tests of the build: what it must refuse, headers one by one, an example with the installed cxxrt
#? make cxxrt-6.1, cxxrt-6.12, cxxrt-7.3  the same with the headers of Debian's kernel of another series
#? make model       every order of events of a model of several machines, by Spin
#? make vm          tests in virtual machines
#? make vm-full     all of them there: more than twice as many
#? make vm-uml      some of them in user-mode Linux with KASAN, lockdep, kmemleak; builds that kernel once
#? make vm-debug    a few on an emulated x86 kernel with the same checks and preemption: slow
#? make vm-6.1, vm-6.12, vm-7.3  on Debian's kernel of another series: what meets the kernel's own code
#? make vm-pairs    two machines with different ones of these; vm-pairs-full: all pairs, and the kernels' own modules
#? make vm-pairs-arm64  one of this architecture and one of arm64; the kernels' own modules, too
#? make vm-arm64, vm-arm64-6.12, vm-arm64-7.3, vm-arm64-16k  on a pair of emulated arm64 machines
#? make vm RECORD=1, vm-6.12 RECORD=1 ...  and write the table of kernels in README anew; commit first
#? make matrix      every failure in part, and every one of every kind of disk, against everything beside it
#? make cluster     more machines than two: Pacemaker on clients, on servers and over both, mirrors,
#?                  multipath-tools, OCFS2, libvirt; FROM=COMMIT: with an upgrade from the modules of that one
#? make kernels     build the modules for the newest kernels of Debian's suites; RELEASE=trixie: of that one
#? make vm-update   a kernel comes, is booted and goes below the packages of an installed system
#? make soak        an hour of random failures in part under verified I/O; SOAK_SECONDS=600, SEED=1, SOAK_DISK=lvm
#? make vm-kcsan    a few on one that looks for data races in the modules: slow
#? make test        all of these; installs the Debian packages that they need
#? make rnbdadm      build the administration tool, build/rnbdadm/rnbdadm
#? make rnbdadm-test its tests, and those of the texts and units that come with it
#? make install-rnbdadm  install it with manual pages, completions, units and udev rules
#? make uninstall-rnbdadm  remove all of that, but what was edited in /etc
#? make deb         Debian packages, into build/deb: the source, rnbdadm, its debug symbols, rnbd-dkms, the agents
#? make rpm         RPMs for other distributions, into build/rpm: rnbdadm, rnbd-dkms, the agents, their source
#? make rpm KMOD=$$(uname -r)  and kmod-rnbd, the modules for that kernel, built; KDIR=DIR for its headers
#? make packages    installs them in a root of their own, where DKMS builds the modules, and removes them
#? make bench       compare with the kernel's own modules and NVMe over RDMA, into build/bench; ROUNDS=3
#? make bench QUICK=1  only instructions for each I/O, against the ratios in bench/baseline.json
#? make bench-modules  of these, only our modules and the kernel's
#? make demo        two virtual machines, one uses the other's disk; installs packages too
#? make fuzz        fuzzers of the parsers
#? make vm-uml-full all of them there; so does vm-debug-full, in hours
#? make objects OBJECTS=kmod/rtrs/client/main.o     build single objects
#? make clean       remove everything that was built
#?
#? KDIR=DIR         headers or build folder of another kernel to build for
#? DESTDIR=DIR      a root to install into, or to remove from
#? MOK=DIR          for install: signs the modules with DIR/mok.key and DIR/mok.pub, for Secure Boot
#? PREFIX=/usr/local  for install-rnbdadm and uninstall-rnbdadm: instead of /usr
#? BUILD=DIR        where to build; default build/<release of that kernel>
#? ARCH=um SUBARCH=x86_64 with the KDIR of a user-mode kernel
#? ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- with one of arm64
