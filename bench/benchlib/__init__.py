# SPDX-License-Identifier: GPL-2.0
"""The measurements of bench/, upon the laboratory of tests/vm."""

import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests/vm"))
