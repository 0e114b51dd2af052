# SPDX-License-Identifier: GPL-2.0
# What DKMS builds the modules from, below $(DESTDIR): the tree without tests, but for the self-test. For the Debian
# package and the RPM.
include packaging/version.mk
folder := $(DESTDIR)/usr/src/rnbd-$(VERSION)

.PHONY: install
install:
	install -d '$(folder)'
	cp -a Kbuild Makefile cxxrt kmod '$(folder)/'
	rm -r '$(folder)/cxxrt/example'
	install -d '$(folder)/tests'
	cp -a tests/cxxrt '$(folder)/tests/'
	rm -r '$(folder)/tests/cxxrt/reject' '$(folder)/tests/cxxrt/run' '$(folder)/tests/cxxrt/installed'
	sed -i 's, reject/$$,,' '$(folder)/tests/cxxrt/Kbuild'
	install -D -m 644 packaging/version.mk '$(folder)/packaging/version.mk'
