"""Whether the agent is invoked, and on what ground: the decision of the continuation poller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from nomos.domain.executions import Execution, Risk, State
from nomos.domain.messages import Origin
from nomos.domain.sessions import Ending
from nomos.domain.windows import Window


class Wake(StrEnum):
    """What the poller does with a session that is due."""

    RUN = "run"  # begin a turn
    PARK = "park"  # results are in, but the machine may not go on without the operator
    SLEEP = "sleep"  # there is nothing to say


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do; ``origin`` of the turn if one begins; ``limit`` is true where only the count stands in the way."""

    wake: Wake
    origin: Origin = Origin.OPERATOR
    limit: bool = False


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of machine-started turns: minutes after the operator's last word, continuations in one window."""

    assent_minutes: int
    max_continuations: int


def decide(
    *,
    now: datetime,
    spoken: bool,
    decided: bool,
    ended: Sequence[Execution],
    asking: Sequence[Execution] = (),
    window: Window | None,
    last_word_at: datetime | None,
    ending: Ending,
    limits: Limits,
) -> Decision:
    """Decide whether a session that is due gets a turn.

    :param spoken: the operator wrote something that no turn has answered. :param decided: a decision of the operator
        has not been told. :param ended: executions whose result the agent has not been given. :param asking: running
        ones that look as if they waited for an answer, of which the agent has not been told.
    The operator's own acts always start a turn. Results do so while the window is open; read-only ones also for the
    same time after the operator's last word. What the operator stopped wakes nobody until the operator acts again.
    """
    if ending is Ending.STOPPED:
        return Decision(Wake.SLEEP)
    if spoken:
        return Decision(Wake.RUN, Origin.OPERATOR)
    if decided:
        return Decision(Wake.RUN, Origin.DECISION)
    results = [*(execution for execution in ended if execution.state is not State.CANCELLED), *asking]
    if not results:
        return Decision(Wake.SLEEP)
    if window is not None and window.is_open(now):
        if window.continuations >= limits.max_continuations:
            return Decision(Wake.PARK, limit=True)
        return Decision(Wake.RUN, Origin.CONTINUATION)
    recent = last_word_at is not None and now < last_word_at + timedelta(minutes=limits.assent_minutes)
    if recent and all(execution.risk is Risk.READ for execution in results):
        return Decision(Wake.RUN, Origin.CONTINUATION)
    return Decision(Wake.PARK)


def may_wait(*, now: datetime, window: Window | None, last_word_at: datetime | None, origin: Origin,
             limits: Limits) -> bool:  # fmt: skip
    """Whether a turn that the service cannot answer now may come back by itself later: while the window is open."""
    if window is not None:
        return window.is_open(now)
    recent = last_word_at is not None and now < last_word_at + timedelta(minutes=limits.assent_minutes)
    return recent and origin is Origin.CONTINUATION
