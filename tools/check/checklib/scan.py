# SPDX-License-Identifier: GPL-2.0
"""Splits C++ into declarations with the kind of scope they stand in. Best effort, no parser.

It knows braces, templates, initialisers, lambdas and function bodies, which is enough to tell a
variable at namespace scope from a static member and from a static local.
"""

import re
from dataclasses import dataclass

NAMESPACE, CLASS, FUNCTION, INITIALISER = "namespace", "class", "function", "initialiser"

PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE | re.DOTALL)
IS_NAMESPACE = re.compile(r"^(?:inline\s+)?namespace\b|^extern\s*\"\s*\"\s*$")
IS_CLASS = re.compile(
    r"^(?:typedef\s+|static\s+|const\s+|constexpr\s+|constinit\s+|inline\s+)*"
    r"(?:class|struct|union|enum)\b[^()=]*$"
)
IS_LAMBDA = re.compile(
    r"\[[^\[\]]*\]\s*(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?"
    r"\s*(?:(?:mutable|constexpr|noexcept)\s*)*(?:->\s*[\w:<>*&, ]+)?$"
)
IS_ARRAY = re.compile(r"[\w>]\s*\[[^\[\]]*\]$")
ACCESS = re.compile(r"^(?:(?:public|private|protected)\s*:\s*)+")
ATTRIBUTE = re.compile(
    r"\[\[[^\]]*\]\]|\b(?:alignas|__aligned|__attribute__|__section|__printf)\s*\([^()]*(?:\([^()]*\))?[^()]*\)"
)


@dataclass(frozen=True)
class Declaration:
    """`text` up to its body, initialiser braces or semicolon, in the scope `scope`."""

    offset: int
    text: str
    scope: str
    # How it ended: ';' or the kind of the block that it opened.
    end: str


def without_preprocessor(code):
    return PREPROCESSOR.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), code)


def strip_template(text):
    """The declaration without leading `template <...>`, attributes and access labels."""
    while True:
        text = ACCESS.sub("", ATTRIBUTE.sub(" ", text).strip())
        if not text.startswith("template"):
            return strip_requires(text)
        open_at = text.find("<")
        if open_at < 0:
            return text[len("template") :].strip()
        depth = 0
        for at in range(open_at, len(text)):
            depth += {"<": 1, ">": -1}.get(text[at], 0)
            if depth == 0:
                break
        text = text[at + 1 :]


def strip_requires(text):
    return re.sub(r"^requires\s+(?:\([^()]*\)|[\w:<>, ]+?>)\s*(?=\w)", "", text)


def block_kind(text, scope, in_parentheses):
    """(kind of the scope that the brace after `text` opens, whether the statement goes on)."""
    bare = strip_template(text)
    if IS_LAMBDA.search(bare) and not IS_ARRAY.search(bare):
        return FUNCTION, True
    if in_parentheses or scope == INITIALISER:
        return INITIALISER, True
    if IS_NAMESPACE.match(bare):
        return NAMESPACE, False
    if IS_CLASS.match(bare):
        return CLASS, False
    if scope == FUNCTION:
        return (INITIALISER, True) if bare.endswith("=") else (FUNCTION, False)
    # A further member initialiser (", b_{1}") is followed by the constructor's body.
    opening = re.search(r"[=(]", bare)
    is_function = opening and opening.group() == "(" or re.search(r"\boperator\b", bare)
    if is_function or not bare or bare.startswith(","):
        return FUNCTION, False
    return INITIALISER, True


def declarations(code):
    """Yields a Declaration for each statement at any depth."""
    code = without_preprocessor(code)
    scopes = [NAMESPACE]
    start = 0
    held = []  # per open brace: where the statement began that goes on behind it, else None
    round_depth = 0
    at = 0
    while at < len(code):
        char = code[at]
        if char in "([":
            round_depth += 1
        elif char in ")]":
            round_depth -= 1
        elif char == "{":
            kind, goes_on = block_kind(code[start:at], scopes[-1], round_depth > 0)
            if not goes_on:
                yield declaration(code, start, at, scopes[-1], kind)
            held.append((start, round_depth) if goes_on else None)
            scopes.append(kind)
            start, round_depth = at + 1, 0
        elif char == "}" and len(scopes) > 1:
            scopes.pop()
            saved = held.pop()
            if saved:
                start, round_depth = saved
            else:
                start, round_depth = at + 1, 0
        elif char == ";" and round_depth == 0:
            yield declaration(code, start, at, scopes[-1], ";")
            start = at + 1
        at += 1


def declaration(code, start, end, scope, kind):
    text = code[start:end]
    lead = len(text) - len(text.lstrip())
    return Declaration(start + lead, strip_template(text), scope, kind)
