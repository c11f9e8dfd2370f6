"""The same on PostgreSQL: the story, the bound of continuations, and a stream that is cut."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness import answers
from tests.harness.folding import Folded, differences, view_of
from tests.harness.lab import Lab, asks, turns
from tests.harness.postgres import Postgres, running_postgres
from tests.harness.stack import Stack
from tests.harness.story import create, destroy


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with running_postgres() as running:
        yield running


def test_the_story(server: Postgres, tmp_path_factory: pytest.TempPathFactory) -> None:
    with Stack(tmp_path_factory.mktemp("story"), DATABASE_URL=server.database()) as stack:
        session_id = stack.api.new_session()
        begin = Folded(stack.api.snapshot(session_id))
        feed = stack.api.feed(f"/sessions/{session_id}/events?after={begin.cursor}")
        create(stack, session_id, by_chat=True)
        snapshot = destroy(stack, session_id, try_chat=False)
        rest = stack.api.feed(f"/sessions/{session_id}/events?after={begin.cursor}")
        rest.until(lambda f: any(frame.name == "current" for frame in f.frames), "the replay")
        feed.until(lambda f: f.cursor == rest.cursor, "the end of the story")
        for stream in (feed, rest):
            stream.cut()
        assert [frame.id for frame in feed.frames if frame.id] == [frame.id for frame in rest.frames if frame.id]
        for frame in feed.frames:
            if frame.id is not None:
                begin.apply(frame.id, frame.data)
        assert not differences(begin.view(), view_of(snapshot))


def test_continuations_in_one_window_are_bounded(server: Postgres, tmp_path_factory: pytest.TempPathFactory) -> None:
    settings = {"DATABASE_URL": server.database(), "NOMOS_MAX_CONTINUATIONS": "2"}
    with Lab(tmp_path_factory.mktemp("bounded"), **settings) as lab:
        flags = [lab.file() for _ in range(3)]
        steps = [asks(lab.until_file(flag, asynchronous=True)) for flag in flags]
        script = [answer for step in steps for answer in (step, answers.text("It runs."))]
        talk = lab.talk("do", *script, answers.text("Enough."))
        talk.approve(scope="window")
        for number in range(2):
            flags[number].touch()
            talk.until_turns(number + 2)
        flags[2].touch()
        snapshot = talk.until_state("parked")
        assert snapshot["window"]["open"]
        assert len(turns(snapshot)) == 3
        assert "continuations_used_up" in {block.get("code") for m in snapshot["messages"] for block in m["blocks"]}
        talk.say("go on")
        assert talk.until_turns(4)[-1]["status"] == "done"
        assert not lab.model.unlawful
