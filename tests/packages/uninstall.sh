# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced by run: what is installed without the packages, and that all of it goes away again.
# shellcheck disable=SC2154
staged=$work/staged

# With the program as the packages have it.
program_by_make()
{
	make -s -C "$debs/rnbd-$version" -f packaging/install.mk "$1" DESTDIR="$staged" PREFIX="$2"
}

modules_by_make()
{
	make -s -C "$top" "$1" KDIR="/usr/src/linux-headers-$release" DESTDIR="$staged"
}

# Folders that others use, too, may stay.
nothing_left()
{
	find "$staged" \( ! -type d -o -name '*rnbd*' \) -print | tee "$work/left"
	[ ! -s "$work/left" ]
}

program_comes_and_goes()
{
	rm -rf "$staged"
	program_by_make install "$1" && [ "$("$staged$1/sbin/rnbdadm" --version)" = "rnbdadm $version" ] &&
		program_by_make uninstall "$1" && nothing_left
}

# Whoever runs the program finds it there; an image of an initramfs has it in its usual place.
program_is_named()
{
	local hook=usr/share/initramfs-tools/hooks/rnbd
	rm -rf "$staged"
	program_by_make install /usr/local &&
		grep -qx 'ExecStart=/usr/local/lib/rnbd/rnbd-server start' \
			"$staged/usr/local/lib/systemd/system/rnbd-server.service" &&
		! grep -rE '/usr/(sbin|lib/rnbd)/' "$staged"/usr/local/lib/{systemd,rnbd} "$staged/usr/share" \
			--exclude-dir=hooks &&
		[ "$(grep '/usr/sbin/rnbdadm' "$staged/$hook")" = \
			'copy_exec /usr/local/sbin/rnbdadm /usr/sbin/rnbdadm' ]
}

edited_file_is_kept()
{
	echo '# mine' >>"$staged/etc/rnbd/rnbd.conf"
	program_by_make uninstall /usr/local
	nothing_left
	[ "$(grep -v '/etc/rnbd$' "$work/left")" = "$staged/etc/rnbd/rnbd.conf" ]
}

# What depmod has written is for all modules.
modules_come_and_go()
{
	local folder=$staged/lib/modules/$release
	rm -rf "$staged"
	modules_by_make install && [ "$(grep -cE '^updates/.*/(rnbd|rtrs)-[a-z]*\.ko' "$folder/modules.dep")" = 5 ] &&
		modules_by_make uninstall && [ ! -e "$folder/updates" ] && [ ! -s "$folder/modules.dep" ]
}

# The guide's own commands, for the kernel that the modules are for, and not in the machine's own folders.
signed_as_the_guide_says()
{
	local name
	rm -rf "$staged"
	sed -n '/^## Secure Boot/,/^## Words/s/^    //p' "$top/Documentation/admin-guide.md" |
		sed "s,/root/mok,$work/mok,g; s,modinfo,modinfo -b $staged -k $release,
			s,^make install,make -s -C $top install DESTDIR=$staged KDIR=/usr/src/linux-headers-$release," \
			>"$work/sign" && sh -e "$work/sign" || return 1
	for name in $modules; do
		[ "$(modinfo -b "$staged" -k "$release" -F signer "$name")" = "rnbd modules" ] || return 1
	done
}

try "make uninstall-rnbdadm leaves nothing" program_comes_and_goes /usr
try "nor does it in /usr/local" program_comes_and_goes /usr/local
try "units and hooks name the program in /usr/local" program_is_named
try "what was edited stays" edited_file_is_kept
try "make uninstall leaves no module" modules_come_and_go
try "make install signs as the guide says" signed_as_the_guide_says
