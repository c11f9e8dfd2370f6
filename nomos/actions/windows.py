"""Assent windows: open, extend, revoke, and end, with a receipt of what was done under them."""

from __future__ import annotations

from datetime import timedelta

from nomos.actions.consent import withdraw
from nomos.clock import Moment
from nomos.domain import telling
from nomos.domain.approvals import Approval
from nomos.domain.executions import UNDER_WAY, Execution, Risk, State
from nomos.domain.messages import Origin, Role
from nomos.domain.sessions import Ending
from nomos.domain.windows import Ended, Scope, Window, over
from nomos.store import executions, messages, plans, sessions, windows
from nomos.store.engine import Store
from nomos.store.transaction import Tx


def open_in(tx: Tx, approval: Approval, scope: Scope, moment: Moment, *, by: str, minutes: int) -> Window:
    """Open the session's window for an approval, without taking from an open one what it granted."""
    expires_at = tx.at + timedelta(minutes=minutes)
    expires_ticks = moment.ticks + minutes * 60
    before = windows.latest(tx.c, approval.session_id)
    if before is not None and not before.holds(moment):
        end_in(tx, before, _why_over(before))
        before = None
    if before is not None:
        end_in(tx, before, Ended.REPLACED)
        expires_at, expires_ticks = max(expires_at, before.expires_at), max(expires_ticks, before.expires_ticks)
    shown = {identity.name: identity.digest for identity in approval.bound}
    plan = None if approval.plan_id is None else plans.get(tx.c, approval.plan_id)
    hosts = tuple(shown) if plan is None else plan.allowed_hosts
    still_covered = before is not None and before.cover_until is not None and tx.at < before.cover_until
    covered: tuple[str, ...] = before.hosts if before is not None and still_covered else ()
    bound = dict(before.bound) if before is not None and still_covered else {}
    risk, until = (before.risk, before.cover_until) if before is not None and still_covered else (Risk.READ, tx.at)
    if scope is Scope.WINDOW:
        covered, risk, until = tuple(dict.fromkeys((*covered, *hosts))), Risk.CHANGE, expires_at
        bound |= {host: shown[host] for host in hosts}
    if plan is not None:
        plan_id, plan_bound = approval.plan_id, shown
    else:
        plan_id, plan_bound = (None, {}) if before is None else (before.plan_id, dict(before.plan_bound))
    return windows.open_new(
        tx,
        approval.session_id,
        expires_at=expires_at,
        expires_ticks=expires_ticks,
        boot=moment.boot,
        by=by,
        scope=scope,
        hosts=covered,
        risk=risk,
        cover_until=until,
        plan_id=plan_id,
        bound=bound,
        plan_bound=plan_bound,
    )


def end_in(tx: Tx, window: Window, why: Ended) -> bool:
    """End a window, once: with a receipt in the timeline, and without what was only queued under it.

    False: it had ended before. A window whose place another takes leaves its queue to that one.
    """
    if not windows.end(tx, window, why):
        return False
    if why is not Ended.REPLACED:
        for execution in executions.of_session(tx.c, window.session_id):
            rides = execution.approval_id is None and execution.risk is not Risk.READ
            if execution.state is State.QUEUED and rides and not executions.claimed(tx.c, execution.id):
                withdraw(tx, execution, f"the assent window that it was allowed under has ended ({why})")
                sessions.make_due(tx, window.session_id)
    used = executions.under(tx.c, window.id)
    origin = Origin.CONTINUATION if why in {Ended.EXPIRED, Ended.CLOCK} else Origin.DECISION
    text = telling.window_ended(window, tx.at, why, used)
    messages.add(tx, window.session_id, Role.EVENT, origin, text=text, code="window_ended")
    return True


def revoke_in(tx: Tx, session_id: str, moment: Moment, why: Ended) -> bool:
    """Close the session's window if it is open. True if it was."""
    window = windows.latest(tx.c, session_id)
    if window is None or window.ended_at is not None:
        return False
    held = window.holds(moment)
    end_in(tx, window, why if held else _why_over(window))
    return held


def _why_over(window: Window) -> Ended:
    return window.ended_why or Ended.EXPIRED


def extend(store: Store, session_id: str, minutes: int, moment: Moment, *, by: str) -> Window:
    """Let the window end ``minutes`` from now, never earlier than it would have; reopen it if it is over.

    It covers what it covered, on hosts that are what they were, and its continuations are counted anew. A session that
    never had one gets one that grants nothing but going on.
    """
    with store.write(moment.now) as tx:
        sessions.lock(tx, session_id)
        before = windows.latest(tx.c, session_id)
        expires_at = tx.at + timedelta(minutes=minutes)
        expires_ticks = moment.ticks + minutes * 60
        covers = before is not None and before.cover_until is not None and before.risk is not Risk.READ
        if before is not None and before.holds(moment):
            later = max(before.expires_at, expires_at)
            windows.change(
                tx, before, expires_at=later, expires_ticks=max(before.expires_ticks, expires_ticks),
                cover_until=later if covers else before.cover_until, continuations=0,
            )  # fmt: skip
        else:
            if before is not None:
                end_in(tx, before, _why_over(before))
            windows.open_new(
                tx,
                session_id,
                expires_at=expires_at,
                expires_ticks=expires_ticks,
                boot=moment.boot,
                by=by,
                scope=before.scope if before is not None else Scope.ONCE,
                hosts=before.hosts if before is not None else (),
                risk=before.risk if before is not None else Risk.READ,
                cover_until=expires_at if covers else tx.at,
                plan_id=before.plan_id if before is not None else None,
                bound=before.bound if before is not None else {},
                plan_bound=before.plan_bound if before is not None else {},
            )
        sessions.change(tx, session_id, last_word_at=tx.at, updated_at=tx.at)
        if sessions.work(tx.c, session_id).ending is Ending.PARKED:
            sessions.change(tx, session_id, ending=Ending.NONE)
        sessions.make_due(tx, session_id)
        window = windows.latest(tx.c, session_id)
        assert window is not None
        return window


def revoke(store: Store, session_id: str, moment: Moment) -> tuple[Window | None, tuple[Execution, ...]]:
    """Close the window at once: nothing new runs unasked. Returns it, and the executions that go on all the same."""
    with store.write(moment.now) as tx:
        sessions.lock(tx, session_id)
        revoke_in(tx, session_id, moment, Ended.REVOKED)
        running = tuple(e for e in executions.of_session(tx.c, session_id) if e.state in UNDER_WAY)
        return windows.latest(tx.c, session_id), running


def close_over(store: Store, moment: Moment) -> int:
    """End every window that is over by either clock, each with its receipt. Returns how many there were.

    One that was opened before the machine was started anew goes on if the wall clock can be trusted to say so.
    """
    with store.read() as connection:
        suspects = [w for w in windows.not_ended(connection) if not w.holds(moment)]
        latest = windows.latest_noted(connection) if suspects else moment.now
    count = 0
    for suspect in suspects:
        with store.write(moment.now) as tx:
            sessions.lock(tx, suspect.session_id)
            window = windows.latest(tx.c, suspect.session_id)
            if window is None or window.id != suspect.id or window.ended_at is not None or window.holds(moment):
                continue
            why = over(window, moment, max(latest, window.opened_at))
            if why is not None:
                count += end_in(tx, window, why)
            elif window.boot != moment.boot:
                left = (window.expires_at - moment.now).total_seconds()
                windows.change(tx, window, boot=moment.boot, expires_ticks=moment.ticks + left)
    return count
