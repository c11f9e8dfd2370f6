"""100 MB of output on a real SSH server: the worker's memory and its database stay small, the counts are true."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import func, select

from nomos.domain.executions import State
from nomos.store import executions, output
from nomos.store.rows import output_pieces
from tests.harness.database import Templates
from tests.harness.hostwork import HostWork, host_work
from tests.harness.scene import CHANGE, Scene
from tests.harness.sshd import running_sshd

CAP = 10_000_000
LINES = 10_000_000  # of ten bytes each
FIRST = 100_000_000
COMMAND = f"seq {FIRST} {FIRST + LINES - 1}"


@pytest.fixture
def work(tmp_path: Path) -> Iterator[HostWork]:
    with running_sshd(tmp_path / "sshd") as server, host_work(server, tmp_path, cap=CAP) as found:
        yield found


def memory(name: str) -> int:
    """A line of this process's memory, in bytes: VmRSS is what it has, VmHWM the most that it had."""
    found = re.search(rf"^{name}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found
    return int(found[1]) * 1024


def test_the_middle_of_100_mb_is_counted_and_not_kept(work: HostWork) -> None:
    Path("/proc/self/clear_refs").write_text("5")  # forget the most that it had so far
    before = memory("VmRSS")
    ended = work.until_ended(work.ask(COMMAND), timeout=300)
    grown = memory("VmHWM") - before

    assert (ended.state, ended.exit_code, ended.truncated) == (State.SUCCEEDED, 0, True)
    assert (ended.output_bytes, ended.host_bytes) == (LINES * 10, LINES * 10)
    assert grown < 80_000_000
    with work.store.read() as connection:
        tail = output.tail(connection, ended, 20)
        _, head = output.read(connection, ended.id)
    assert tail.text == f"{FIRST + LINES - 2}\n{FIRST + LINES - 1}\n"
    assert (tail.offset, tail.end) == (LINES * 10 - 20, LINES * 10)
    assert head.startswith(b"100000000\n100000001\n")
    assert CAP // 2 <= len(head) <= CAP
    assert (work.folder / "nomos.db").stat().st_size < 3 * CAP


@pytest.mark.parametrize("seed", range(8))
def test_head_and_tail_are_what_was_written_however_it_came(tmp_path: Path, seed: int) -> None:
    chance, cap = random.Random(seed), 300_000
    database = Templates(tmp_path).sqlite(tmp_path)
    store = database.open()
    scene = Scene(store, database.clock).begin()
    scene.plan_approved(CHANGE)
    scene.run(scene.must_turn(), CHANGE)
    claim = scene.start()
    written = b""
    for _ in range(12):
        piece = chance.randbytes(chance.choice([1, 70_000, 200_000, 900_000]))
        written += piece
        with store.write(database.clock.now()) as tx:
            output.append(tx, executions.check(tx, claim), piece, read=len(piece), cap=cap)
        with store.read() as connection:
            now = executions.get(connection, claim.execution_id)
            _, head = output.read(connection, now.id)
            start, tail = output.read(connection, now.id, now.output_bytes - min(cap // 2, now.output_bytes))
            stored = connection.execute(select(func.sum(func.length(output_pieces.c.bytes)))).scalar_one()
        assert now.output_bytes == len(written)
        assert len(head) >= min(cap // 2, len(written))
        assert written.startswith(head)
        assert written[start:] == tail
        assert stored <= cap + 2 * output.PIECE
        assert now.truncated == (stored < len(written))
        if now.truncated:
            assert (now.omitted_from, now.omitted_to) == (len(head), len(written) - (stored - len(head)))
    database.close()
