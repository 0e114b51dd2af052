# SPDX-License-Identifier: GPL-2.0
# Installs the program and all that comes with it below $(DESTDIR), or takes it away; `rnbdadm` and the generated
# texts must be built to be installed. The same for `make install-rnbdadm` and for the packages, of which the agents of
# a cluster are one.
#
# PREFIX is /usr or /usr/local: where else do systemd and udev look? initramfs-tools knows one folder only, and what
# an administrator edits is in /etc.
PREFIX ?= /usr
DOC ?= /usr/local/share/doc/rnbdadm
d := $(DESTDIR)
man := $(PREFIX)/share/man
# Debian 12 looks for its own in /lib.
lib := $(if $(filter /usr,$(PREFIX)),/lib,$(PREFIX)/lib)
units := $(lib)/systemd/system
zsh := $(PREFIX)/share/zsh/$(if $(filter /usr,$(PREFIX)),vendor-completions,site-functions)
initramfs := /usr/share/initramfs-tools

# mode:source:place, of all but manual pages and what may be edited.
files := 755:build/rnbdadm/rnbdadm:$(PREFIX)/sbin/rnbdadm \
	644:build/rnbdadm.bash:$(PREFIX)/share/bash-completion/completions/rnbdadm \
	644:build/_rnbdadm:$(zsh)/_rnbdadm \
	$(foreach unit,$(wildcard $(addprefix packaging/systemd/*.,service target timer)), \
		644:$(unit):$(units)/$(notdir $(unit))) \
	$(foreach script,rnbd-server rnbd-shutdown,755:packaging/systemd/$(script):$(PREFIX)/lib/rnbd/$(script)) \
	755:packaging/systemd/rnbd-generator:$(lib)/systemd/system-generators/rnbd-generator \
	755:packaging/initramfs/hook:$(initramfs)/hooks/rnbd \
	644:packaging/initramfs/conf-hook:$(initramfs)/conf-hooks.d/rnbd \
	755:packaging/initramfs/map:$(initramfs)/scripts/local-top/rnbd \
	644:packaging/etc/60-rnbd.rules:$(lib)/udev/rules.d/60-rnbd.rules \
	644:packaging/etc/rnbd.tmpfiles:$(PREFIX)/lib/tmpfiles.d/rnbd.conf \
	644:packaging/grafana-rnbd.json:$(DOC)/grafana-rnbd.json \
	644:packaging/prometheus-rnbd.rules.yml:$(DOC)/prometheus-rnbd.rules.yml \
	644:packaging/etc/multipath-rnbd.conf:$(DOC)/multipath-rnbd.conf \
	644:Documentation/admin-guide.md:$(DOC)/admin-guide.md \
	644:Documentation/clusters.md:$(DOC)/clusters.md
agents := $(foreach agent,rnbd-disk rnbd-export rnbd-mirror,755:packaging/ocf/$(agent):$(PREFIX)/lib/ocf/resource.d/rnbd/$(agent))
edited := packaging/etc/rnbd.conf:/etc/rnbd/rnbd.conf
# What is ours alone, innermost first.
folders := /etc/rnbd/rnbd.conf.d /etc/rnbd/events.d /etc/rnbd/keys.d /etc/rnbd $(PREFIX)/lib/rnbd \
	$(PREFIX)/lib/ocf/resource.d/rnbd $(DOC)

part = $(word $(1),$(subst :, ,$(2)))
define line


endef
# These name the program by its place; in an initramfs that is always the same.
naming = $(foreach f,$(1),$(if $(filter packaging/systemd/% packaging/initramfs/% packaging/ocf/%,$(call part,2,$f)), \
	'$d$(call part,3,$f)'))
program := s,/usr/sbin/rnbdadm,$(PREFIX)/sbin/rnbdadm,
place = $(foreach f,$(1),install -D -m $(call part,1,$f) $(call part,2,$f) '$d$(call part,3,$f)'$(line)	) \
	$(if $(filter /usr,$(PREFIX)),,sed -i -e '/^copy_exec/$(program)' -e '/^copy_exec/!$(program)g' \
		-e 's,/usr/lib/rnbd/,$(PREFIX)/lib/rnbd/,g' $(call naming,$(1)))

.PHONY: install install-program install-agents uninstall
install: install-program install-agents

install-agents:
	$(call place,$(agents))

install-program:
	install -d '$d$(man)/man8' '$d$(man)/man5' '$d/etc/rnbd/rnbd.conf.d' '$d/etc/rnbd/events.d'
	install -m 644 build/man/*.8 '$d$(man)/man8/'
	install -m 644 build/man/*.5 '$d$(man)/man5/'
	$(call place,$(files))
	# What an administrator has edited stays.
	$(foreach f,$(edited),[ -e '$d$(call part,2,$f)' ] || \
		install -D -m 644 $(call part,1,$f) '$d$(call part,2,$f)'$(line)	)

# Manual pages are those of any version. Numbers of keys are noted as long as there are keys.
uninstall:
	$(foreach f,$(files) $(agents),rm -f '$d$(call part,3,$f)'$(line)	)
	rm -f '$d$(man)'/man8/rnbdadm.8 '$d$(man)'/man8/rnbdadm-*.8 '$d$(man)'/man5/rnbd.conf.5
	$(foreach f,$(edited),! cmp -s $(call part,1,$f) '$d$(call part,2,$f)' || rm '$d$(call part,2,$f)'$(line)	)
	[ ! -d '$d/etc/rnbd/keys.d' ] || rmdir --ignore-fail-on-non-empty '$d/etc/rnbd/keys.d'
	[ -d '$d/etc/rnbd/keys.d' ] || rm -f '$d/etc/rnbd/keys.last'
	$(foreach folder,$(folders),[ ! -d '$d$(folder)' ] || rmdir --ignore-fail-on-non-empty '$d$(folder)'$(line)	)
