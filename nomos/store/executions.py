"""Executions and their claims. Their output is in ``output``."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, Select, and_, exists, not_, or_, select, update

from nomos.clock import Moment
from nomos.domain import deeds
from nomos.domain.audit import Deed
from nomos.domain.events import Type
from nomos.domain.executions import CONTINUES, ENDED, Execution, Risk, State, may_become
from nomos.errors import ClaimLost, Conflict, NotFound
from nomos.store.rows import blocks, executions, hosts, messages
from nomos.store.transaction import AnyRow, Tx


@dataclass(frozen=True, slots=True)
class ExecutionClaim:
    """The right to start and follow one execution. Every write made under it checks ``number``."""

    execution_id: str
    number: int
    owner: str


def _value(row: AnyRow) -> Execution:
    return Execution(
        id=row.id,
        session_id=row.session_id,
        message_id=row.message_id,
        block_id=row.block_id,
        host=row.host,
        command=row.command,
        reason=row.reason,
        risk=Risk(row.risk),
        risk_why=row.risk_why,
        state=State(row.state),
        digest=row.digest,
        asynchronous=row.asynchronous,
        queued_at=row.queued_at,
        started_at=row.started_at,
        ended_at=row.ended_at,
        continued_at=row.continued_at,
        exit_code=row.exit_code,
        output_bytes=row.output_bytes,
        host_bytes=row.host_bytes,
        omitted_from=row.omitted_from,
        omitted_to=row.omitted_to,
        truncated=row.truncated,
        last_output_at=row.last_output_at,
        question=row.question,
        parallel=row.parallel,
        asked=row.asked,
        approval_id=row.approval_id,
        plan_id=row.plan_id,
        detail=row.detail,
        cancel_requested_at=row.cancel_requested_at,
        created_at=row.created_at,
        undo=row.undo,
        undoes=row.undoes,
        after_id=row.after_id,
        guard_revert=row.guard_revert,
        guard_seconds=row.guard_seconds,
    )


def new_id() -> str:
    """An id for an execution to be; it will also name the job's folder on the host."""
    return str(uuid.uuid4())


def add(tx: Tx, execution: Execution, *, window_id: str | None = None) -> None:
    """Store a new execution, waiting or queued."""
    tx.c.execute(
        executions.insert().values(
            id=execution.id,
            session_id=execution.session_id,
            message_id=execution.message_id,
            block_id=execution.block_id,
            host=execution.host,
            command=execution.command,
            reason=execution.reason,
            risk=execution.risk,
            risk_why=execution.risk_why,
            state=execution.state,
            digest=execution.digest,
            asynchronous=execution.asynchronous,
            created_at=tx.at,
            queued_at=execution.queued_at,
            approval_id=execution.approval_id,
            plan_id=execution.plan_id,
            parallel=execution.parallel,
            asked=execution.asked,
            window_id=window_id,
            undo=execution.undo,
            undoes=execution.undoes,
            after_id=execution.after_id,
            guard_revert=execution.guard_revert,
            guard_seconds=execution.guard_seconds,
        )
    )
    tx.touch(Type.EXECUTION_CHANGED, execution.id)
    tx.touch_session(execution.session_id)
    if execution.state is State.QUEUED:
        _note(tx, Deed.EXECUTION_QUEUED, execution)


def _note(tx: Tx, deed: Deed, execution: Execution) -> None:
    """Tell the audit, with the host's key and user as they are now."""
    host = select(hosts.c.fingerprint, hosts.c.user).where(hosts.c.name == execution.host)
    row = tx.c.execute(host).one_or_none()
    where = {
        "host": execution.host,
        "host_key": None if row is None else row.fingerprint,
        "user": None if row is None else row.user,
    }
    tx.audit(deed, deeds.execution(execution) | where, session_id=execution.session_id)


def get(c: Connection, execution_id: str) -> Execution:
    """:raises NotFound: there is none."""
    row = c.execute(select(executions).where(executions.c.id == execution_id)).one_or_none()
    if row is None:
        raise NotFound("There is no such execution.")
    return _value(row)


