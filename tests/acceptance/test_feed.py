"""The feed as the contract says it: headers, cursors, filters, control frames, and the end of the process."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness import answers
from tests.harness.api import Api, Feed
from tests.harness.folding import seq_of
from tests.harness.lab import Lab, Talk, asks
from tests.harness.stack import Stack
from tests.harness.wait import wait_for

STREAMS = 100


@pytest.fixture
def talk(lab: Lab) -> Talk:
    """A session in which something has happened."""
    spoken = lab.talk("look", asks("uptime"), answers.text("All is well."))
    spoken.until_state("idle")
    return spoken


def controls(feed: Feed, name: str) -> list[Any]:
    """The data of the control frames of one name."""
    return [frame.data for frame in list(feed.frames) if frame.name == name]


def caught_up(feed: Feed) -> Feed:
    """The same feed once it has replayed all there was."""
    feed.until(lambda f: controls(f, "current"), "the end of the replay")
    return feed


def test_headers_and_what_comes_at_once(lab: Lab, talk: Talk) -> None:
    feed = caught_up(lab.api.feed("/events"))
    assert feed.status == 200
    assert feed.headers["content-type"] == "text/event-stream"
    assert feed.headers["cache-control"] == "no-cache, no-transform"
    assert feed.headers["x-accel-buffering"] == "no"
    assert feed.frames[0].name == "comment"
    assert feed.retry == 2000
    assert feed.events == [], "without a cursor a stream begins now"
    feed.cut()


def test_every_event_has_an_id_and_the_whole_envelope(lab: Lab, talk: Talk) -> None:
    feed = caught_up(talk.feed("?after=0"))
    feed.cut()
    epoch = talk.snapshot["seq"].partition(".")[0]
    numbers = []
    for frame in feed.frames:
        if frame.name == "message":
            assert frame.id == frame.data["id"]
            assert frame.data["id"].partition(".")[0] == epoch
            numbers.append(seq_of(frame.data["id"]))
            assert {*frame.data} >= {"specversion", "id", "source", "type", "subject", "time", "data"}
            assert frame.data["specversion"] == "1.0"
            assert frame.data["type"].startswith("nomos.")
        else:
            assert frame.id is None, "a control frame is never a cursor"
    assert numbers == sorted(set(numbers))
    assert len(numbers) > 5


@pytest.mark.parametrize("how", ["after", "header"])
@pytest.mark.parametrize("case", ["epoch", "ahead", "nonsense"])
def test_a_cursor_that_cannot_be_used_gives_a_reset(lab: Lab, talk: Talk, how: str, case: str) -> None:
    epoch = talk.snapshot["seq"].partition(".")[0]
    cursor = {"epoch": "other.5", "ahead": f"{epoch}.999999999", "nonsense": "what is this"}[case]
    path = f"/sessions/{talk.id}/events"
    if how == "after":
        feed = lab.api.feed(f"{path}?after={cursor.replace(' ', '%20')}")
    else:
        feed = lab.api.feed(path, last_event_id=cursor)
    caught_up(feed).cut()
    [told] = controls(feed, "reset")
    assert told["snapshot"] == f"/api/v1/sessions/{talk.id}"
    assert lab.api.call("GET", "//" + told["snapshot"].lstrip("/")).status == 200
    assert feed.events == []


def test_a_cursor_is_taken_up_where_it_stands_and_the_header_goes_before_the_query(lab: Lab, talk: Talk) -> None:
    whole = caught_up(talk.feed("?after=0"))
    whole.cut()
    ids = [frame.id for frame in whole.frames if frame.name == "message"]
    rest = caught_up(lab.api.feed(f"/sessions/{talk.id}/events?after={ids[0]}", last_event_id=ids[3]))
    rest.cut()
    assert [frame.id for frame in rest.frames if frame.name == "message"] == ids[4:]


def test_filters(lab: Lab, talk: Talk) -> None:
    def told(query: str) -> list[Any]:
        feed = caught_up(lab.api.feed(f"/events?after=0&session={talk.id}{query}"))
        feed.cut()
        return feed.events

    kinds = {event["type"] for event in told("")}
    assert "nomos.execution.output" not in kinds, "the global feed has no output unless it is asked for"
    assert "nomos.execution.output" in {event["type"] for event in told("&output=1")}
    assert {event["type"] for event in told("&types=execution")} == {"nomos.execution.changed"}
    assert {event["type"] for event in told("&types=nomos.session.changed,block")} == {
        "nomos.session.changed", "nomos.block.changed",
    }  # fmt: skip
    assert {event["data"]["host"] for event in told("&host=lab")} == {"lab"}
    assert told("&host=elsewhere") == []
    problem = lab.api.get("/events?types=weather")
    assert (problem.status, problem.json["field"]) == (400, "types")


def test_a_hundred_idle_streams_hold_no_database_connection(lab: Lab, talk: Talk) -> None:
    database = str(lab.stack.home / "nomos.db")
    before = _open_files(lab.stack, database)
    feeds = [caught_up(lab.api.feed("/events")) for _ in range(STREAMS)]
    wait_for(lambda: _open_files(lab.stack, database) <= before + 2, 10, "the replays' connections to be given back")
    began = time.monotonic()
    assert lab.api.get("/sessions").status == 200
    assert time.monotonic() - began < 5
    fresh = lab.api.new_session()
    for feed in feeds:
        feed.until(lambda f: any(data["id"] == fresh for data in f.of("session.changed")), "the new session")
    for feed in feeds:
        feed.cut()


def _open_files(stack: Stack, path: str) -> int:
    """How often the web process and its children have a file open."""
    assert stack.web is not None
    count = 0
    for folder in Path("/proc").glob("[0-9]*/fd"):
        try:
            if os.getpgid(int(folder.parent.name)) != stack.web.pid:
                continue
            count += sum(str(entry.readlink()) == path for entry in folder.iterdir())
        except OSError:
            continue
    return count


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A Nomos of this module's own, whose processes may be ended."""
    with Stack(tmp_path_factory.mktemp("feed")) as stack:
        yield stack


