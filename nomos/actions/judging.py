"""What today's rules say of a command on a host: the classifier's tables, with the operator's own rules on top."""

from __future__ import annotations

from nomos.risk import Rules, Verdict, classify

_own = Rules()


def use(rules: Rules) -> None:
    """Take the operator's rules for this process. Called once, where the process is joined together."""
    global _own  # noqa: PLW0603 - rules are as fixed for a process as its code is
    _own = rules


def verdict_of(command: str, host: str) -> Verdict:
    """Class one command as it would run on one host. Not within a transaction: the second reader is a program."""
    return classify(command, overrides=_own.for_host(host))
