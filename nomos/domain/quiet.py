"""Silence: is the last line of a command's output a question that waits for an answer?"""

from __future__ import annotations

import re

LOOKED_AT = 400  # characters at the end of the output
LONGEST_QUESTION = 200

_QUESTIONS = re.compile(
    r"\[(?:y/n|yes/no|y/n/[a-z?]+)\]|\((?:y/n|yes/no|y/n/[a-z?]+)\)|\(yes/no/\[fingerprint\]\)|"
    r"(?:password|passphrase|passcode|pin|token|otp|verification code)(?: for [^:]*)?: ?$|"
    r"(?:continue|proceed|are you sure|overwrite|replace|remove|delete|really|do you want)[^?\n]*\? ?"
    r"(?:\[[^\]]*\])? ?:? ?$|"
    r"press (?:any key|enter|return)|hit (?:enter|return)|\(hit q to quit\)|--more--|"
    r"(?:enter|type|choose|select)\b[^.\n]*: ?$|selection: ?$|your choice[^:\n]*: ?$|\? ?$",
    re.IGNORECASE,
)
_SECRETS = re.compile(r"password|passphrase|passcode|\bpin\b|token|\botp\b|verification code", re.IGNORECASE)
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0e-\x1f]")


def question_in(tail: str) -> str | None:
    """The question that the end of an output asks, or None.

    Only an unfinished last line counts: what ends with a line break was said, not asked.
    """
    line = tail[-LOOKED_AT:].rsplit("\n", 1)[-1].rsplit("\r", 1)[-1]
    line = _ESCAPES.sub("", line).strip(" \t")
    if not line or not _QUESTIONS.search(line):
        return None
    return line[-LONGEST_QUESTION:]


def asks_for_secret(question: str) -> bool:
    """Whether the answer is one that must not be kept."""
    return _SECRETS.search(question) is not None
