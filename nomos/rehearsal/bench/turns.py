"""Measures turns and executions from outside: what is sent, and when the feed has what follows from it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from nomos.rehearsal.bench.answers import ask_to_run, ask_to_speak
from nomos.rehearsal.bench.client import Feed, Seen
from nomos.rehearsal.bench.rounds import counted
from nomos.rehearsal.bench.stage import Stage

_LINES = 12  # that a command prints
_PAUSE = 0.037  # seconds between two of them; no multiple of the pause between two commits
_PIECES = 15  # of text that the model says in one answer

Values = Mapping[str, list[float]]
_Fits = Callable[[Seen], bool]


def _placeholder(session_id: str, origin: str = "operator") -> _Fits:
    def fits(seen: Seen) -> bool:
        data = seen.data
        is_agents = seen.type == "nomos.message.changed" and data["role"] == "agent" and data["origin"] == origin
        return is_agents and data["session_id"] == session_id and data["status"] == "thinking"

    return fits


def _turn_end(placeholder: Seen) -> _Fits:
    def fits(seen: Seen) -> bool:
        is_its = seen.type == "nomos.message.changed" and seen.data["id"] == placeholder.data["id"]
        return is_its and seen.data["status"] in {"done", "failed", "stopped"}

    return fits


def _execution(session_id: str, *states: str) -> _Fits:
    def fits(seen: Seen) -> bool:
        is_ours = seen.type == "nomos.execution.changed" and seen.data["session_id"] == session_id
        return is_ours and seen.data["state"] in states

    return fits


def _question(session_id: str) -> _Fits:
    return lambda seen: seen.type == "nomos.approval.changed" and seen.data["session_id"] == session_id


def _stamps(feed: Feed, type_: str, after: int, about: str, id_: str) -> list[tuple[float, float]]:
    """All times that stand in what grew, each with the time at which its last character came."""
    text, found = "", list[tuple[float, float]]()
    for seen in feed.every(lambda s: s.type == type_ and s.data[about] == id_, after):
        text += seen.data["text"]
        *whole, text = text.replace("\n", " ").split(" ")
        found += [(float(stamp), seen.at) for stamp in whole]
    return found


def placeholders(stage: Stage, rounds: int) -> Values:
    """``placeholder``: sessions one after the other; each turn has ended before the next one begins."""
    values: list[float] = []
    with Feed(stage.client) as feed:
        for _ in counted(rounds):
            session_id, place = stage.client.new_session(), feed.place
            sent = time.monotonic()
            stage.client.say(session_id, "Say something.")
            seen = feed.first("a placeholder", _placeholder(session_id), place)
            values.append((seen.at - sent) * 1000)
            feed.first("the end of a turn", _turn_end(seen), seen.place)
    return {"placeholder": values}


def texts(stage: Stage, rounds: int) -> Values:
    """``text``: the model says the time at which it speaks."""
    values: list[float] = []
    with Feed(stage.client) as feed:
        for _ in counted(rounds):
            session_id, place = stage.client.new_session(), feed.place
            stage.client.say(session_id, ask_to_speak(_PIECES))
            message = feed.first("a placeholder", _placeholder(session_id), place)
            feed.first("the end of a turn", _turn_end(message), message.place)
            stamps = _stamps(feed, "nomos.message.delta", place, "message_id", message.data["id"])
            values += [(arrived - sent) * 1000 for sent, arrived in stamps]
    return {"text": values}


def executions(stage: Stage, rounds: int) -> Values:
    """``decision``, ``line``, ``end``, ``continuation``: a command that waits for approval, prints and ends.

    Half as many rounds: one takes as long as many of the others, and brings many lines.
    """
    values: dict[str, list[float]] = {name: [] for name in ("decision", "line", "end", "continuation")}
    with Feed(stage.client) as feed:
        for _ in counted(max(1, rounds // 2)):
            _one_execution(stage, feed, values)
    return values


def _one_execution(stage: Stage, feed: Feed, values: Mapping[str, list[float]]) -> None:
    session_id, place = stage.client.new_session(), feed.place
    stage.client.say(session_id, ask_to_run(f"ticker {_LINES} {_PAUSE}"))
    turn = feed.first("a placeholder", _placeholder(session_id), place)
    approval = feed.first("an approval", _question(session_id), turn.place).data
    feed.first("the wait for the operator", _turn_end(turn), turn.place)
    decided = time.monotonic()
    decision = {"verdict": "approve", "scope": "once", "digest": approval["digest"]}
    stage.client.call("PUT", f"/api/v1/approvals/{approval['id']}/decision", decision)
    running = feed.first("a running execution", _execution(session_id, "running"), turn.place)
    values["decision"].append((running.at - decided) * 1000)
    ended = feed.first("an execution's end", _execution(session_id, "succeeded", "failed", "unknown"), running.place)
    after = feed.first("a continuation", _placeholder(session_id, "continuation"), running.place)
    values["continuation"].append((after.at - ended.at) * 1000)
    stamps = _stamps(feed, "nomos.execution.output", place, "execution_id", ended.data["id"])
    values["line"].extend((arrived - printed) * 1000 for printed, arrived in stamps)
    values["end"].append((ended.at - stamps[-1][0]) * 1000)
