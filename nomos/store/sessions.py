"""Sessions: rows, when they are due, and who holds the claim on their turn."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, and_, func, or_, select, update

from nomos.clock import Moment
from nomos.domain.approvals import ApprovalState
from nomos.domain.events import Type
from nomos.domain.executions import UNDER_WAY
from nomos.domain.messages import OPEN
from nomos.domain.sessions import Ending, Session, SessionState, session_state
from nomos.errors import ClaimLost, NotFound
from nomos.store.rows import approvals, executions, messages, sessions
from nomos.store.transaction import AnyRow, Tx


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to run a session's turn. Every write made under it checks ``number``."""

    session_id: str
    number: int
    owner: str
    due: int


@dataclass(frozen=True, slots=True)
class Work:
    """What the poller needs to know of a session besides its public face."""

    ending: Ending
    last_word_at: datetime | None
    stop_requested: bool


def _value(row: AnyRow) -> Session:
    return Session(
        id=row.id,
        title=row.title,
        state=SessionState(row.state),
        created_at=row.created_at,
        updated_at=row.updated_at,
        archived=row.archived,
    )


def add(tx: Tx, title: str) -> Session:
    """Open a session."""
    session_id = str(uuid.uuid4())
    tx.c.execute(
        sessions.insert().values(
            id=session_id, title=title, state=SessionState.IDLE, ending=Ending.NONE, created_at=tx.at, updated_at=tx.at
        )
    )
    tx.touch(Type.SESSION_CHANGED, session_id)
    return get(tx.c, session_id)


def get(c: Connection, session_id: str) -> Session:
    """:raises NotFound: there is none."""
    row = c.execute(select(sessions).where(sessions.c.id == session_id)).one_or_none()
    if row is None:
        raise NotFound("There is no such session. Nothing was changed.")
    return _value(row)


def every(c: Connection, *, archived: bool = False, limit: int = 200) -> tuple[Session, ...]:
    """The sessions, newest change first."""
    statement = select(sessions).where(sessions.c.archived == archived)
    return tuple(_value(row) for row in c.execute(statement.order_by(sessions.c.updated_at.desc()).limit(limit)))


def lock(tx: Tx, session_id: str) -> Session:
    """Take the session's row for this transaction, so that changes of one session happen one after the other.

    :raises NotFound: there is none.
    """
    row = tx.c.execute(select(sessions).where(sessions.c.id == session_id).with_for_update()).one_or_none()
    if row is None:
        raise NotFound("There is no such session. Nothing was changed.")
    return _value(row)


def change(tx: Tx, session_id: str, **values: object) -> None:
    """Set columns of a session and note the change."""
    tx.c.execute(update(sessions).where(sessions.c.id == session_id).values(**values))
    tx.touch(Type.SESSION_CHANGED, session_id)
    tx.touch_session(session_id)


def work(c: Connection, session_id: str) -> Work:
    """What the poller needs to know."""
    row = c.execute(
        select(sessions.c.ending, sessions.c.last_word_at, sessions.c.stop_requested).where(sessions.c.id == session_id)
    ).one()
    return Work(Ending(row.ending), row.last_word_at, row.stop_requested)


def make_due(tx: Tx, session_id: str, *, wait: float = 0.0, moment: Moment | None = None) -> None:
    """Have the poller look at the session; after ``wait`` seconds on ``moment``'s clock if given.

    A counter, not a flag: what arrives during a turn is not lost.
    """
    tx.c.execute(
        update(sessions)
        .where(sessions.c.id == session_id)
        .values(
            due=sessions.c.due + 1,
            due_ticks=None if moment is None else moment.ticks + wait,
            due_boot=None if moment is None else moment.boot,
        )
    )
    tx.touch_session(session_id)


def claim_due(tx: Tx, owner: str, moment: Moment, lease: float) -> Claim | None:
    """Take one session that is due and that nobody holds (or whose holder's lease is over). Oldest change first."""
    free = or_(
        sessions.c.claim_owner.is_(None),
        sessions.c.claim_until < moment.ticks,
        sessions.c.claim_boot != moment.boot,
    )
    ripe = or_(sessions.c.due_ticks.is_(None), sessions.c.due_ticks <= moment.ticks, sessions.c.due_boot != moment.boot)
    candidate = (
        select(sessions.c.id)
        .where(sessions.c.due > sessions.c.handled, free, ripe)
        .order_by(sessions.c.updated_at)
        .limit(1)
        .with_for_update(skip_locked=True)
        .scalar_subquery()
    )
    row = tx.c.execute(
        update(sessions)
        .where(sessions.c.id == candidate)
        .values(
            claim=sessions.c.claim + 1,
            claim_owner=owner,
            claim_until=moment.ticks + lease,
            claim_boot=moment.boot,
            due_ticks=None,
            due_boot=None,
        )
        .returning(sessions.c.id, sessions.c.claim, sessions.c.due)
    ).one_or_none()
    return None if row is None else Claim(row.id, row.claim, owner, row.due)


