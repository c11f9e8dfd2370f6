"""What the classifier says of a command, and of each part of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from nomos.domain.executions import Risk


@dataclass(frozen=True, slots=True)
class Verdict:
    """The risk of a command, and why, in one line for the card and for the agent.

    ``risk`` is the class: what the command does to the host. ``sensitive`` is set where a read would show secrets, or
    could carry what it read out of the lab. Callers gate on ``asks_as``.
    """

    risk: Risk
    why: str
    sensitive: bool = False

    @property
    def asks_as(self) -> Risk:
        """The risk to gate on and to show: a sensitive read asks as if it were a change."""
        return Risk.CHANGE if self.sensitive and self.risk is Risk.READ else self.risk


READS = Verdict(Risk.READ, "every part of it only reads")


def read() -> Verdict:
    """It changes nothing."""
    return READS


def sensitive(why: str) -> Verdict:
    """It changes nothing, but what it shows or sends is the operator's to allow."""
    return Verdict(Risk.READ, why, sensitive=True)


def change(why: str) -> Verdict:
    """It changes something, or may."""
    return Verdict(Risk.CHANGE, why)


def destroy(why: str) -> Verdict:
    """It destroys, or runs what the text does not show, or cannot be read."""
    return Verdict(Risk.DESTROY, why)


def strictest(verdicts: Iterable[Verdict]) -> Verdict:
    """The strictest of several; the first of equals, so that the reason names the part that comes first."""
    worst = READS
    for verdict in verdicts:
        if (verdict.risk.rank, verdict.sensitive) > (worst.risk.rank, worst.sensitive):
            worst = verdict
    return worst
