"""The case files in tests/cases: one decision a line, judged by people."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "cases"
_NAMED = {"LF": "\n", "CR": "\r", "TAB": "\t", "NUL": "\0"}


@dataclass(frozen=True, slots=True)
class Case:
    """``expected`` is the right answer for ``text``, and ``why`` in a few words."""

    expected: str
    text: str
    why: str


def cases(name: str) -> tuple[Case, ...]:
    """All cases of one file. ``{{LF}}``, ``{{U+XXXX}}`` and their kin stand for that one character."""
    lines = (FOLDER / name).read_text(encoding="utf-8").split("\n")
    rows = [line.split("\t") for line in lines if line and not line.startswith("# ")]
    return tuple(Case(row[0], _decoded(row[1]), row[2]) for row in rows)


def _decoded(text: str) -> str:
    return re.sub(r"\{\{(?:(LF|CR|TAB|NUL)|U\+([0-9A-F]{4,5}))\}\}", _character, text)


def _character(match: re.Match[str]) -> str:
    return _NAMED[match[1]] if match[1] else chr(int(match[2], 16))
