"""Messages: what the operator says."""

from __future__ import annotations

from nomos.actions.approvals import settle_in
from nomos.actions.consent import Judged, judge
from nomos.actions.sessions import short_title
from nomos.clock import Moment
from nomos.domain import telling
from nomos.domain.approvals import Approval, ApprovalState, Route, Verdict
from nomos.domain.assent import Reading, read
from nomos.domain.executions import Risk
from nomos.domain.messages import Message, Origin, Role
from nomos.domain.sessions import Ending
from nomos.errors import ClientIdReused
from nomos.store import approvals, executions, messages, plans, sessions
from nomos.store.engine import Store
from nomos.store.transaction import Tx


def send(
    store: Store, session_id: str, client_id: str, text: str, moment: Moment, *, by: str, minutes: int,
    may_decide: bool,
) -> Message:  # fmt: skip
    """Store the operator's message and make the session due.

    The same ``client_id`` with the same text again gives the same message and changes nothing. A message that reads
    as assent or denial, where exactly one question is open and was the last thing asked, is that question's answer;
    ``may_decide`` is false for senders that may not decide. What destroys is never approved here.

    :raises NotFound: no such session. :raises ClientIdReused: the id stands for another text.
    """
    judged = _judge_pending(store, session_id) if may_decide and read(text) is Reading.ASSENT else {}
    with store.write(moment.now) as tx:
        sessions.lock(tx, session_id)
        before = messages.by_client_id(tx.c, session_id, client_id)
        if before is not None:
            if before.text != text:
                raise ClientIdReused
            return before
        answer = _answer(tx, session_id, text) if may_decide else None
        origin = Origin.DECISION if answer is not None else Origin.OPERATOR
        message = messages.add(tx, session_id, Role.OPERATOR, origin, text=text, client_id=client_id)
        if not sessions.titled_by_operator(tx.c, session_id) and message.position == 1:
            sessions.change(tx, session_id, title=short_title(text))
        sessions.change(tx, session_id, last_word_at=tx.at, updated_at=tx.at, ending=Ending.NONE)
        if answer is not None:
            approval_id, verdict = answer
            outcome = settle_in(
                tx, approval_id, verdict, moment, judged, by=by, route=Route.CHAT, digest=None, scope=None,
                note=text if verdict is Verdict.DENY else None, minutes=minutes,
            )  # fmt: skip
            if outcome.changed is not None:
                messages.add(
                    tx, session_id, Role.EVENT, Origin.DECISION, text=telling.changed_since_shown(outcome.changed),
                    code="changed_since_shown",
                )  # fmt: skip
        elif _assents_to_destruction(tx, session_id, text):
            messages.add(
                tx, session_id, Role.EVENT, Origin.DECISION, text=telling.destroy_needs_card(),
                code="not_approved_by_chat",
            )  # fmt: skip
        sessions.make_due(tx, session_id)
        return message


def _judge_pending(store: Store, session_id: str) -> Judged:
    with store.read() as connection:
        pending = approvals.of_session(connection, session_id, ApprovalState.PENDING)
    return judge(store, tuple(approval.id for approval in pending))


def _answer(tx: Tx, session_id: str, text: str) -> tuple[str, Verdict] | None:
    """The one open question and the verdict, where the text is an answer to it.

    Once the agent has spoken again, a "yes" may well answer something else: then only the card decides.
    """
    pending = approvals.of_session(tx.c, session_id, ApprovalState.PENDING)
    if len(pending) != 1 or _asked_in(tx, pending[0]) != messages.last_of_agent(tx.c, session_id):
        return None
    reading = read(text)
    if reading is Reading.DENIAL:
        return pending[0].id, Verdict.DENY
    if reading is Reading.ASSENT and pending[0].risk is not Risk.DESTROY:
        return pending[0].id, Verdict.APPROVE
    return None


def _asked_in(tx: Tx, approval: Approval) -> str | None:
    """The agent's message that asked the question."""
    if approval.execution_id is not None:
        return executions.get(tx.c, approval.execution_id).message_id
    return None if approval.plan_id is None else plans.get(tx.c, approval.plan_id).message_id


def _assents_to_destruction(tx: Tx, session_id: str, text: str) -> bool:
    pending = approvals.of_session(tx.c, session_id, ApprovalState.PENDING)
    return any(approval.risk is Risk.DESTROY for approval in pending) and read(text) is Reading.ASSENT
