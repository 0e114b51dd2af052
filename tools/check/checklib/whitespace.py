# SPDX-License-Identifier: GPL-2.0
"""Enforces .editorconfig, so that the rules for editors and for the check are one file."""

import io
import re
import tokenize

from .registry import rule

CONFIG = ".editorconfig"
# The text of a literal; since Python 3.12 that of an f-string is a token of its own.
LITERAL = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
TAB_WIDTH = 8


def parse(text):
    """The sections of an .editorconfig, in order, as (pattern, {key: value})."""
    sections = []
    for line in text.splitlines():
        line = line.strip()
        if not line or line[0] in "#;":
            continue
        if line.startswith("[") and line.endswith("]"):
            sections.append((to_pattern(line[1:-1]), {}))
        elif sections:
            key, _, value = line.partition("=")
            sections[-1][1][key.strip()] = value.strip()
    return sections


def to_pattern(glob):
    """A glob of *, ? and {a,b} over a file's name, as a compiled expression."""
    special = {"*": "[^/]*", "?": ".", "{": "(?:", "}": ")", ",": "|"}
    return re.compile("".join(special.get(char) or re.escape(char) for char in glob) + r"\Z")


def settings(sections, file):
    merged = {}
    name = file.name
    if not file.suffix and file.is_python:
        name += ".py"
    elif not file.suffix and file.is_shell:
        name += ".sh"
    for pattern, values in sections:
        if pattern.match(name):
            merged.update(values)
    return merged


def quoted_lines(file):
    """The numbers of the lines that begin inside a string: what is quoted has its own rules."""
    if not file.is_python:
        return set()
    found = set()
    try:
        for token in tokenize.generate_tokens(io.StringIO(file.text).readline):
            if token.type in LITERAL:
                found.update(range(token.start[0] + 1, token.end[0] + 1))
    except (tokenize.TokenError, SyntaxError):
        pass  # Not this rule's business: python-syntax reports it.
    return found


def indent_fault(style, line):
    lead = line[: len(line) - len(line.lstrip(" \t"))]
    if style == "space" and "\t" in lead:
        return "a tab in the indentation"
    if style == "tab" and " \t" in lead:
        return "a space before a tab"
    # A block comment's stars and a continuation of less than a tab may stand on spaces.
    if style == "tab" and " " * TAB_WIDTH in lead:
        return "spaces where a tab belongs"
    return None


def faults_of_line(rules, line, quoted):
    if rules.get("trim_trailing_whitespace") == "true" and line != line.rstrip():
        yield "white space at the end of the line"
    if rules.get("end_of_line") == "lf" and line.endswith("\r"):
        yield "a carriage return"
    fault = None if quoted else indent_fault(rules.get("indent_style"), line)
    if fault:
        yield fault
    limit = rules.get("max_line_length")
    if limit and len(line.expandtabs(TAB_WIDTH)) > int(limit):
        yield f"longer than {limit} columns"


@rule("editorconfig", "white space, line ends and line lengths follow .editorconfig")
def editorconfig(tree):
    config = tree.by_path.get(CONFIG)
    sections = parse(config.text) if config else []
    findings = []
    for file in tree.select(lambda file: True):
        rules = settings(sections, file)
        if rules.get("charset") == "utf-8" and "\ufffd" in file.text:
            findings.append(file.find(1, "not UTF-8"))
        if rules.get("insert_final_newline") == "true" and not file.text.endswith("\n"):
            findings.append(file.find(len(file.lines), "no newline at the end"))
        quoted = quoted_lines(file)
        # split and not splitlines: a carriage return has to stay visible.
        for number, line in enumerate(file.text.split("\n"), 1):
            faults = faults_of_line(rules, line, number in quoted)
            findings += [file.find(number, fault) for fault in faults]
    if not config:
        findings.append(tree.files[0].find(1, f"{CONFIG} is missing"))
    return findings
