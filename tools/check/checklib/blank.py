# SPDX-License-Identifier: GPL-2.0
"""Blanks comments and the contents of literals, so that rules see only code.

Every other character keeps its offset and every newline stays, so that a position in the result is
a position in the file.
"""

import re

TOKEN = re.compile(
    r"""
      (?P<comment> //(?:[^\n\\]|\\.|\\\n)* | /\*.*?(?:\*/|\Z) )
    | (?P<raw>     R"(?P<tag>[^()\s\\]{0,16})\(.*?\)(?P=tag)" )
    | (?P<string>  "(?:[^"\\\n]|\\.|\\\n)*"? )
    | (?P<number>  \b[0-9](?:'?[0-9A-Za-z_.])* )
    | (?P<char>    '(?:[^'\\\n]|\\.)*'? )
    """,
    re.VERBOSE | re.DOTALL,
)
INCLUDE = re.compile(r"^[ \t]*#[ \t]*include(?:_next)?\b")
VISIBLE = re.compile(r"[^\n]")


def blank(text):
    parts = []
    position = 0
    for match in TOKEN.finditer(text):
        parts.append(text[position : match.start()])
        parts.append(replacement(text, match))
        position = match.end()
    parts.append(text[position:])
    return "".join(parts)


def replacement(text, match):
    found = match.group()
    if match.lastgroup == "number" or is_include(text, match):
        return found
    if match.group("comment"):
        return VISIBLE.sub(" ", found)
    if len(found) < 2 or found == 'R"':
        return found
    # The quotes stay: a rule can still see that a literal is there.
    return found[0] + VISIBLE.sub(" ", found[1:-1]) + found[-1]


def is_include(text, match):
    if not match.group("string"):
        return False
    start = text.rfind("\n", 0, match.start()) + 1
    return INCLUDE.match(text[start : match.start()]) is not None
