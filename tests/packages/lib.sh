# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by run, inside its mount namespace: the root that packages are installed in, and the counting of tests.
passed=0 failed=0
work=$(mktemp -d)
root=$work/root
# What is mounted there is not in the way of its end, though it may still be busy.
trap 'cd / && umount -R -l "$work" && rmdir "$work"' EXIT

# An overlay over the machine's own root; all that is written lies in memory and ends with the namespace. Of the
# machine's kernels it has only the tests' own: DKMS would build for each whose headers are there.
# shellcheck disable=SC2154
make_root()
{
	local kernel
	if ! { mount -t tmpfs packages "$work" && mkdir "$work/new" "$work/work" "$root" &&
		mount -t overlay packages -o "lowerdir=/,upperdir=$work/new,workdir=$work/work" "$root"; }; then
		echo "packages: this machine allows no overlay of its root" >&2
		return 1
	fi
	# /boot is empty: which kernels are installed is what a test says.
	mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" && mount -t tmpfs run "$root/run" &&
		mount -t tmpfs tmp "$root/tmp" && mount -t tmpfs boot "$root/boot" || return 1
	for kernel in "$root"/lib/modules/*; do
		[ "${kernel##*/}" = "$release" ] || rm -rf "$kernel" || return 1
	done
	# No service of this machine is started or stopped.
	printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
	chmod 755 "$root/usr/sbin/policy-rc.d"
}

inside()
{
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root DEBIAN_FRONTEND=noninteractive \
		chroot "$root" "$@"
}

# mkinitramfs with the package's hook and what no image does without: others cost seconds. Its configuration is
# /tmp/conf; kernels are $release, and "none", which has no modules.
# shellcheck disable=SC2154
prepare_mkinitramfs()
{
	local hooks=usr/share/initramfs-tools/hooks conf=$root/tmp/conf
	mkdir -p "$conf/scripts" "$root/tmp/hooks" &&
		printf '%s\n' MODULES=list BUSYBOX=n COMPRESS=gzip COMPRESSLEVEL=1 >"$conf/initramfs.conf" &&
		(cd "$root/$hooks" && cp -p kmod klibc-utils udev rnbd "$root/tmp/hooks") &&
		mount --bind "$root/tmp/hooks" "$root/$hooks" &&
		echo CONFIG_RD_GZIP=y | tee "$root/boot/config-$release" >"$root/boot/config-none"
}

forget_mkinitramfs()
{
	umount "$root/usr/share/initramfs-tools/hooks" && rm "$root/boot/config-$release" "$root/boot/config-none"
}

try()
{
	local what=$1 begin=$SECONDS
	shift
	if "$@" >"$work/log" 2>&1; then
		passed=$((passed + 1))
		echo "ok   $what ($((SECONDS - begin)) s)"
	else
		failed=$((failed + 1))
		echo "FAIL $what"
		tail -n 60 "$work/log" | sed 's/^/     /'
	fi
}

# Every name that is not on the machine below. Logs, caches, the state of dpkg itself, what depmod makes, and the
# key that DKMS makes for the machine may be there; so may the database that rpm begins in the home of whoever
# calls it, as DKMS does where rpm is installed.
inventory()
{
	local name
	local others='var/log/|var/cache/|var/lib/dpkg/|var/lib/dkms/mok\.|usr/lib/modules/[^/]*/modules\.|debs'
	others+='|root/\.rpmdb'
	(cd "$work/new" && find . -mindepth 1 -print) | sort | grep -Ev "^\./($others)" |
		while read -r name; do
			# A folder of both was only opened; what was moved away and back is the same.
			[ ! -d "/$name" ] || [ ! -d "$work/new/$name" ] || continue
			[ ! -L "/$name" ] || [ "$(readlink "/$name")" != "$(readlink "$work/new/$name")" ] || continue
			echo "$name"
		done
}
