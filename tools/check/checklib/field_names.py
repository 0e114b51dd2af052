# SPDX-License-Identifier: GPL-2.0
"""Names are the field's: those of the project's own that were given up for them do not come back."""

import re

from .registry import rule

INSTEAD = {
    "Applicants": "UnauthenticatedPaths",
    "applicant": "unauthenticated path",
    "applicants": "unauthenticated paths",
    "Farewell": "DelayedDreq",
    "farewell": "DREQ",
    "dies_of_a_drop": "gsi_fails_on_drop",
    "repeats_local_work": "replays_local_wrs",
    "take_aside": "take_slow_path",
    "post_aside": "post_slow_path",
    "Outbox": "SendBatch",
    "outbox": "send batch",
    "SendLedger": "SqAccounting",
    "ledger": "SQ accounting",
    "LifeProbe": "LivenessProbe",
    "StallWatch": "SqWatchdog",
    "AnswerPatience": "AnswerTimeout",
    "AddressPatience": "AddressTimeout",
    "kPatienceMs": "kTimeoutMs",
    "look_at_standing": "revalidate_auth",
    "TurnQueue": "FairQueue",
    "DiskTurn": "SingleFlight",
    "Losses": "LostFlushes",
    "CacheNews": "WriteCacheNotice",
    "Mirror": "PrBackend",
    "Lane": "Hctx",
    "RegistrationGate": "FrwrThrottle",
    "ClientGate": "ClientThrottle",
    "ServerGate": "ServerThrottle",
    "GatePass": "ThrottlePass",
    "LetIn": "Passed",
}
GIVEN_UP = re.compile(r"\b(" + "|".join(INSTEAD) + r")\b")
CODE = ("cxxrt/", "kmod/", "tests/kunit/", "tests/unit/", "tests/fuzz/", "tests/mutants/", "bench/",
        "Documentation/design.md", "Documentation/locking.md", "Documentation/request-path.md")


@rule("field-names", "the code has the field's names, and none of those that were given up for them")
def field_names(tree):
    findings = []
    for file in tree.select(lambda file: file.path.startswith(CODE)):
        for number, line in enumerate(file.lines, 1):
            for word in GIVEN_UP.findall(line):
                findings.append(file.find(number, f"'{word}' is {INSTEAD[word]}"))
    return findings
