"""The output of executions: stored in pieces, head and tail of what is too long.

Offsets count bytes of the whole output. Of more than the cap the middle is dropped as it is pushed out of the tail;
its bytes stay counted, and the host keeps them.
"""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import Connection, delete, func, select, update

from nomos.domain.events import Type
from nomos.domain.executions import Execution
from nomos.domain.snapshots import Output
from nomos.store.rows import executions, output_pieces
from nomos.store.transaction import Tx

PIECE = 64 * 1024  # bytes in one row at most
THIN = 4096  # bytes of a long output that the feed carries at once
THIN_EVERY = timedelta(seconds=0.5)


def append(tx: Tx, execution: Execution, piece: bytes, *, read: int, cap: int) -> None:
    """Store a piece at the end of the output.

    :param piece: whole UTF-8 characters, as far as the output is UTF-8 at all. :param read: bytes of the host's file
        that it stands for. :param cap: bytes stored in all: half of it head, half tail.
    """
    start, end = execution.output_bytes, execution.output_bytes + len(piece)
    values: dict[str, object] = {"host_bytes": execution.host_bytes + read}
    if piece:
        values |= {"output_bytes": end, "last_output_at": tx.at}
        skipped: list[tuple[int, int]] = []
        for offset in range(start, end, PIECE):
            part = piece[offset - start : offset - start + PIECE]
            if _in_middle(offset, offset + len(part), end, cap):
                skipped.append((offset, offset + len(part)))
                continue
            tx.c.execute(
                output_pieces.insert().values(
                    execution_id=execution.id, offset=offset, end=offset + len(part), bytes=part
                )
            )
        values |= _drop_middle(tx, execution, end, cap, skipped)
        values |= _feed(tx, execution, piece, cap // 2)
        if execution.question is not None:
            values |= {"question": None, "question_told": False}
            tx.touch(Type.EXECUTION_CHANGED, execution.id)
    tx.c.execute(update(executions).where(executions.c.id == execution.id).values(**values))


def _in_middle(start: int, stop: int, end: int, cap: int) -> bool:
    """Whether bytes ``start`` to ``stop`` of an output of ``end`` bytes lie between its head and its tail."""
    return end > cap and start >= cap // 2 and stop <= end - cap // 2


def _drop_middle(tx: Tx, execution: Execution, end: int, cap: int, skipped: list[tuple[int, int]]) -> dict[str, object]:
    """Delete what lies between head and tail; ``skipped`` was not stored at all. Returns the columns that say so."""
    if end <= cap:
        return {}
    head, tail_start = cap // 2, end - cap // 2
    doomed = (
        (output_pieces.c.execution_id == execution.id)
        & (output_pieces.c.offset >= head)
        & (output_pieces.c.end <= tail_start)
    )
    lowest, highest = tx.c.execute(
        select(func.min(output_pieces.c.offset), func.max(output_pieces.c.end)).where(doomed)
    ).one()
    if lowest is not None:
        tx.c.execute(delete(output_pieces).where(doomed))
        skipped = [(lowest, highest), *skipped]
    if not skipped:
        return {}
    if not execution.truncated:
        tx.touch(Type.EXECUTION_CHANGED, execution.id)
    first = skipped[0][0] if execution.omitted_from is None else execution.omitted_from
    return {"omitted_from": first, "omitted_to": skipped[-1][1], "truncated": True}


def _feed(tx: Tx, execution: Execution, piece: bytes, head: int) -> dict[str, object]:
    """Tell the feed: all of the head, and of what is beyond only the newest lines now and then."""
    start, end = execution.output_bytes, execution.output_bytes + len(piece)
    fed = tx.c.execute(select(executions.c.fed_bytes, executions.c.fed_at).where(executions.c.id == execution.id)).one()
    offset = fed.fed_bytes if end <= head else max(fed.fed_bytes, end - THIN)
    if end > head and fed.fed_at is not None and tx.at - fed.fed_at < THIN_EVERY:
        return {}
    raw = piece[max(0, offset - start) :]
    offset = max(offset, start)
    cut = _into_character(raw) if offset > start else 0
    data = {
        "execution_id": execution.id,
        "offset": offset + cut,
        "end": end,
        "text": raw[cut:].decode("utf-8", "replace"),
    }
    if offset + cut > fed.fed_bytes:
        data["skipped"] = offset + cut - fed.fed_bytes
    tx.record(Type.EXECUTION_OUTPUT, execution.id, data, session_id=execution.session_id, host=execution.host)
    return {"fed_bytes": end, "fed_at": tx.at}


def _into_character(raw: bytes) -> int:
    """How many bytes at the start of ``raw`` belong to a character that began before it."""
    cut = 0
    while cut < min(3, len(raw)) and raw[cut] & 0xC0 == 0x80:
        cut += 1
    return cut


def read(c: Connection, execution_id: str, offset: int = 0, limit: int | None = None) -> tuple[int, bytes]:
    """Stored output from byte ``offset`` on, ``limit`` bytes at most, and where it begins.

    It ends where the stored middle is missing; asked from within the gap, it begins behind it.
    """
    pieces = select(output_pieces.c.offset, output_pieces.c.end, output_pieces.c.bytes).where(
        output_pieces.c.execution_id == execution_id, output_pieces.c.end > offset
    )
    parts: list[bytes] = []
    begin = at = -1
    for row in c.execute(pieces.order_by(output_pieces.c.offset)):
        if begin < 0:
            begin = max(offset, row.offset)
        elif row.offset != at:
            break
        parts.append(row.bytes[max(0, begin - row.offset) :])
        at = row.end
        if limit is not None and at - begin >= limit:
            break
    whole = b"".join(parts)
    return max(begin, offset), whole if limit is None else whole[:limit]


def whole(c: Connection, execution: Execution) -> bytes:
    """All that is stored, byte for byte; where the middle is missing, one line says so."""
    first, head = read(c, execution.id)
    end = first + len(head)
    if end >= execution.output_bytes:
        return head
    start, rest = read(c, execution.id, end)
    return head + f"\n[… {start - end} bytes left out; the host keeps them for a while …]\n".encode() + rest


def tail(c: Connection, execution: Execution, limit: int) -> Output:
    """The last ``limit`` bytes of the output, from the start of a character on."""
    offset, raw = read(c, execution.id, max(0, execution.output_bytes - limit))
    cut = _into_character(raw) if offset else 0
    return Output(execution.id, offset + cut, offset + len(raw), raw[cut:].decode("utf-8", "replace"))


def for_agent(c: Connection, execution: Execution, limit: int) -> str:
    """Output for the agent: all of it if it is no longer than ``limit`` bytes, else head and tail of what is stored."""
    if execution.output_bytes <= limit:
        text = read(c, execution.id)[1].decode("utf-8", "replace")
    else:
        _, head = read(c, execution.id, 0, limit // 2)
        end = tail(c, execution, limit // 2)
        left_out = end.offset - len(head)
        text = f"{head.decode('utf-8', 'replace')}\n[… {left_out} bytes left out …]\n{end.text}"
    return text.replace("\x00", "\ufffd")
