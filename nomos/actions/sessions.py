"""Sessions: open, rename, archive, stop."""

from __future__ import annotations

from datetime import datetime

from nomos.actions.closing import STOPPED_NOTICE, close_turn
from nomos.actions.executions import request_cancellation
from nomos.domain.executions import UNDER_WAY
from nomos.domain.messages import MessageStatus
from nomos.domain.sessions import Ending, Session
from nomos.domain.telling import STOPPED_CALL
from nomos.errors import InvalidInput
from nomos.store import executions, messages, sessions
from nomos.store.engine import Store

LONGEST_TITLE = 60
UNTITLED = "New session"


def short_title(text: str) -> str:
    """The first line of a text, cut to what a list can show."""
    line = " ".join(text.strip().split("\n", 1)[0].split())
    return line if len(line) <= LONGEST_TITLE else line[: LONGEST_TITLE - 1].rstrip() + "…"


def open_session(store: Store, title: str | None, now: datetime) -> Session:
    """Open a session; without a title it takes the operator's first words later."""
    with store.write(now) as tx:
        session = sessions.add(tx, short_title(title) if title and title.strip() else UNTITLED)
        if title and title.strip():
            sessions.change(tx, session.id, titled_by_operator=True)
        return sessions.get(tx.c, session.id)


def change(store: Store, session_id: str, now: datetime, *, title: str | None, archived: bool | None) -> Session:
    """Rename or archive a session. A name that the operator gave stays.

    :raises NotFound: there is no such session. :raises InvalidInput: the title is blank.
    """
    with store.write(now) as tx:
        sessions.lock(tx, session_id)
        if title is not None:
            if not title.strip():
                raise InvalidInput("title: must not be blank. Nothing was changed.", field="title")
            sessions.change(tx, session_id, title=short_title(title), titled_by_operator=True)
        if archived is not None:
            sessions.change(tx, session_id, archived=archived)
        return sessions.get(tx.c, session_id)


def stop(store: Store, session_id: str, now: datetime, *, with_executions: bool, by: str) -> Session:
    """End the session's turn, and its running executions if asked. Nothing goes on by itself until the operator writes.

    The turn and the executions are shown as ended only once that is confirmed. What was due is due no more: words
    that no turn has answered yet are read with the operator's next ones.
    """
    with store.write(now) as tx:
        sessions.lock(tx, session_id)
        held = sessions.held(tx.c, session_id)
        turn = messages.open_turn(tx.c, session_id)
        if turn is not None and not held:
            close_turn(tx, turn, MessageStatus.STOPPED, open_calls=STOPPED_CALL, notice=STOPPED_NOTICE, code="stopped")
        # Written now and not when the turn has ended: what the operator writes in between takes it back.
        sessions.change(tx, session_id, ending=Ending.STOPPED, stop_requested=turn is not None and held)
        if not held:  # a turn whose worker died has to be found again, to be ended
            sessions.forget_due(tx, session_id)
        if with_executions:
            for execution in executions.of_session(tx.c, session_id):
                if execution.state in UNDER_WAY:
                    request_cancellation(tx, execution, by)
        return sessions.get(tx.c, session_id)
