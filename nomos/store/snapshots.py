"""One consistent read of a session, with the journal's number at that instant."""

from __future__ import annotations

from sqlalchemy import Connection

from nomos.domain.snapshots import SessionSnapshot
from nomos.store import approvals, executions, journal, messages, output, plans, sessions, windows

OUTPUT_TAIL = 32 * 1024  # bytes of each execution's output that a page starts with


def session(c: Connection, session_id: str, *, limit: int | None = None, before: int | None = None) -> SessionSnapshot:
    """The newest ``limit`` messages of a session (older than position ``before``) and all else of it.

    :raises NotFound: there is no such session.
    """
    value = sessions.get(c, session_id)
    page = messages.page(c, session_id, before=before, limit=None if limit is None else limit + 1)
    older = limit is not None and len(page) > limit
    if older:
        page = page[1:]
    shown = {message.id for message in page}
    runs = executions.of_session(c, session_id)
    if limit is not None or before is not None:
        runs = tuple(run for run in runs if run.message_id in shown)
    proposed = plans.of_session(c, session_id)
    return SessionSnapshot(
        session=value,
        messages=page,
        executions=runs,
        approvals=approvals.of_session(c, session_id),
        plan=proposed[-1] if proposed else None,
        plans=tuple(plan for plan in proposed if plan.message_id in shown),
        window=windows.latest(c, session_id),
        outputs=tuple(output.tail(c, run, OUTPUT_TAIL) for run in runs if run.output_bytes),
        seq=journal.head(c).seq,
        older=older,
    )
