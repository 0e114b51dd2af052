# SPDX-License-Identifier: GPL-2.0
# What DKMS builds the modules from, below $(DESTDIR): the tree without tests. For the Debian package and the RPM.
include packaging/version.mk
folder := $(DESTDIR)/usr/src/rnbd-$(VERSION)

.PHONY: install series
install:
	install -d '$(folder)'
	cp -a Kbuild Makefile cxxrt kmod '$(folder)/'
	rm -r '$(folder)/cxxrt/example'
	sed -i 's,tests/[a-z]*/,,g' '$(folder)/Kbuild'
	install -D -m 644 packaging/version.mk '$(folder)/packaging/version.mk'

# The kernels that cxxrt supports, as regular expressions.
series:
	for name in series series_arm64; do \
		known=$$(sed -n "s/^$$name='\(.*\)'$$/\1/p" cxxrt/build/check-kernel.sh | \
			sed 's/\./[.]/g; s/ /|/g') && [ -n "$$known" ] && \
		sed -i "s/#$$(echo $$name | tr a-z A-Z)#/$$known/" '$(folder)/dkms.conf' || exit 1; done
