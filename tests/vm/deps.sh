#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# deps.sh [arm64]: installs what building, checking and testing need on Debian 12 or 13, from Debian's own packages;
# with arm64 also what machines of that architecture need. Does nothing, in no time, when all of it is there. As root,
# or through sudo.
set -euo pipefail

PACKAGES=(
	# building the modules and the in-tree peers; the kernel always by its meta package
	build-essential ccache linux-headers-amd64 linux-source xz-utils kmod bc bison flex libelf-dev libssl-dev
	# modules of a kernel whose headers ship their types, as 6.12's do
	pahole
	# a root of a later release, for modules of that one's kernels
	debootstrap
	# virtual machines and what runs in them
	qemu-system-x86 busybox-static klibc-utils python3 fio e2fsprogs fdisk parted iproute2 dmsetup
	util-linux procps dash coreutils xfsprogs lvm2 mdadm cryptsetup-bin keyutils sg3-utils
	resource-agents libxml2-utils udev
	# the hostile peer
	libibverbs-dev librdmacm-dev rdma-core
	# the administration tool: libraries, readers of its texts, packages
	libfmt-dev nlohmann-json3-dev libudev-dev libkmod-dev libncurses-dev prometheus-cpp-dev libkeyutils-dev
	libnl-route-3-dev libsmartcols-dev
	man-db zsh systemd debhelper dh-dkms dkms lintian initramfs-tools-core rpm
	# checks and unit tests, which take HMAC from libssl-dev (above)
	clang-format-19 clang-tidy-19 shellcheck pyflakes3 libgtest-dev clang libclang-rt-dev spin git
)

case ${1:-} in
'') ;;
# The compiler that a release builds its kernels with.
arm64) PACKAGES+=(qemu-system-arm g++-aarch64-linux-gnu) ;;
*)
	echo "deps.sh: no such architecture: $1" >&2
	exit 1
	;;
esac

missing()
{
	local package
	for package in "${PACKAGES[@]}"; do
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || echo "$package"
	done
}

# Is the kernel image of exactly the installed headers' version to be had (or cached already)?
image_known()
{
	local depends release version
	depends=$(dpkg-query -W -f '${Depends}' linux-headers-amd64)
	release=${depends#linux-headers-}
	version=${release#*(= }
	release=${release%% *}
	version=${version%%)*}
	apt-cache show "linux-image-$release=$version" >/dev/null 2>&1
}

as_root()
{
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		echo "deps.sh: run this as root: $*" >&2
		exit 1
	fi
}

if [ ! -e /etc/debian_version ]; then
	echo "deps.sh: this is no Debian; install what PACKAGES in $0 lists" >&2
	exit 1
fi

mapfile -t wanted < <(missing)
if [ "${#wanted[@]}" -eq 0 ] && image_known; then
	exit 0
fi
echo "installing: ${wanted[*]:-nothing, but reading the list of packages anew}"
as_root apt-get -q update
if [ "${#wanted[@]}" -gt 0 ]; then
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "${wanted[@]}"
fi
# Headers that were installed long ago may be older than every image that the archive still has.
if ! image_known; then
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends \
		linux-headers-amd64 linux-source
fi
