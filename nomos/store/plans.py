"""Plans."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, select, update

from nomos.domain.events import Type
from nomos.domain.executions import Risk
from nomos.domain.plans import TRANSITIONS, Plan, PlanState, Step
from nomos.errors import Conflict, NotFound
from nomos.store.rows import blocks, messages, plans
from nomos.store.transaction import AnyRow, Tx


def _value(row: AnyRow) -> Plan:
    return Plan(
        id=row.id,
        session_id=row.session_id,
        message_id=row.message_id,
        block_id=row.block_id,
        goal=row.goal,
        verify=row.verify,
        steps=tuple(Step(**{**step, "risk": Risk(step["risk"])}) for step in row.steps),
        state=PlanState(row.state),
        created_at=row.created_at,
        snapshots=row.snapshots,
    )


def add(tx: Tx, plan: Plan) -> None:
    """Store a proposed plan."""
    tx.c.execute(
        plans.insert().values(
            id=plan.id,
            session_id=plan.session_id,
            message_id=plan.message_id,
            block_id=plan.block_id,
            goal=plan.goal,
            verify=plan.verify,
            steps=_steps(plan),
            state=plan.state,
            created_at=plan.created_at,
        )
    )
    tx.touch(Type.PLAN_CHANGED, plan.id)


def get(c: Connection, plan_id: str) -> Plan:
    """:raises NotFound: there is none."""
    row = c.execute(select(plans).where(plans.c.id == plan_id)).one_or_none()
    if row is None:
        raise NotFound("There is no such plan.")
    return _value(row)


def take_snapshots(tx: Tx, plan_id: str) -> None:
    """The operator's answer has a snapshot taken of each guest before the plan changes it."""
    tx.c.execute(update(plans).where(plans.c.id == plan_id).values(snapshots=True))
    tx.touch(Type.PLAN_CHANGED, plan_id)


def of_session(c: Connection, session_id: str) -> tuple[Plan, ...]:
    """The plans of a session, in the order they were proposed."""
    # By their place in the timeline: wall time may have been set back between two of them.
    statement = (
        select(plans)
        .join(messages, messages.c.id == plans.c.message_id)
        .join(blocks, blocks.c.id == plans.c.block_id)
        .where(plans.c.session_id == session_id)
        .order_by(messages.c.position, blocks.c.position)
    )
    return tuple(_value(row) for row in c.execute(statement))


def set_steps(tx: Tx, plan: Plan) -> None:
    """Store what the operator did with the steps of a plan: edited, chosen, left out."""
    tx.c.execute(update(plans).where(plans.c.id == plan.id).values(steps=_steps(plan)))
    tx.touch(Type.PLAN_CHANGED, plan.id)


def _steps(plan: Plan) -> list[dict[str, Any]]:
    return [asdict(step) for step in plan.steps]


def set_state(tx: Tx, plan_id: str, state: PlanState) -> None:
    """Change a plan's state, only along a drawn arrow.

    :raises Conflict: there is no such arrow.
    """
    before = [old for old, after in TRANSITIONS.items() if state in after]
    changed = tx.c.execute(update(plans).where(plans.c.id == plan_id, plans.c.state.in_(before)).values(state=state))
    if changed.rowcount != 1:
        raise Conflict(f"This plan cannot become {state} any more. Nothing was changed.")
    tx.touch(Type.PLAN_CHANGED, plan_id)
