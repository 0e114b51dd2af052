# SPDX-License-Identifier: GPL-2.0
# Installs the program and all that comes with it below $(DESTDIR); `rnbdadm` and the generated texts
# must be built. The same for `make install-rnbdadm` and for the package.
DOC ?= /usr/local/share/doc/rnbdadm
d := $(DESTDIR)
units := /lib/systemd/system

.PHONY: install
install:
	install -D -m 755 build/rnbdadm/rnbdadm '$d/usr/sbin/rnbdadm'
	install -d '$d/usr/share/man/man8' '$d/usr/share/man/man5' '$d$(units)' '$d/etc/rnbd/rnbd.conf.d'
	install -m 644 build/man/*.8 '$d/usr/share/man/man8/'
	install -m 644 build/man/*.5 '$d/usr/share/man/man5/'
	install -D -m 644 build/rnbdadm.bash '$d/usr/share/bash-completion/completions/rnbdadm'
	install -D -m 644 build/_rnbdadm '$d/usr/share/zsh/vendor-completions/_rnbdadm'
	install -m 644 packaging/systemd/*.service packaging/systemd/*.target packaging/systemd/*.timer \
		'$d$(units)/'
	install -D -m 755 packaging/systemd/rnbd-server '$d/usr/lib/rnbd/rnbd-server'
	install -D -m 755 packaging/systemd/rnbd-generator '$d/lib/systemd/system-generators/rnbd-generator'
	install -D -m 755 packaging/initramfs/hook '$d/usr/share/initramfs-tools/hooks/rnbd'
	install -D -m 644 packaging/initramfs/conf-hook '$d/usr/share/initramfs-tools/conf-hooks.d/rnbd'
	install -D -m 755 packaging/initramfs/map '$d/usr/share/initramfs-tools/scripts/local-top/rnbd'
	install -D -m 644 packaging/etc/60-rnbd.rules '$d/lib/udev/rules.d/60-rnbd.rules'
	install -D -m 644 packaging/etc/rnbd.tmpfiles '$d/usr/lib/tmpfiles.d/rnbd.conf'
	# What an administrator has edited stays.
	[ -e '$d/etc/rnbd/rnbd.conf' ] || \
		install -D -m 644 packaging/etc/rnbd.conf '$d/etc/rnbd/rnbd.conf'
	[ -e '$d/etc/rdma/modules/rnbd.conf' ] || \
		install -D -m 644 packaging/etc/rdma-modules-rnbd.conf '$d/etc/rdma/modules/rnbd.conf'
	install -D -m 644 packaging/grafana-rnbd.json '$d$(DOC)/grafana-rnbd.json'
	install -D -m 644 packaging/etc/multipath-rnbd.conf '$d$(DOC)/multipath-rnbd.conf'
	install -D -m 644 Documentation/admin-guide.md '$d$(DOC)/admin-guide.md'
