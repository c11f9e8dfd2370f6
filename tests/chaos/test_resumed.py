"""What becomes due while a turn runs is not forgotten when that turn is cut by a crash, or put off, and goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nomos.actions import turns, workers
from nomos.actions.turns import Turn
from nomos.domain.continuations import Limits
from nomos.domain.executions import Execution
from nomos.domain.messages import Origin
from nomos.store import executions
from tests.harness.database import Templates
from tests.harness.postgres import Postgres
from tests.harness.scene import READ, Scene, reply, text

LIMITS = Limits(assent_minutes=30, max_continuations=50)


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    return Templates(tmp_path_factory.mktemp("templates"))


def crash(scene: Scene, turn: Turn) -> None:
    workers.leave(scene.store, scene.owner, scene.clock.moment())


def put_off(scene: Scene, turn: Turn) -> None:
    turns.put_off(scene.store, turn.claim, turn.message.id, scene.clock.moment(), 60, "The model is away.")
    scene.clock.advance(61)


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
@pytest.mark.parametrize("cut", [crash, put_off])
@pytest.mark.parametrize("before", [True, False])
def test_a_result_that_comes_in_a_cut_turn_is_told_after_it(
    engine: str, cut: Callable[[Scene, Turn], None], before: bool, templates: Templates, postgres: Postgres,
    tmp_path: Path,
) -> None:  # fmt: skip
    database = templates.sqlite(tmp_path) if engine == "sqlite" else templates.postgres(postgres, tmp_path)
    scene = Scene(database.open(), database.clock).begin()
    scene.say("please")
    turn = scene.must_turn()
    block, execution = scene.run(turn, READ, asynchronous=True)
    scene.answer(turn, block, execution)
    ends: list[Execution] = []
    if before:
        ends.append(scene.carry_out())
    cut(scene, turn)
    if not before:
        ends.append(scene.carry_out())

    again = scene.must_turn()
    assert again.resumed
    assert again.message.id == turn.message.id
    scene.accept(again, reply(text("It runs.")))
    scene.end(again)

    then = scene.must_turn()
    assert then.message.origin is Origin.CONTINUATION
    with scene.store.read() as c:
        assert executions.get(c, ends[0].id).continued_at is not None
    scene.accept(then, reply(text("It has ended.")))
    scene.end(then)
    assert scene.turn() is None
    database.close()


def test_words_that_come_in_a_cut_turn_are_answered_after_it(templates: Templates, tmp_path: Path) -> None:
    database = templates.sqlite(tmp_path)
    scene = Scene(database.open(), database.clock).begin()
    scene.say("please")
    turn = scene.must_turn()
    scene.say("and hurry")
    crash(scene, turn)
    again = scene.must_turn()
    assert again.message.id == turn.message.id
    scene.accept(again, reply(text("Yes.")))
    scene.end(again)
    then = scene.must_turn()
    assert then.message.origin is Origin.OPERATOR
    scene.accept(then, reply(text("I hurry.")))
    scene.end(then)
    assert scene.turn() is None
    database.close()