def check(tx: Tx, claim: Claim) -> None:
    """Take the session's row and see that the claim still stands.

    :raises ClaimLost: it does not; nothing may be written under it.
    """
    row = tx.c.execute(
        select(sessions.c.id)
        .where(
            sessions.c.id == claim.session_id, sessions.c.claim == claim.number, sessions.c.claim_owner == claim.owner
        )
        .with_for_update()
    ).one_or_none()
    if row is None:
        raise ClaimLost


def renew(tx: Tx, claim: Claim, moment: Moment, lease: float) -> None:
    """Prolong the lease.

    :raises ClaimLost: somebody else holds the session.
    """
    check(tx, claim)
    tx.c.execute(update(sessions).where(sessions.c.id == claim.session_id).values(claim_until=moment.ticks + lease))


def release(tx: Tx, claim: Claim, ending: Ending | None) -> None:
    """Give the claim back. What became due meanwhile stays due. ``ending`` None leaves the last one."""
    values: dict[str, object] = {
        "handled": claim.due,
        "claim_owner": None,
        "claim_until": None,
        "claim_boot": None,
        "stop_requested": False,
    }
    if ending is not None:
        values |= {"ending": ending, "updated_at": tx.at}
    tx.c.execute(update(sessions).where(sessions.c.id == claim.session_id).values(**values))
    tx.touch_session(claim.session_id)


def release_all(tx: Tx, owner: str) -> None:
    """Give back all claims of one worker, at its orderly end: another may go on at once."""
    held = tx.c.execute(select(sessions.c.id).where(sessions.c.claim_owner == owner)).scalars().all()
    tx.c.execute(
        update(sessions)
        .where(sessions.c.claim_owner == owner)
        .values(claim_owner=None, claim_until=None, claim_boot=None, claim=sessions.c.claim + 1)
    )
    for session_id in held:
        tx.touch_session(session_id)


def refresh_state(tx: Tx, session_id: str) -> None:
    """Derive the session's state anew; record it if it changed."""
    row = tx.c.execute(select(sessions).where(sessions.c.id == session_id).with_for_update()).one()
    turn_open = tx.c.execute(
        select(func.count())
        .select_from(messages)
        .where(messages.c.session_id == session_id, messages.c.status.in_(OPEN))
    ).scalar_one()
    under_way = tx.c.execute(
        select(func.count())
        .select_from(executions)
        .where(executions.c.session_id == session_id, executions.c.state.in_(UNDER_WAY))
    ).scalar_one()
    pending = tx.c.execute(
        select(func.count())
        .select_from(approvals)
        .where(and_(approvals.c.session_id == session_id, approvals.c.state == ApprovalState.PENDING))
    ).scalar_one()
    state = session_state(
        turn_open=turn_open > 0,
        due=row.due > row.handled and row.claim_owner is None and row.ending != Ending.STOPPED,
        under_way=under_way,
        pending=pending,
        ending=Ending(row.ending),
    )
    if state != row.state:
        tx.c.execute(update(sessions).where(sessions.c.id == session_id).values(state=state, updated_at=tx.at))
        tx.touch(Type.SESSION_CHANGED, session_id)


def held(c: Connection, session_id: str) -> bool:
    """Whether a worker holds the claim on the session's turn."""
    owner = c.execute(select(sessions.c.claim_owner).where(sessions.c.id == session_id)).scalar_one()
    return owner is not None


def forget_due(tx: Tx, session_id: str) -> None:
    """Take back that the session is due."""
    tx.c.execute(
        update(sessions)
        .where(sessions.c.id == session_id)
        .values(handled=sessions.c.due, due_ticks=None, due_boot=None)
    )
    tx.touch_session(session_id)


def titled_by_operator(c: Connection, session_id: str) -> bool:
    """Whether the title is the operator's own."""
    return bool(c.execute(select(sessions.c.titled_by_operator).where(sessions.c.id == session_id)).scalar_one())