def test_the_end_of_the_web_process_is_said_and_quick(own: Stack) -> None:
    feeds = [caught_up(own.api.feed("/events")) for _ in range(3)]
    session_id = own.api.new_session()
    for feed in feeds:
        feed.until(lambda f: f.of("session.changed"), "the new session")
    cursor = feeds[0].cursor
    began = time.monotonic()
    assert own.web is not None
    own.web.stop()
    assert time.monotonic() - began < 6
    for feed in feeds:
        assert feed.ended.wait(5)
        assert controls(feed, "bye")
        feed.cut()
    own.start_web()
    own.api = Api(own.url, own.api.token)
    feed = caught_up(own.api.feed("/events", last_event_id=cursor))
    assert not controls(feed, "reset"), "a cursor outlives the process"
    feed.cut()
    assert own.api.snapshot(session_id)["session"]["id"] == session_id


def test_the_page_is_told_within_ten_seconds_that_the_worker_is_away_and_when_it_is_back(own: Stack) -> None:
    feed = caught_up(own.api.feed("/events"))
    feed.until(lambda f: [h["worker"] for h in controls(f, "health")][-1:] == ["ok"], "the worker to be seen")
    assert own.worker is not None
    own.worker.kill()
    began = time.monotonic()
    feed.until(lambda f: controls(f, "health")[-1]["worker"] == "away", "the word that the worker is away")
    assert time.monotonic() - began < 10.5
    assert controls(feed, "health")[-1]["since"]
    assert own.api.get("/summary").json["status"] == "degraded"
    session_id = own.api.new_session()
    assert own.api.say(session_id, "hello").status == 202, "what is said meanwhile is kept"
    own.start_worker()
    feed.until(lambda f: controls(f, "health")[-1]["worker"] == "ok", "the word that it is back")
    own.api.until(session_id, lambda s: len(s["messages"]) > 1 and s["messages"][-1]["status"] == "done", "an answer")
    feed.cut()


def test_ready_names_what_is_missing(own: Stack) -> None:
    wait_for(lambda: "worker" not in own.api.get("//readyz").json["failing"], 20, "the worker to be seen")
    assert "database" not in own.api.get("//readyz").json["failing"]
    assert own.api.get("//healthz").json == {"status": "ok"}
    metrics = own.api.get("//metrics").text
    assert "nomos_worker_heartbeat_age_seconds" in metrics