def host_boot(c: Connection, execution_id: str) -> str | None:
    """The boot identity that the host had before the job was sent there."""
    boot: str | None = c.execute(select(executions.c.host_boot).where(executions.c.id == execution_id)).scalar_one()
    return boot


def of_session(c: Connection, session_id: str) -> tuple[Execution, ...]:
    """All executions of a session, in the order they were asked for, which wall time does not always tell."""
    statement = (
        select(executions)
        .join(messages, messages.c.id == executions.c.message_id)
        .join(blocks, blocks.c.id == executions.c.block_id)
        .where(executions.c.session_id == session_id)
        .order_by(messages.c.position, blocks.c.position)
    )
    return tuple(_value(row) for row in c.execute(statement))


def search(
    c: Connection,
    *,
    states: Sequence[State] = (),
    host: str | None = None,
    session_id: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int = 200,
) -> tuple[Execution, ...]:
    """Executions that fit all given filters, newest first."""
    statement: Select[tuple[object]] = select(executions)
    if states:
        statement = statement.where(executions.c.state.in_(states))
    if host is not None:
        statement = statement.where(executions.c.host == host)
    if session_id is not None:
        statement = statement.where(executions.c.session_id == session_id)
    if since is not None:
        statement = statement.where(executions.c.created_at >= since)
    if until is not None:
        statement = statement.where(executions.c.created_at < until)
    statement = statement.order_by(executions.c.created_at.desc(), executions.c.id).limit(limit)
    return tuple(_value(row) for row in c.execute(statement))


def not_continued(c: Connection, session_id: str) -> tuple[Execution, ...]:
    """Executions that ended and whose result the agent has not been given, in the order they ended."""
    statement = select(executions).where(
        executions.c.session_id == session_id,
        executions.c.state.in_(CONTINUES),
        executions.c.continued_at.is_(None),
    )
    return tuple(_value(row) for row in c.execute(statement.order_by(executions.c.ended_at, executions.c.id)))


def asking(c: Connection, session_id: str) -> tuple[Execution, ...]:
    """Running executions whose question the agent has not been told."""
    statement = select(executions).where(
        executions.c.session_id == session_id,
        executions.c.state == State.RUNNING,
        executions.c.question.is_not(None),
        executions.c.question_told.is_(False),
    )
    return tuple(_value(row) for row in c.execute(statement.order_by(executions.c.created_at)))


def under(c: Connection, window_id: str) -> tuple[Execution, ...]:
    """The executions that ran because this window was open."""
    statement = select(executions).where(executions.c.window_id == window_id).order_by(executions.c.created_at)
    return tuple(_value(row) for row in c.execute(statement))


def under_window(c: Connection, window_id: str) -> tuple[str, ...]:
    """Ids of the executions that ran because this window was open."""
    statement = select(executions.c.id).where(executions.c.window_id == window_id).order_by(executions.c.created_at)
    return tuple(c.execute(statement).scalars())


def change(tx: Tx, execution_id: str, *, state: State | None = None, **values: object) -> Execution:
    """Set columns of an execution, its state only along a drawn arrow.

    :raises Conflict: there is no such arrow.
    """
    before = get(tx.c, execution_id)
    if state is not None:
        if not may_become(before.state, state):
            raise Conflict(f"An execution that is {before.state} cannot become {state}. Nothing was changed.")
        values["state"] = state
    tx.c.execute(update(executions).where(executions.c.id == execution_id).values(**values))
    tx.touch(Type.EXECUTION_CHANGED, execution_id)
    tx.touch_session(before.session_id)
    after = get(tx.c, execution_id)
    if after.cancel_requested_at is not None and before.cancel_requested_at is None:
        _note(tx, Deed.CANCEL_ASKED, after)
    if after.state is not before.state and after.state in _TOLD:
        _note(tx, _TOLD[after.state], after)
    return after


_TOLD = {State.QUEUED: Deed.EXECUTION_QUEUED, State.STARTING: Deed.EXECUTION_STARTED} | dict.fromkeys(
    ENDED, Deed.EXECUTION_ENDED
)


