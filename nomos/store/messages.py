"""Messages, their blocks, and the model's raw answers."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, delete, func, select, update

from nomos.domain.events import Type
from nomos.domain.messages import (
    OPEN,
    TRANSITIONS,
    Answer,
    Block,
    BlockKind,
    Message,
    MessageStatus,
    Origin,
    Role,
)
from nomos.domain.replies import Reply
from nomos.errors import Conflict, NotFound
from nomos.store.rows import answers, blocks, messages
from nomos.store.transaction import AnyRow, Tx


def _block(row: AnyRow) -> Block:
    return Block(
        id=row.id,
        message_id=row.message_id,
        position=row.position,
        kind=BlockKind(row.kind),
        step=row.step,
        text=row.text,
        code=row.code,
        name=row.name,
        call_id=row.call_id,
        input=row.input,
        execution_id=row.execution_id,
        result=row.result,
        is_error=row.is_error,
    )


def _message(row: AnyRow, parts: Sequence[Block]) -> Message:
    return Message(
        id=row.id,
        session_id=row.session_id,
        position=row.position,
        role=Role(row.role),
        origin=Origin(row.origin),
        status=MessageStatus(row.status),
        created_at=row.created_at,
        client_id=row.client_id,
        blocks=tuple(parts),
    )


def _with_blocks(c: Connection, rows: Sequence[AnyRow]) -> tuple[Message, ...]:
    ids = [row.id for row in rows]
    parts: dict[str, list[Block]] = {message_id: [] for message_id in ids}
    for start in range(0, len(ids), 500):  # SQLite bounds the number of parameters
        chosen = select(blocks).where(blocks.c.message_id.in_(ids[start : start + 500]))
        for row in c.execute(chosen.order_by(blocks.c.message_id, blocks.c.position)):
            parts[row.message_id].append(_block(row))
    return tuple(_message(row, parts[row.id]) for row in rows)


def add(
    tx: Tx,
    session_id: str,
    role: Role,
    origin: Origin,
    *,
    text: str | None = None,
    code: str | None = None,
    client_id: str | None = None,
) -> Message:
    """Add a message at the end: the operator's or an event with its ``text``, or the agent's empty placeholder."""
    message_id = str(uuid.uuid4())
    last = select(func.coalesce(func.max(messages.c.position), 0)).where(messages.c.session_id == session_id)
    tx.c.execute(
        messages.insert().values(
            id=message_id,
            session_id=session_id,
            position=tx.c.execute(last).scalar_one() + 1,
            role=role,
            origin=origin,
            status=MessageStatus.THINKING if role is Role.AGENT else MessageStatus.DONE,
            client_id=client_id,
            created_at=tx.at,
        )
    )
    if text is not None:
        add_block(tx, message_id, BlockKind.TEXT, text=text, code=code, quiet=True)
    tx.touch(Type.MESSAGE_CHANGED, message_id)
    tx.touch_session(session_id)
    return get(tx.c, message_id)


def get(c: Connection, message_id: str) -> Message:
    """:raises NotFound: there is none."""
    row = c.execute(select(messages).where(messages.c.id == message_id)).one_or_none()
    if row is None:
        raise NotFound("There is no such message.")
    return _with_blocks(c, [row])[0]


def by_client_id(c: Connection, session_id: str, client_id: str) -> Message | None:
    """The message that the browser sent under this id."""
    row = c.execute(
        select(messages).where(messages.c.session_id == session_id, messages.c.client_id == client_id)
    ).one_or_none()
    return None if row is None else _with_blocks(c, [row])[0]


def page(c: Connection, session_id: str, *, before: int | None = None, limit: int | None = None) -> tuple[Message, ...]:
    """Messages in order; with ``limit`` the newest so many, with ``before`` only those of a lower position."""
    statement = select(messages).where(messages.c.session_id == session_id)
    if before is not None:
        statement = statement.where(messages.c.position < before)
    statement = statement.order_by(messages.c.position.desc())
    rows = c.execute(statement if limit is None else statement.limit(limit)).all()
    return _with_blocks(c, rows[::-1])


def open_turn(c: Connection, session_id: str) -> Message | None:
    """The agent message whose turn has not ended."""
    row = c.execute(
        select(messages).where(messages.c.session_id == session_id, messages.c.status.in_(OPEN))
    ).one_or_none()
    return None if row is None else _with_blocks(c, [row])[0]


def last_of_agent(c: Connection, session_id: str) -> str | None:
    """The id of the agent's newest message."""
    statement = select(messages.c.id).where(messages.c.session_id == session_id, messages.c.role == Role.AGENT)
    return c.execute(statement.order_by(messages.c.position.desc()).limit(1)).scalar_one_or_none()


def unanswered(c: Connection, session_id: str) -> bool:
    """Whether the operator wrote something after the last turn began."""
    last_turn = (
        select(func.coalesce(func.max(messages.c.position), 0))
        .where(messages.c.session_id == session_id, messages.c.role == Role.AGENT)
        .scalar_subquery()
    )
    waiting = (
        select(func.count())
        .select_from(messages)
        .where(
            messages.c.session_id == session_id,
            messages.c.role == Role.OPERATOR,
            messages.c.origin == Origin.OPERATOR,
            messages.c.position > last_turn,
        )
    )
    return c.execute(waiting).scalar_one() > 0


