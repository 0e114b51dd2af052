# SPDX-License-Identifier: GPL-2.0
"""Files and commands of the administration guide, and of its parts on clusters and secrecy, as they stand there, with
what is to be filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .lab import ROOT


DOCUMENTS = ("admin-guide.md", "clusters.md", "secrecy.md")


def chapter(title: str) -> str:
    for document in DOCUMENTS:
        text = (ROOT / "Documentation" / document).read_text(encoding="utf-8")
        _, found, rest = text.partition(f"\n## {title}\n")
        if found:
            return rest.partition("\n## ")[0]
    raise ValueError(f"no document has a chapter {title!r}")


class Guide:
    """One chapter; `places` are words of it and what stands for them here. One may be added at any time."""

    def __init__(self, title: str, places: Mapping[str, str]) -> None:
        self._chapter = chapter(title)
        self.places = dict(places)

    def block(self, begin: str) -> list[str]:
        """The indented lines that stand behind some words; one that is continued counts as one."""
        block = re.search(r"\n((?:    .*\n)+)", self._chapter[self._chapter.index(begin):])
        if not block:
            raise ValueError(f"the guide has no lines behind {begin!r}")
        text = re.sub(r"\\\n\s*", "", block[1])
        for word, value in self.places.items():
            text = text.replace(word, value)
        return [line.strip() for line in text.splitlines()]

    def commands(self, begin: str) -> list[str]:
        """The same without what is said of each, which stands two blanks and more behind it."""
        return [line.partition("  ")[0] for line in self.block(begin)]
