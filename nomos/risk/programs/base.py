"""What every reader of one program's words gets and gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from nomos.risk.verdict import Verdict
from nomos.risk.words import Word


class Inside(Protocol):
    """The classifier, for what a program runs in its turn."""

    def argv(self, words: Sequence[Word]) -> Verdict:
        """Judge a command given as words."""

    def text(self, text: str) -> Verdict:
        """Judge a command given as text for a shell."""

    def table(self, words: Sequence[Word]) -> Verdict:
        """Judge a command by its program's table alone."""


Reader = Callable[[Sequence[Word], Inside], Verdict]

SOME = (Word("", known=False, pattern="*"),) * 2
"""Words that only the running program knows: more than one, each whole."""
