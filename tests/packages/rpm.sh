# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by run, after uninstall.sh: RPMs of what was built for Debian, which rpm installs into the root of tests.
# shellcheck disable=SC2154
rpms=$top/build/rpm

# Libraries have other names there, and rpm knows no package of this machine.
rpm_inside()
{
	rpm --root "$root" --dbpath /root/.rpmdb --nodeps "$@"
}

rpms_are_made()
{
	BUILT=$debs/rnbd-$version/build KMOD=$release BUILT_MODULES=$top/build/$release "$top/packaging/rpm"
}

# Modes and names of what install.mk puts in place, by the folders of other distributions, and of what rpm has.
same_as_made()
{
	rm -rf "$staged"
	program_by_make install /usr && rm -r "$staged/usr/share/initramfs-tools" || return 1
	find "$staged" -type f -printf '%M /%P\n' | sed 's, /lib/, /usr/lib/,; s,/usr/local/,/usr/,
		s,/vendor-completions/,/site-functions/,' | sort >"$work/made"
	rpm -qp --qf '[%{FILEMODES:perms} %{FILENAMES}\n]' "$rpms"/{rnbdadm,rnbd-resource-agents}-"$version"-*.rpm |
		grep '^-' | grep -v ' /usr/share/licenses/' | sed '/\/man\//s/\.gz$//' | sort | diff "$work/made" -
}

# Folders that belong to other packages there, and to nobody here; unless this machine has them, too.
folders_of_others()
{
	local folder
	for folder in /usr/share/licenses /usr/share/zsh/site-functions; do
		[ -d "$folder" ] || "$@" "$root$folder" || return 1
	done
}

# No kernel is there, else DKMS would build for minutes what it builds once more below.
rpms_install()
{
	local code=0 sources=usr/src/rnbd-$version
	folders_of_others mkdir && mount -t tmpfs none "$root/usr/lib/modules" || return 1
	rpm_inside -i "$rpms/rnbdadm-$version"-*.x86_64.rpm "$rpms"/rnbd-{dkms,resource-agents}-"$version"-*.rpm \
		2>&1 | tee "$work/out" || code=1
	umount "$root/usr/lib/modules"
	[ "$code" = 0 ] && grep -q 'no kernel has its headers here' "$work/out" &&
		rpm_inside -V rnbdadm rnbd-dkms rnbd-resource-agents &&
		[ "$(inside rnbdadm --version)" = "rnbdadm $version" ] && inside rnbdadm check &&
		[ "$(inside dkms status -m rnbd)" = "rnbd/$version: added" ] &&
		diff -r "$debs/rnbd-$version/debian/rnbd-dkms/$sources" "$root/$sources"
}

# What was edited is kept by another name.
rpms_are_erased()
{
	echo '# mine' >>"$root/etc/rnbd/rnbd.conf"
	rpm_inside -e rnbdadm rnbd-dkms rnbd-resource-agents && grep -qx '# mine' "$root/etc/rnbd/rnbd.conf.rpmsave" &&
		rm "$root/etc/rnbd/rnbd.conf.rpmsave" && rmdir "$root/etc/rnbd" && folders_of_others rmdir &&
		inventory | diff "$before" -
}

# The modules for one kernel take the place of others as soon as they are there, and not beside those of DKMS.
kmod_installs()
{
	local name kmod=kmod-rnbd-$version-1.${release//-/_}.x86_64
	# The kernel's package has this one.
	local updates=$root/lib/modules/$release/updates
	folders_of_others mkdir && mkdir "$updates" && [ "$(rpm -qp --conflicts "$rpms/$kmod.rpm")" = rnbd-dkms ] &&
		rpm_inside -i "$rpms/$kmod.rpm" || return 1
	for name in $modules; do
		[ "$(modinfo -b "$root" -k "$release" -F filename "$name")" = \
			"$updates/rnbd/$name.ko" ] || return 1
	done
	rpm_inside -V kmod-rnbd && rpm_inside -e kmod-rnbd &&
		! grep -q updates/rnbd "$root/lib/modules/$release/modules.dep" && rmdir "$updates" &&
		folders_of_others rmdir && inventory | diff "$before" -
}

try "rpmbuild makes RPMs" rpms_are_made
try "they have what make installs" same_as_made
try "rpm installs them, and DKMS has the same sources" rpms_install
try "erased, they leave nothing" rpms_are_erased
try "that of the modules for one kernel does so, too" kmod_installs
