"""A commit that took place but whose answer was lost is made again, and what it stored is not stored twice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest

from nomos.actions.growth import Gatherer
from nomos.errors import StoreUnavailable
from nomos.store import executions, output
from nomos.store.engine import Store
from nomos.store.transaction import Tx
from nomos.worker.pump import Pump
from tests.harness.database import NoHints, Templates
from tests.harness.scene import READ, Scene

CAP = 1 << 20


class Forgetful(Store):
    """A store whose connection is lost right after a commit, when told so."""

    lose = False

    @contextmanager
    def write(self, now: datetime) -> Iterator[Tx]:
        with super().write(now) as tx:
            yield tx
        if self.lose:
            self.lose = False
            raise StoreUnavailable


def test_output_of_a_commit_without_an_answer_is_stored_once(tmp_path: Path) -> None:
    database = Templates(tmp_path).sqlite(tmp_path)
    scene = Scene(database.open(), database.clock).begin()
    scene.say("please")
    scene.run(scene.must_turn(), READ, asynchronous=True)
    claim = scene.start()
    engine = database.engine()
    store = Forgetful(engine, NoHints())
    gatherer = Gatherer(store, database.clock, CAP)
    pump = Pump(gatherer, claim, 0)
    pump.take(b"one \xc3")
    store.lose = True
    with pytest.raises(StoreUnavailable):
        gatherer.flush()
    pump.take(b"\xa4 two ")
    gatherer.flush()
    pump.take(b"three")
    pump.end()
    gatherer.flush()
    with store.read() as c:
        execution = executions.get(c, claim.execution_id)
        assert output.whole(c, execution).decode() == "one ä two three"
        assert execution.host_bytes == execution.output_bytes == len("one ä two three".encode())
    store.close()
    database.close()
