# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by run: kernels come and go by dpkg, image and headers in each order, with the scripts that Debian's packages
# of kernels run. DKMS does all that it does but compile: its make takes what was built for the tests' own kernel.
# shellcheck disable=SC2154,SC2016
series_of_tests=${release%%-*}
next=${series_of_tests%.*}.999-1-amd64

kernel_packages()
{
	local kind script folder
	for kind in image headers; do
		folder=$root/tmp/kernel/$kind
		mkdir -p "$folder/DEBIAN" "$folder/usr/lib/modules/$1"
		printf '%s\n' "Package: linux-$kind-$1" 'Version: 1' 'Architecture: all' 'Maintainer: nobody' \
			"Description: $kind of a kernel for tests" >"$folder/DEBIAN/control"
		for script in postinst prerm postrm; do
			kernel_script "$kind" "$script" "$1" >"$folder/DEBIAN/$script"
			chmod 755 "$folder/DEBIAN/$script"
		done
	done
	ln -s "$(readlink -f "$root/lib/modules/$release/build" | sed "s,^$root,,")" \
		"$root/tmp/kernel/headers/usr/lib/modules/$1/build"
	mkdir -p "$root/tmp/kernel/image/boot" "$root/tmp/kernel/image/usr/lib/modules/$1/kernel"
	touch "$root/tmp/kernel/image/boot/vmlinuz-$1"
	for kind in image headers; do
		dpkg-deb --root-owner-group -Znone -b "$root/tmp/kernel/$kind" "$root/tmp/$kind-$1.deb" || return 1
	done
	rm -r "$root/tmp/kernel"
}

# As those of Debian: headers have hooks when they come only.
kernel_script()
{
	local image="--arg=$3 --arg=/boot/vmlinuz-$3" folder=/etc/kernel/$2.d
	echo '#!/bin/sh -e'
	case $1-$2 in
	headers-postinst) folder=/etc/kernel/header_postinst.d image=--arg=$3 ;;
	headers-*) return ;;
	image-postinst) echo "depmod $3" ;;
	image-postrm) echo "[ \$1 != purge ] || rm -f /lib/modules/$3/modules.*" ;;
	esac
	echo "[ ! -d $folder ] || run-parts --report --exit-on-error $image $folder"
}

# make, for DKMS alone.
without_compiler()
{
	local code ko=$top/build/$release/kmod
	mkdir -p "$root/tmp/built.ko" && cp "$ko"/*/*.ko "$root/tmp/built.ko/" || return 1
	printf '%s\n' '#!/bin/sh' '[ -e Kbuild ] || exit 0' 'for kind in rtrs rnbd; do' 'built=dkms-build/kmod/$kind' \
		'mkdir -p $built' 'cp /tmp/built.ko/$kind-*.ko $built/' 'done' >"$root/tmp/make"
	chmod 755 "$root/tmp/make"
	mount --bind "$root/tmp/make" "$root/usr/bin/make"
	"$@"
	code=$?
	umount "$root/usr/bin/make"
	return $code
}

comes()
{
	local debs=() kind
	for kind in "$@"; do debs+=("/tmp/$kind-$next.deb"); done
	without_compiler inside dpkg -i "${debs[@]}" 2>&1 | tee "$work/said"
	return "${PIPESTATUS[0]}"
}

goes()
{
	inside dpkg --purge "linux-$1-$next"
}

# Of the next kernel, as DKMS has it, and if it is there itself, depmod and doctor, too; the tests' own keeps its
# modules all the time.
has_modules()
{
	[ "$(inside dkms status -m rnbd -k "$next")" = "rnbd/$version, $next, x86_64: installed" ] &&
		modules_of "$version" || return 1
	[ ! -e "$root/boot/vmlinuz-$next" ] ||
		{ [ "$(grep -cE '^updates/dkms/(rnbd|rtrs)-[a-z]*\.ko' "$root/lib/modules/$next/modules.dep")" = 5 ] &&
		next_doctor "updates/dkms, version $version"; }
}

has_none()
{
	! inside dkms status -m rnbd -k "$next" | grep "$next" && modules_of "$version" &&
		[ -z "$(find "$root/lib/modules/$next/updates" -name '*.ko*' 2>/dev/null)" ]
}

next_doctor()
{
	inside rnbdadm doctor | tee "$work/doctor"
	grep -q "modules for the newest kernel, $next: .*$1" "$work/doctor"
}

image_before_headers()
{
	comes image && grep -qi headers "$work/said" && has_none &&
		next_doctor "DKMS could not build rnbd $version: the kernel's headers are missing" &&
		comes headers && has_modules
}

# Headers have no hook when they go: the kernel can still load what it has.
headers_go_first()
{
	goes headers && has_modules && goes image && has_none && nothing_of_it
}

headers_before_image()
{
	comes headers && has_modules && comes image && has_modules
}

image_goes_first()
{
	goes image && has_none && goes headers && nothing_of_it
}

both_at_once()
{
	comes image headers && has_modules && inside dpkg --purge "linux-headers-$next" "linux-image-$next" &&
		has_none && nothing_of_it
}

nothing_of_it()
{
	[ ! -e "$root/lib/modules/$next" ] && [ ! -e "$root/boot/vmlinuz-$next" ] &&
		[ ! -e "$root/var/lib/dkms/rnbd/$version/$next" ] && rm -rf "$root/tmp/built.ko"
}

# dpkg, and apt with it, go on; nothing is built.
not_supported()
{
	local next=5.99.1-1-amd64
	kernel_packages "$next" && comes headers image && has_none &&
		grep -q "rnbd $version has no modules for kernel $next: it is older than 6.1" "$work/said" &&
		goes image && goes headers && nothing_of_it
}

# Newer than any that was tested: DKMS does not pass it over.
newer_than_tested()
{
	local next=${series_of_tests%%.*}.99.1-1-amd64
	kernel_packages "$next" && comes image headers && has_modules && goes image && goes headers && nothing_of_it
}

try "packages of a kernel, with Debian's scripts" kernel_packages "$next"
try "a kernel comes before its headers: doctor says so, and DKMS builds when they come" image_before_headers
try "its headers are removed, then the kernel: its modules go with that" headers_go_first
try "headers come before their kernel, and DKMS builds" headers_before_image
try "the kernel is removed, then its headers" image_goes_first
try "both come together, and go" both_at_once
try "a kernel that is too old comes and goes, and dpkg says why it has no modules" not_supported
try "one of a series that nobody has tested has modules" newer_than_tested
