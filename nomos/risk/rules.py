"""The operator's own rules for a host: widen or narrow what the tables say, never past a limit.

A rule may call ``read`` what the tables call ``change``, or a program that they do not know; it may make anything
stricter. It never makes less of what the tables call ``destroy``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nomos.domain.executions import Risk
from nomos.risk.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. ``words``: the command's words, ``*`` for exactly one word, ``**`` at the end for any more."""

    host: str
    words: tuple[str, ...]
    risk: Risk
    why: str

    def matches(self, words: Sequence[str | None]) -> bool:
        """Whether it says something of a command; a word that is not known (None) never matches."""
        wanted = list(self.words)
        if None in words:
            return False
        if wanted[-1] == "**":
            wanted.pop()
            words = words[: len(wanted)] if len(words) >= len(wanted) else ()
        return len(words) == len(wanted) and all(want in ("*", word) for want, word in zip(wanted, words, strict=True))


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one host, in order; the first that matches decides."""

    rules: tuple[Rule, ...] = ()

    def apply(self, words: Sequence[str | None], verdict: Verdict) -> Verdict:
        """The verdict after the rules."""
        rule = next((rule for rule in self.rules if rule.matches(words)), None)
        if rule is None or (verdict.risk is Risk.DESTROY and rule.risk is not Risk.DESTROY):
            return verdict
        return Verdict(rule.risk, f"your rule: {rule.why}", verdict.sensitive)
