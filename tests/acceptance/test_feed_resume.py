"""Nothing is missed on the page: whatever the wire does, a client that folds events arrives at the snapshot."""

from __future__ import annotations

import random
import shlex
import time
from pathlib import Path
from typing import Any

from tests.harness import answers
from tests.harness.api import Feed
from tests.harness.folding import Folded, differences, view_of
from tests.harness.lab import Lab, Talk, asks
from tests.harness.model_server import Held
from tests.harness.wait import wait_for

CUTS = 50
LONG = "Ünïcödé wörds, one after the other, 😀 and on it goes. " * 12


class Lively:
    """A session in which much happens by itself: ``go_on`` ends its command, ``finish`` lets its last answer go."""

    def __init__(self, lab: Lab) -> None:
        self._flag: Path = lab.file()
        flag = shlex.quote(str(self._flag))
        self._last: Held = lab.model.hold(answers.text(LONG), after=9)
        self.talk: Talk = lab.talk(
            "begin",
            asks(f"{lab.changing}; while [ ! -e {flag} ]; do date; echo 'zwölf €'; sleep 0.03; done"),
            answers.text("I wait."),
            answers.thinking("Let me see.", "Looking.", ("list_hosts", {})),
            answers.slow(LONG, pace=0.005),
            self._last,
        )
        self.talk.until_turns(1)

    def begin(self) -> None:
        """Approve the command."""
        self.talk.approve()

    def go_on(self) -> None:
        """End the command; a continuation follows, and the operator speaks into it."""
        self._flag.touch()
        self.talk.say("and then?")

    def finish(self) -> Any:
        """Let everything end. Returns the snapshot."""
        self._last.release()
        return self.talk.until_state("idle")


def arrive(feed: Feed, count: int, patience: float) -> None:
    """Give the feed the chance to bring so many events; it may be in a quiet moment."""
    deadline = time.monotonic() + patience
    wait_for(lambda: len(feed.events) >= count or time.monotonic() > deadline, 30, "events")


def fold(folded: Folded, feed: Feed) -> None:
    """Apply what a stream brought. It may have been cut in the middle of a frame, which then is not one."""
    assert not any(frame.name == "reset" for frame in feed.frames)
    for frame in feed.frames:
        if frame.name == "message":
            assert frame.id is not None
            folded.apply(frame.id, frame.data)


def caught_up(talk: Talk, cursor: str) -> Feed:
    """A stream from ``cursor`` that has replayed all there is."""
    feed = talk.feed(f"?after={cursor}")
    feed.until(lambda f: any(frame.name == "current" for frame in f.frames), "the replay")
    feed.cut()
    return feed


def test_a_stream_cut_fifty_times_leaves_neither_gap_nor_repeat(lab: Lab) -> None:
    chance = random.Random(20261201)
    lively = Lively(lab)
    talk = lively.talk
    folded = Folded(talk.snapshot)
    begin = folded.cursor
    uncut = talk.feed(f"?after={begin}")
    lively.begin()
    for number in range(CUTS):
        if number == CUTS // 2:
            lively.go_on()
        feed = lab.api.feed(f"/sessions/{talk.id}/events", last_event_id=folded.cursor)
        arrive(feed, chance.randrange(12), patience=0.2)
        feed.cut()
        fold(folded, feed)
    assert len(folded.seen) > CUTS, "the wire was cut while much was happening"
    snapshot = lively.finish()
    fold(folded, caught_up(talk, folded.cursor))
    assert not differences(folded.view(), view_of(snapshot))
    uncut.until(lambda f: f.cursor == folded.cursor, "the stream that was never cut")
    uncut.cut()
    assert folded.seen == [frame.id for frame in uncut.frames if frame.name == "message"], "each once, in order"


def test_a_reload_in_mid_turn_shows_the_same_timeline(lab: Lab) -> None:
    chance = random.Random(7)
    lively = Lively(lab)
    talk = lively.talk
    lively.begin()
    clients: list[tuple[Folded, Feed]] = []
    for number in range(12):
        if number == 6:
            lively.go_on()
        folded = Folded(talk.snapshot)
        clients.append((folded, talk.feed(f"?after={folded.cursor}")))
        arrive(clients[-1][1], chance.randrange(8), patience=0.3)
    snapshot = lively.finish()
    last = caught_up(talk, clients[-1][0].cursor).cursor
    for folded, feed in clients:
        feed.until(lambda f: f.cursor == last, "the end of the story")
        feed.cut()
        fold(folded, feed)
        assert not differences(folded.view(), view_of(snapshot))
