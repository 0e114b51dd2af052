# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by run: what the hook of initramfs-tools puts into an image, and what it refuses.
# shellcheck disable=SC2154
image=/tmp/initrd

# With this text as the configuration; the image of before is gone.
make_image()
{
	printf '%s\n' "$1" >"$root/etc/rnbd/rnbd.conf.d/initramfs.conf"
	rm -rf "$root$image" "$root/tmp/files"
	inside mkinitramfs -d /tmp/conf -o $image "${2-$release}"
}

mode_of_image()
{
	[ "$(stat -c %a "$root$image")" = "$1" ]
}

prepare_images()
{
	prepare_mkinitramfs && mkdir "$root/lib/modules/none" && inside rnbdadm key generate root &&
		inside rnbdadm key generate root && inside rnbdadm key generate other
}

forget_images()
{
	forget_mkinitramfs &&
		rm -r "$root/lib/modules/none" "$root/etc/rnbd/keys.d" "$root/etc/rnbd/rnbd.conf.d/initramfs.conf"
}

session='[session other]
path = 10.0.0.9
key = other
[device later]
session = other
device = later
[session root]
path = 10.0.0.1
key = root
auth = required'
asked="$session
[device root]
session = root
device = root
no-path-timeout = -1
initramfs = yes"

unasked()
{
	make_image "$session" && mode_of_image 644 || return 1
	inside lsinitramfs $image >"$work/files"
	! grep -E 'rnbd|rtrs' "$work/files"
}

with_keys()
{
	local name
	make_image "$asked" && mode_of_image 600 && inside unmkinitramfs $image /tmp/files || return 1
	inside lsinitramfs $image | grep -E 'rnbd|rtrs' | tee "$work/files"
	for name in rnbd-client.ko rtrs-client.ko rtrs-core.ko usr/sbin/rnbdadm rules.d/60-rnbd.rules \
		scripts/local-top/rnbd; do
		grep -qE "$name(\.(gz|xz|zst))?\$" "$work/files" || { echo "$name is missing"; return 1; }
	done
	# The newest one, and no other; nothing of the server's.
	[ "$(ls "$root/tmp/files/etc/rnbd/keys.d")" = root.2 ] && ! grep -q server "$work/files" &&
		[ "$(stat -c '%a %U' "$root/tmp/files/etc/rnbd/keys.d/root.2")" = '600 root' ] &&
		cmp "$root/etc/rnbd/keys.d/root.2" "$root/tmp/files/etc/rnbd/keys.d/root.2" &&
		grep -q /scripts/local-top/rnbd "$root/tmp/files/scripts/local-top/ORDER" &&
		! grep -E 'other|later' "$root/tmp/files/etc/rnbd/rnbd.conf" &&
		inside rnbdadm --root /tmp/files check
}

# The making ends, and says why.
refused()
{
	local why=$1
	shift
	! make_image "$@" >"$work/out" 2>&1 || { echo "an image was made"; return 1; }
	cat "$work/out"
	grep -q -- "$why" "$work/out" && grep -q 'hooks/rnbd failed' "$work/out"
}

lax_key()
{
	local code=0
	chmod 644 "$root/etc/rnbd/keys.d/root.2"
	refused 'root.2: others than its owner may use it (mode 0644)' "$asked" || code=1
	chmod 600 "$root/etc/rnbd/keys.d/root.2"
	return $code
}

lax_image()
{
	local code=0 other=$root/usr/share/initramfs-tools/conf-hooks.d/zz-other
	echo UMASK=0022 >"$other"
	refused 'others could read it: set UMASK=0077' "$asked" || code=1
	rm "$other"
	return $code
}

try "initramfs: keys and a configuration" prepare_images
try "initramfs: nothing of it unasked" unasked
try "initramfs: modules, program and one key, for root only" with_keys
try "initramfs: a lax key is refused" lax_key
try "initramfs: so is a missing one" refused 'has key lost, which is not in' "${asked//key = root/key = lost}"
try "initramfs: so is an image for everybody" lax_image
try "initramfs: so is a mistake" refused "did you mean 'device'" "${asked//device = root/devise = root}"
try "initramfs: so is a kernel without modules" refused 'kernel none has no module rnbd_client' "$asked" none
try "initramfs: without a trace" forget_images
