"""``/approvals``: what waits for the operator, and the answer."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, request

from nomos.actions import approvals as actions
from nomos.actions import edits
from nomos.domain import shapes
from nomos.domain.approvals import ApprovalState, Route
from nomos.errors import InvalidInput
from nomos.store import approvals
from nomos.web import parsing
from nomos.web.context import web
from nomos.web.security import actor, allow
from nomos.web.sessions import checked_id

bp = Blueprint("approvals", __name__, url_prefix="/api/v1/approvals")


@bp.get("")
@allow("read")
def index() -> dict[str, Any]:
    """The approvals, of one ``state`` if given."""
    wanted = request.args.get("state")
    if wanted and wanted not in list(ApprovalState):
        raise InvalidInput(f"state: must be one of {', '.join(ApprovalState)}.", field="state")
    with web().store.read() as connection:
        found = approvals.every(connection, ApprovalState(wanted) if wanted else None)
    return {"approvals": [shapes.approval(value) for value in found]}


@bp.get("/<approval_id>")
@allow("read")
def show(approval_id: str) -> dict[str, Any]:
    """One approval."""
    with web().store.read() as connection:
        return shapes.approval(approvals.get(connection, checked_id(approval_id, "approval")))


@bp.put("/<approval_id>/decision")
@allow("decide")
def decide(approval_id: str) -> dict[str, Any]:
    """Decide. The same answer again is fine; another one is refused with who and when."""
    form = parsing.body(parsing.NewDecision)
    who = actor()
    value = actions.settle(
        web().store,
        checked_id(approval_id, "approval"),
        form.verdict,
        web().clock.moment(),
        by=who.name,
        route=Route.API if who.by_token else Route.BUTTON,
        digest=form.digest,
        scope=form.scope,
        note=form.note,
        snapshot=form.snapshot,
        minutes=web().assent_minutes,
        steps=form.steps,
    )
    return shapes.approval(value)


@bp.put("/<approval_id>/command")
@allow("decide")
def edit_command(approval_id: str) -> dict[str, Any]:
    """Put another command in the place of the one that waits; the answer has its risk and the new digest."""
    form = parsing.body(parsing.EditedCommand)
    checked = checked_id(approval_id, "approval")
    return shapes.approval(edits.edit_command(web().store, checked, form.command, form.digest, web().now()))


@bp.put("/<approval_id>/steps/<int:number>")
@allow("decide")
def edit_step(approval_id: str, number: int) -> dict[str, Any]:
    """Put another command in the place of a plan's step (numbered from 0); the answer has the new digest."""
    form = parsing.body(parsing.EditedCommand)
    checked = checked_id(approval_id, "approval")
    return shapes.approval(edits.edit_step(web().store, checked, number, form.command, form.digest, web().now()))
