"""The classifier, strict on purpose: what is not surely ``read`` asks; what cannot be read is ``destroy``."""

from __future__ import annotations

import re
import shlex
import unicodedata
from dataclasses import dataclass

from nomos.domain.executions import Risk
from nomos.risk.tables import DESTROY_WORDS, OPERATORS, READ

LONGEST = 8192  # bytes; what is longer cannot be read by a person in a card

_READ = re.compile("|".join(f"(?:{pattern})" for pattern in READ))


@dataclass(frozen=True, slots=True)
class Verdict:
    """The risk of a command, and why, in one line for the card and for the agent."""

    risk: Risk
    why: str


def classify(command: str) -> Verdict:
    """Class one command text.

    ``read`` only if the whole text is on the list of plain read-only commands. ``destroy`` if any word is one that
    destroys, or if a person could not read the text in a card. All else is ``change``.
    """
    if not command.strip():
        return Verdict(Risk.DESTROY, "there is no command in it")
    if len(command.encode("utf-8", "surrogatepass")) > LONGEST:
        return Verdict(Risk.DESTROY, f"it is longer than {LONGEST} bytes: split it")
    if strange := next((character for character in command if _is_strange(character)), None):
        return Verdict(Risk.DESTROY, f"it holds U+{ord(strange):04X}, which a card cannot show: write it plainly")
    if _READ.fullmatch(command):
        return Verdict(Risk.READ, "it is on the list of commands that change nothing")
    try:
        words = shlex.split(command, posix=True)
    except ValueError:
        return Verdict(Risk.DESTROY, "its quotes do not close: it cannot be parsed")
    loose = re.split(r"[\s;|&<>()`$\\'\"{}=/:]+", command)
    for word in (*words, *loose):
        name = word.rsplit("/", 1)[-1]
        if name in DESTROY_WORDS or name.startswith("mkfs"):
            return Verdict(Risk.DESTROY, f"“{name}” can destroy, or runs what the text does not show")
    if OPERATORS & set(command):
        return Verdict(Risk.CHANGE, "it is more than one plain command, and not on the read-only list")
    return Verdict(Risk.CHANGE, "it is not on the list of commands that change nothing")


def _is_strange(character: str) -> bool:
    """Whether a card could not show the character for what it is: controls, formats, odd blanks, unassigned."""
    if character in "\n\t ":
        return False
    return unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"}
