"""The operator's own rules for a host: widen or narrow what the tables say, never past a limit.

A rule may call ``read`` what the tables call ``change``, and may make anything stricter. What the tables know and call
``destroy`` stays so; a program that they do not know at all may be named by a rule, down to ``read``.
"""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nomos.domain.executions import Risk
from nomos.errors import SettingError
from nomos.risk import tables
from nomos.risk.programs import READERS
from nomos.risk.verdict import Verdict

_KEYS = {"hosts", "command", "risk", "why", "must_match", "must_not_match"}
_REST = "**"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. ``words``: the command's words, ``*`` for exactly one, ``**`` at the end for any more.

    ``hosts``: the names that it holds for; none: every host.
    """

    hosts: tuple[str, ...]
    words: tuple[str, ...]
    risk: Risk
    why: str

    def matches(self, words: Sequence[str | None]) -> bool:
        """Whether it says something of a command; a word that is not known (None) never matches."""
        wanted = list(self.words)
        given = list(words)
        if None in given:
            return False
        if wanted[-1] == _REST:
            wanted.pop()
            given = given[: len(wanted)]
        return len(given) == len(wanted) and all(want in ("*", word) for want, word in zip(wanted, given, strict=True))


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules in order; the first that matches decides."""

    rules: tuple[Rule, ...] = ()

    def for_host(self, host: str) -> Rules:
        """Those that hold for one host."""
        return Rules(tuple(rule for rule in self.rules if not rule.hosts or host in rule.hosts))

    def apply(self, words: Sequence[str | None], verdict: Verdict) -> Verdict:
        """The verdict of one command's words after the rules."""
        rule = next((rule for rule in self.rules if rule.matches(words)), None)
        if rule is None:
            return verdict
        if verdict.risk is Risk.DESTROY and rule.risk is not Risk.DESTROY and is_known(words[0] or ""):
            return verdict
        return Verdict(rule.risk, f"your rule says: {rule.why}", verdict.sensitive)


def is_known(name: str) -> bool:
    """Whether the tables or a reader know the program."""
    return name in READERS or name in tables.wrappers() or tables.find(name) is not None


def read_rules(text: str, source: str) -> Rules:
    """Read ``risk.toml``: ``[[rule]]`` tables with hosts, command, risk, why, must_match, must_not_match.

    :param source: the file's name, for the sentence if something is wrong.
    :raises SettingError: no TOML, an unknown key or risk, or an example that the rule does not keep.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingError(f"{source} cannot be read: {error}.") from None
    if unknown := set(document) - {"rule"}:
        raise SettingError(f"{source}: there is no {', '.join(sorted(unknown))}; only [[rule]] tables are read.")
    given = document.get("rule", [])
    if not isinstance(given, list):
        raise SettingError(f"{source}: write [[rule]], with two brackets.")
    return Rules(tuple(_rule(table, f"{source}, rule {number}") for number, table in enumerate(given, 1)))


def _rule(table: Mapping[str, Any], where: str) -> Rule:
    if unknown := set(table) - _KEYS:
        raise SettingError(f"{where}: there is no key {', '.join(sorted(unknown))}.")
    command, why = table.get("command"), table.get("why")
    if not isinstance(command, str) or not isinstance(why, str) or not why.strip():
        raise SettingError(f"{where}: it needs a command and a why, both text.")
    try:
        risk = Risk(table.get("risk", ""))
    except ValueError:
        raise SettingError(f"{where}: risk is read, change or destroy.") from None
    words = _words(command, where)
    if not words or words[0] in ("*", _REST) or _REST in words[:-1]:
        raise SettingError(f"{where}: a command begins with the program's name, and ** stands only at its end.")
    rule = Rule(tuple(_texts(table, "hosts", where)), words, risk, why)
    matching, others = _texts(table, "must_match", where), _texts(table, "must_not_match", where)
    if not matching or not others:
        raise SettingError(f"{where}: give an example that must_match and one that must_not_match.")
    for example in matching:
        if not rule.matches(_words(example, where)):
            raise SettingError(f"{where}: it must match “{example}”, and does not.")
    for example in others:
        if rule.matches(_words(example, where)):
            raise SettingError(f"{where}: it must not match “{example}”, and does.")
    return rule


def _words(text: str, where: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError:
        raise SettingError(f"{where}: the quotes of “{text}” do not close.") from None


def _texts(table: Mapping[str, Any], key: str, where: str) -> list[str]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise SettingError(f"{where}: {key} is a list of texts.")
    return value
