# SPDX-License-Identifier: GPL-2.0
"""The list of rules. A rule takes a Tree and returns its findings; none means that it holds."""

from dataclasses import dataclass
from typing import Callable

RULES = []


@dataclass(frozen=True)
class Rule:
    name: str
    says: str
    run: Callable


def rule(name, says):
    """Registers the function below it as the rule `name`."""

    def register(function):
        RULES.append(Rule(name, says, function))
        return function

    return register
