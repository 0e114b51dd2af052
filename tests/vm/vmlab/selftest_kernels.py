# SPDX-License-Identifier: GPL-2.0
"""Tests of how kernels are found, built and paired; part of selftest.py."""

from __future__ import annotations

import lzma
import subprocess
import tempfile
import unittest
from contextlib import AbstractContextManager
from pathlib import Path
from unittest import mock

from . import debian, debian_root, kernel, kernel_build, kernels, lab, make, newest, pairs
from .cache import Cache


class DebianTest(unittest.TestCase):
    def test_dependencies(self) -> None:
        self.assertEqual(debian.depends("linux-base (>= 4.12~), a-common (= 6.12.1-1~deb12u1), b:any, "
                                        "c (= 1) | d (= 2), gcc-12"),
                         {"linux-base": "", "a-common": "6.12.1-1~deb12u1", "b:any": "", "c": "1", "gcc-12": ""})
        self.assertEqual(debian.depends(""), {})

    def test_series(self) -> None:
        for release, name in (("6.1.0-56-amd64", "6.1"), ("6.12.117+deb12-amd64", "6.12"), ("6.1.192", "6.1"),
                              ("7.3~rc1", "7.3"), ("unknown", "unknown")):
            self.assertEqual(debian.series(release), name)

    def test_newest_of_each_suite(self) -> None:
        places = (("6.1.192-3", "b-security/main amd64 Packages"), ("6.1.176-1", "b/main amd64 Packages"),
                  ("6.1.170-1", "b/main amd64 Packages"), ("6.1.192+1", "b-security/main Sources"))
        said = "".join(f"linux-headers-amd64 | {version} | http://a/debian {where}\n" for version, where in places)
        self.assertEqual([(f.meta, f.suite) for f in newest.newest(said, "linux-headers-amd64")],
                         [("linux-headers-amd64=6.1.192-3", "b-security"), ("linux-headers-amd64=6.1.176-1", "b")])
        self.assertEqual(newest.newest("", "linux-headers-amd64"), [])

    def _lists(self, packages: dict[str, str]) -> AbstractContextManager[object]:
        """apt-cache, as if these were all packages: name or name=version -> what is shown."""
        return mock.patch.object(debian, "output", lambda *words: packages.get(words[-1], ""))

    def test_newest_headers(self) -> None:
        lists = {"linux-headers-6.12-amd64": "Package: x\nVersion: 6.12.9-1\n"
                                             "Depends: linux-headers-6.12.9+deb12-amd64 (= 6.12.9-1)",
                 "linux-headers-6.12.9+deb12-amd64=6.12.9-1":
                     "Version: 6.12.9-1\nDepends: linux-base (>= 4), linux-headers-6.12.9+deb12-common (= 6.12.9-1), "
                     "linux-image-6.12.9+deb12-amd64 (= 6.12.9-1) | b, linux-kbuild-6.12.9+deb12, gcc-12"}
        with self._lists(lists), mock.patch.object(debian, "KERNELS", debian.known("bookworm")):
            found = debian.newest_headers("6.12")
        self.assertEqual((found.release, found.version), ("6.12.9+deb12-amd64", "6.12.9-1"))
        self.assertEqual(found.packages, ("linux-headers-6.12.9+deb12-amd64=6.12.9-1",
                                          "linux-headers-6.12.9+deb12-common=6.12.9-1",
                                          "linux-kbuild-6.12.9+deb12=6.12.9-1"))

    def test_package_of_another_architecture(self) -> None:
        """The options that name the lists go before the command of the package client; the programs of the build are
        the host's."""
        lists = {"linux-headers-arm64": "Version: 6.1.9-1\nDepends: linux-headers-6.1.0-9-arm64 (= 6.1.9-1)",
                 "linux-headers-6.1.0-9-arm64=6.1.9-1": "Version: 6.1.9-1\nDepends: linux-kbuild-6.1 (>= 6.1.9-1)"}
        asked: list[tuple[str, ...]] = []
        fetched: list[tuple[str, object]] = []

        def output(*words: str) -> str:
            asked.append(words)
            return lists.get(words[-1], "")

        def fetch(package: str, folder: Path, apt: object = ()) -> Path:
            fetched.append((package, apt))
            raise debian.KernelError("enough") if len(fetched) == 2 else StopIteration

        apt = ("-o", "APT::Architecture=arm64")
        with mock.patch.object(debian, "output", output):
            found = debian.newest_headers("arm64", apt)
        self.assertEqual([words[:3] for words in asked], [("apt-cache", *apt)] * 2)
        self.assertEqual(found.packages, ("linux-headers-6.1.0-9-arm64=6.1.9-1", "linux-kbuild-6.1=6.1.9-1"))
        for packages in (found.packages[:1], found.packages[1:]):
            with mock.patch.object(debian, "fetch", fetch), tempfile.TemporaryDirectory() as folder, \
                    self.assertRaises((debian.KernelError, StopIteration)):
                debian.kdir(Cache(Path(folder)), debian.Headers("x", "1", packages), apt)
        self.assertEqual([a for _, a in fetched], [apt, ()])

    def test_meta_package_goes_on(self) -> None:
        lists = {"linux-headers-amd64": "Version: 7.4.1-1\nDepends: linux-headers-7.4.1+deb13-amd64 (= 7.4.1-1)"}
        with self._lists(lists), self.assertRaisesRegex(debian.KernelError, "no longer of 7.3"):
            debian.newest_headers("7.3")

    def test_make_of_another_release_gets_no_pipe(self) -> None:
        self.assertEqual(debian_root.make_flags("s -j2 --jobserver-auth=fifo:/tmp/GMfifo1 -- A=1"), "s -j2 -- A=1")
        self.assertEqual(debian_root.make_flags(" --jobserver-auth=3,4"), "")
        self.assertEqual(debian_root.make_flags("w"), "w")

    def test_package_of_another_release(self) -> None:
        """The options that name the lists go before the command of the package client."""
        asked: list[tuple[str, ...]] = []
        root = debian_root.Root(Path("/r"), debian.Release("trixie", "trixie-backports", ("make",)), Path("/c"))
        with mock.patch.object(debian, "output", lambda *words: asked.append(words) or ""), \
                self.assertRaises(debian.KernelError):
            debian.newest_headers("7.3", root.apt)
        self.assertEqual(asked[0][0], "apt-cache")
        self.assertEqual(asked[0][-3:], ("show", "--no-all-versions", "linux-headers-amd64"))
        self.assertIn("Dir::State=/r/var/lib/apt", asked[0])
        self.assertIn("APT::Default-Release=trixie-backports", asked[0])

    def test_image_in_parts(self) -> None:
        """What an image depends on by its own version is unpacked with it, and the image found in either place."""
        for place, parts in (("boot/vmlinuz-9.9", []), ("usr/lib/modules/9.9/vmlinuz", ["linux-binary-9.9"])):
            with tempfile.TemporaryDirectory() as folder:
                self.assertEqual(self._unpacked(Path(folder), place, parts),
                                 ([f"{name}=1" for name in ["linux-image-9.9", *parts]], b"image"))

    def _unpacked(self, folder: Path, place: str, parts: list[str]) -> tuple[list[str], bytes]:
        fetched: list[str] = []

        def fetch(package: str, where: Path, apt: object = ()) -> Path:
            fetched.append(package)
            tree = where / package
            files = {"usr/lib/modules/9.9/modules.order": b"", **({place: b"image"} if package ==
                     f"{(parts or ['linux-image-9.9'])[-1]}=1" else {})}
            for name, data in {**files, "DEBIAN/control": (
                    f"Package: {package[:-2]}\nVersion: 1\nArchitecture: all\nMaintainer: x <x@y>\nDescription: x\n"
                    f"Depends: kmod (>= 1){''.join(f', {p} (= 1)' for p in parts)}\n").encode()}.items():
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                (tree / name).write_bytes(data)
            subprocess.run(["dpkg-deb", "--root-owner-group", "-b", str(tree), str(tree) + ".deb"], check=True,
                           stdout=subprocess.DEVNULL)
            return Path(str(tree) + ".deb")

        with mock.patch.object(debian, "fetch", fetch):
            root, image = debian.unpack_image("9.9", "1", folder)
        self.assertTrue((root / "lib/modules/9.9/modules.order").is_file())
        return fetched, image.read_bytes()

    def test_unknown_package(self) -> None:
        with self._lists({}), self.assertRaisesRegex(debian.KernelError, "apt-get update"):
            debian.newest_headers("6.12")

    def test_headers_may_lie_anywhere(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            src = Path(folder) / "any/usr/src"
            for name, text in (("x-common", "all:\n\t@echo $(CURDIR) $(KBUILD_OUTPUT) > seen\n"),
                               ("x-amd64", debian.relocate("KBUILD_OUTPUT=/usr/src/x-amd64\n"
                                                           "include /usr/src/x-common/Makefile\n"))):
                (src / name).mkdir(parents=True)
                (src / name / "Makefile").write_text(text, encoding="ascii")
            self.assertTrue(make.run("-s", "-C", str(src / "x-amd64")))
            self.assertEqual((src / "x-amd64/seen").read_text(encoding="ascii").split(), [str(src / "x-amd64")] * 2)


class KernelsTest(unittest.TestCase):
    def test_names(self) -> None:
        own = next(name for name, s in debian.KERNELS.items() if s.installed)
        self.assertEqual([kernels.canonical(name) for name in (own, "7.3", "stock", "uml")],
                         ["stock", "7.3", "stock", "uml"])
        self.assertEqual(len(set(kernels.NAMES)), len(kernels.NAMES))
        self.assertEqual([name for name in kernels.NAMES if kernels.canonical(name) != name], [])
        for host, installed in (("bookworm", "6.1"), ("trixie", "6.12")):
            found = debian.known(host)
            self.assertEqual(set(found) - {"arm64-6.12"},
                             {"6.1", "6.12", "7.3", "arm64", "arm64-16k", "arm64-7.3"})
            self.assertEqual([name for name, s in found.items() if s.installed], [installed])

    def test_host(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            release = Path(folder) / "os-release"
            self.assertEqual(debian.codename(release), "bookworm")
            for line, name in (("VERSION_CODENAME=trixie", "trixie"), ("VERSION_CODENAME=bookworm", "bookworm"),
                               ("VERSION_CODENAME=sid", "bookworm")):
                release.write_text(f"ID=debian\n{line}\n", encoding="ascii")
                self.assertEqual(debian.codename(release), name)

    def test_series(self) -> None:
        for host, names in (("bookworm", ("stock", "6.12", "7.3")), ("trixie", ("6.1", "stock", "7.3"))):
            with mock.patch.object(debian, "KERNELS", debian.known(host)):
                self.assertEqual(kernels.series(), names)
                self.assertEqual([kernels.plan(name) for name in (*names, "arm64", "uml")],
                                 ["stock" if name == "stock" else "series" for name in names] + ["arm64", "uml"])
        self.assertEqual({kernels.plan(f"arm64-{kind}") for kind in ("6.12", "7.3", "16k")}, {"arm64"})

    def test_all_pairs(self) -> None:
        series = ("stock", "6.12", "7.3")
        ring = pairs.ring(series)
        for role in lab.ROLES:
            self.assertEqual(sorted(p[role] for p in ring), sorted(series))
        self.assertEqual([p for p in ring if p["server"] == p["client"]], [])
        self.assertEqual(len(pairs.every(series)), 6)
        self.assertEqual([p for p in ring if p not in pairs.every(series)], [])
        first = lab.Options(logs=Path("/l"))
        every = pairs.laboratories("all", series, first)
        self.assertEqual(len({o.logs for o in every}), 18)
        self.assertEqual(sum("intree" in o.peers.values() for o in every), 12)
        self.assertEqual(len(pairs.laboratories("ring", series, first)), 3)
        self.assertEqual([o.kernels for o in pairs.laboratories("arm64", series, first)][::3],
                         [{"server": "stock", "client": "arm64"}, {"server": "arm64", "client": "stock"}])
        self.assertEqual([pairs.kernels_of(w, series) for w in pairs.WHICH], [series, series, ("stock", "arm64")])

    def test_pairs(self) -> None:
        self.assertEqual(kernels.same({"server": "uml", "client": "uml"}), "uml")
        self.assertEqual(kernels.same({"server": "stock", "client": "6.12"}), "stock-6.12")
        with self.assertRaisesRegex(ValueError, "must both be Debian's"):
            kernels.same({"server": "stock", "client": "debug"})

    def test_who_knows_neighbours(self) -> None:
        old, new = "6.1.0-56-amd64", "6.12.117+deb12-amd64"
        for server, client, ours, known in ((old, old, False, ["server", "client"]), (old, old, True, []),
                                            (new, old, False, ["client"]), (old, new, False, []),
                                            (new, new, False, [])):
            found = [role for role in ("server", "client")
                     if kernels.neighbours_known(role, {"server": server, "client": client}, ours)]
            self.assertEqual(found, known, (server, client, ours))

    def test_modules_are_unpacked(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            source, tree = Path(folder) / "from", Path(folder) / "to"
            source.mkdir()
            (source / "a.ko").write_bytes(b"plain")
            (source / "b.ko.xz").write_bytes(lzma.compress(b"packed", check=lzma.CHECK_CRC32))
            for name in ("a.ko", "b.ko.xz"):
                kernel.place(source / name, tree / "x" / name)
            self.assertEqual({p.name: p.read_bytes() for p in (tree / "x").iterdir()},
                             {"a.ko": b"plain", "b.ko": b"packed"})


class KernelBuildTest(unittest.TestCase):
    def test_what_kconfig_drops(self) -> None:
        config = "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_N=3\n"
        met = "# text\nCONFIG_A=y\n# CONFIG_B is not set\n# CONFIG_X is not set\n"
        self.assertEqual(kernel_build.unmet(met, config), [])
        self.assertEqual(kernel_build.unmet("CONFIG_B=y\n# CONFIG_A is not set\nCONFIG_N=4\n", config),
                         ["CONFIG_B=y", "# CONFIG_A is not set", "CONFIG_N=4"])
        self.assertEqual(kernel_build.unmet("CONFIG_B=y\n# CONFIG_B is not set\n", config), [])

    def test_a_series_has_the_last_word(self) -> None:
        for recipe in kernel_build.RECIPES.values():
            common = [path.name for path in kernel_build.fragments_of(recipe, "6.1")]
            self.assertEqual(common, list(recipe.fragments))
            self.assertEqual([path.name for path in kernel_build.fragments_of(recipe, "6.12")][:len(common)], common)

    def test_the_installed_source(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(kernel_build.installed_series(Path(folder)), "6.1")
            for name in ("6.12", "6.1"):
                source = Path(folder) / f"linux-source-{name}.tar.xz"
                source.touch()
                self.assertEqual(kernel_build.installed_series(Path(folder)), name)
                source.unlink()