def set_status(tx: Tx, message_id: str, status: MessageStatus) -> None:
    """Change an agent message's status, only along a drawn arrow.

    :raises Conflict: there is no such arrow.
    """
    before = [state for state, after in TRANSITIONS.items() if status in after]
    row = tx.c.execute(
        update(messages)
        .where(messages.c.id == message_id, messages.c.status.in_(before))
        .values(status=status)
        .returning(messages.c.session_id)
    ).one_or_none()
    if row is None:
        raise Conflict(f"This message cannot become {status} any more. Nothing was changed.")
    tx.touch(Type.MESSAGE_CHANGED, message_id)
    tx.touch_session(row.session_id)


def counts(c: Connection, message_id: str) -> tuple[int, int]:
    """How often the present step was asked in vain, and how often the turn was put off."""
    row = c.execute(select(messages.c.tries, messages.c.waits).where(messages.c.id == message_id)).one()
    return row.tries, row.waits


def set_counts(tx: Tx, message_id: str, *, tries: int, waits: int) -> None:
    """Store them, so that a crash does not reset the budget."""
    tx.c.execute(update(messages).where(messages.c.id == message_id).values(tries=tries, waits=waits))


def add_block(
    tx: Tx,
    message_id: str,
    kind: BlockKind,
    *,
    step: int = 0,
    text: str = "",
    code: str | None = None,
    name: str | None = None,
    call_id: str | None = None,
    input_: Mapping[str, Any] | None = None,
    quiet: bool = False,
) -> Block:
    """Add a block at the message's end. ``quiet``: its message is recorded as a whole anyway."""
    last = select(func.coalesce(func.max(blocks.c.position), -1)).where(blocks.c.message_id == message_id)
    block = Block(
        id=str(uuid.uuid4()),
        message_id=message_id,
        position=tx.c.execute(last).scalar_one() + 1,
        kind=kind,
        step=step,
        text=text,
        code=code,
        name=name,
        call_id=call_id,
        input=input_,
    )
    tx.c.execute(
        blocks.insert().values(
            id=block.id,
            message_id=message_id,
            position=block.position,
            kind=kind,
            step=step,
            text=text,
            code=code,
            name=name,
            call_id=call_id,
            input=None if input_ is None else dict(input_),
        )
    )
    if not quiet:
        tx.touch(Type.BLOCK_CHANGED, block.id)
    return block


def get_block(c: Connection, block_id: str) -> Block:
    """:raises NotFound: there is none."""
    row = c.execute(select(blocks).where(blocks.c.id == block_id)).one_or_none()
    if row is None:
        raise NotFound("There is no such block.")
    return _block(row)


def change_block(tx: Tx, block_id: str, **values: object) -> None:
    """Set columns of a block and note the change."""
    tx.c.execute(update(blocks).where(blocks.c.id == block_id).values(**values))
    tx.touch(Type.BLOCK_CHANGED, block_id)


def append_text(tx: Tx, block_id: str, session_id: str, piece: str) -> bool:
    """Let a block's text grow by ``piece`` (no NUL in it). False: the block is gone, its attempt was given up."""
    row = tx.c.execute(
        update(blocks)
        .where(blocks.c.id == block_id)
        .values(text=blocks.c.text.concat(piece))
        .returning(blocks.c.message_id, func.length(blocks.c.text))
    ).one_or_none()
    if row is None:
        return False
    offset = row[1] - len(piece)
    data = {"message_id": row.message_id, "block_id": block_id, "offset": offset, "text": piece}
    tx.record(Type.MESSAGE_DELTA, block_id, data, session_id=session_id)
    return True


def remove_blocks(tx: Tx, session_id: str, removed: Sequence[Block]) -> None:
    """Take blocks out again: an attempt that is not to be seen any more."""
    for block in removed:
        tx.c.execute(delete(blocks).where(blocks.c.id == block.id))
        data = {
            "id": block.id,
            "message_id": block.message_id,
            "position": block.position,
            "kind": block.kind,
            "step": block.step,
            "removed": True,
        }
        tx.record_removal(Type.BLOCK_CHANGED, block.id, data, session_id=session_id)


def add_answer(tx: Tx, message_id: str, step: int, reply: Reply, nudge: str | None) -> None:
    """Store one raw answer of the model, as received."""
    tx.c.execute(
        answers.insert().values(
            message_id=message_id,
            step=step,
            content=[dict(part) for part in reply.content],
            stop_reason=reply.stop_reason or "",
            nudge=nudge,
            model=reply.model,
            input_tokens=reply.usage.input_tokens,
            output_tokens=reply.usage.output_tokens,
            cache_read_tokens=reply.usage.cache_read_tokens,
            cache_creation_tokens=reply.usage.cache_creation_tokens,
            created_at=tx.at,
        )
    )


def all_answers(c: Connection, session_id: str) -> tuple[Answer, ...]:
    """Every raw answer of a session, in order."""
    statement = (
        select(answers, messages.c.position)
        .join(messages, messages.c.id == answers.c.message_id)
        .where(messages.c.session_id == session_id)
        .order_by(messages.c.position, answers.c.step)
    )
    return tuple(
        Answer(row.message_id, row.step, tuple(row.content), row.stop_reason, row.nudge) for row in c.execute(statement)
    )