def claim_next(tx: Tx, owner: str, moment: Moment, lease: float) -> tuple[ExecutionClaim, Execution] | None:
    """Take one execution that is queued, or under way with its follower's lease over. Oldest first.

    What changes a host waits while another change is under way there, unless the plan says that it may run beside it.
    What a snapshot is taken before waits for that.
    """
    free = or_(
        executions.c.claim_owner.is_(None),
        executions.c.claim_until < moment.ticks,
        executions.c.claim_boot != moment.boot,
    )
    other = executions.alias("other")
    other_is_taken = and_(
        other.c.claim_owner.is_not(None), other.c.claim_until >= moment.ticks, other.c.claim_boot == moment.boot
    )
    busy = exists().where(
        other.c.host == executions.c.host,
        other.c.id != executions.c.id,
        other.c.risk != Risk.READ,
        other.c.parallel.is_(False),
        or_(other.c.state.in_([State.STARTING, State.RUNNING]), and_(other.c.state == State.QUEUED, other_is_taken)),
    )
    first = executions.alias("first")
    taken = first.c.state == State.SUCCEEDED
    ready = or_(
        executions.c.state.in_([State.STARTING, State.RUNNING]),
        and_(
            executions.c.state == State.QUEUED,
            or_(executions.c.after_id.is_(None), exists().where(first.c.id == executions.c.after_id, taken)),
            or_(executions.c.risk == Risk.READ, executions.c.parallel.is_(True), not_(busy)),
        ),
    )
    candidates = select(executions.c.id, executions.c.host).where(free, ready).order_by(executions.c.queued_at).limit(8)
    for candidate in tx.c.execute(candidates).all():
        # Two workers that look at once would both find the host free: the second waits here, and looks again.
        tx.c.execute(select(hosts.c.id).where(hosts.c.name == candidate.host).with_for_update())
        row = tx.c.execute(
            update(executions)
            .where(executions.c.id == candidate.id, free, ready)
            .values(
                claim=executions.c.claim + 1,
                claim_owner=owner,
                claim_until=moment.ticks + lease,
                claim_boot=moment.boot,
            )
            .returning(executions)
        ).one_or_none()
        if row is not None:
            return ExecutionClaim(row.id, row.claim, owner), _value(row)
    return None


def check(tx: Tx, claim: ExecutionClaim) -> Execution:
    """Take the row and see that the claim still stands.

    :raises ClaimLost: it does not.
    """
    row = tx.c.execute(
        select(executions)
        .where(
            executions.c.id == claim.execution_id,
            executions.c.claim == claim.number,
            executions.c.claim_owner == claim.owner,
        )
        .with_for_update()
    ).one_or_none()
    if row is None:
        raise ClaimLost
    return _value(row)


def renew(tx: Tx, claims: Sequence[ExecutionClaim], moment: Moment, lease: float) -> None:
    """Prolong the leases of all executions that one worker follows."""
    for claim in sorted(claims, key=lambda each: each.execution_id):  # the order in which growth locks them too
        tx.c.execute(
            update(executions)
            .where(executions.c.id == claim.execution_id, executions.c.claim == claim.number)
            .values(claim_until=moment.ticks + lease)
        )


def release(tx: Tx, claim: ExecutionClaim, *, until: float | None = None) -> None:
    """Give a claim back. ``until`` (ticks) keeps everybody off the execution till then: a back-off."""
    values: dict[str, object] = {"claim_until": until} if until is not None else {
        "claim_owner": None, "claim_until": None, "claim_boot": None,
    }  # fmt: skip
    tx.c.execute(
        update(executions)
        .where(executions.c.id == claim.execution_id, executions.c.claim == claim.number)
        .values(**values)
    )


def release_all(tx: Tx, owner: str) -> None:
    """Give back all claims of one worker, at its orderly end."""
    tx.c.execute(
        update(executions)
        .where(executions.c.claim_owner == owner)
        .values(claim_owner=None, claim_until=None, claim_boot=None)
    )


def claimed(c: Connection, execution_id: str) -> bool:
    """Whether a worker holds the execution."""
    owner = c.execute(select(executions.c.claim_owner).where(executions.c.id == execution_id)).scalar_one()
    return owner is not None
