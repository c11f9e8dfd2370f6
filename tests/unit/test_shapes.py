"""The shapes of the contract: exactly these fields."""

from __future__ import annotations

import json
from datetime import timedelta, timezone
from typing import Any

import pytest

from nomos.domain import shapes
from nomos.domain.approvals import ApprovalState
from nomos.domain.events import GROWING, Entry, Type, envelope
from nomos.domain.executions import Risk
from nomos.domain.hosts import Host, HostState
from nomos.domain.messages import Block, BlockKind, Message, MessageStatus, Origin, Role
from nomos.domain.plans import Step
from nomos.domain.sessions import Session, SessionState
from nomos.domain.snapshots import Output
from tests.harness.values import MINUTE, NOW, approval, execution, plan, window

SESSION = Session("s", "A title", SessionState.WORKING, NOW, NOW + MINUTE)
CALL = Block("b", "m", 1, BlockKind.TOOL_CALL, name="run", call_id="c", input={"host": "nas"}, result="ok")
TEXT = Block("t", "m", 0, BlockKind.TEXT, text="hello")
NOTICE = Block("n", "m", 2, BlockKind.NOTICE, text="stopped", code="stopped")
MESSAGE = Message("m", "s", 3, Role.AGENT, Origin.OPERATOR, MessageStatus.DONE, NOW, blocks=(TEXT, CALL, NOTICE))
HOST = Host("h", "nas", "10.0.0.2", 22, "root", HostState.REACHABLE, NOW, host_key="ssh-ed25519 AAAA", key_path="/k")


def fields(shape: Any) -> set[str]:
    return set(json.loads(json.dumps(shape)))


def test_times_are_utc_with_milliseconds() -> None:
    assert shapes.time(NOW + timedelta(microseconds=1234)) == "2026-12-01T13:00:00.001Z"
    assert shapes.time(None) is None


def test_session() -> None:
    assert shapes.session(SESSION) == {
        "id": "s", "title": "A title", "state": "working", "created_at": "2026-12-01T13:00:00.000Z",
        "updated_at": "2026-12-01T13:01:00.000Z", "archived": False,
    }  # fmt: skip


def test_message_and_its_blocks() -> None:
    shape = shapes.message(MESSAGE)
    assert fields(shape) >= {"id", "session_id", "role", "origin", "status", "client_id", "created_at", "blocks"}
    assert [block["kind"] for block in shape["blocks"]] == ["text", "tool_call", "notice"]
    common = {"id", "message_id", "position", "kind", "step"}
    assert fields(shapes.block(TEXT)) == common | {"text"}
    assert fields(shapes.block(NOTICE)) == common | {"text", "code"}
    assert fields(shapes.block(CALL)) == common | {"name", "input", "execution_id", "result", "is_error"}


def test_a_call_without_input_yet_has_an_empty_one() -> None:
    assert shapes.block(Block("b", "m", 0, BlockKind.TOOL_CALL, name="run"))["input"] == {}


def test_execution() -> None:
    assert fields(shapes.execution(execution())) >= set(
        "id session_id message_id host command reason risk state exit_code queued_at started_at ended_at continued_at "
        "output_bytes truncated approval_id digest".split()
    )
    assert shapes.execution(execution(omitted_from=3, omitted_to=9))["omitted"] == {"from": 3, "to": 9}


def test_approval() -> None:
    assert fields(shapes.approval(approval())) >= set(
        "id session_id state kind execution_id plan_id risk title command host reason digest scopes requested_at "
        "decided_at decided_by route note".split()
    )
    assert shapes.approval(approval(ApprovalState.DENIED))["scopes"] == ["once", "window"]


def test_plan() -> None:
    shape = shapes.plan(plan(Step("nas", "uptime", Risk.READ, "to look")))
    assert shape["risk"] == "read"
    (step,) = shape["steps"]
    assert step.items() >= {
        "host": "nas", "command": "uptime", "risk": "read", "why": "to look", "undo": None, "parallel": False,
        "risk_why": "", "edited": False, "asked": None, "approved": True,
    }.items()  # fmt: skip


def test_window() -> None:
    shape = shapes.window(window(used=("e",)), NOW)
    assert shape is not None
    assert fields(shape) >= {"open", "opened_at", "expires_at", "opened_by", "covers", "used"}
    assert fields(shape["covers"]) >= {"hosts", "risk", "plan_id"}
    assert (shape["open"], shape["used"]) == (True, ["e"])
    assert shapes.window(None, NOW) is None


@pytest.mark.parametrize(("changes", "is_open"), [({}, True), ({"ended_at": NOW}, False), ({"expires_at": NOW}, False)])
def test_a_window_is_open_or_not(changes: dict[str, Any], is_open: bool) -> None:
    shape = shapes.window(window(**changes), NOW)
    assert shape is not None
    assert shape["open"] is is_open


def test_a_hosts_keys_stay_inside() -> None:
    shape = shapes.host(HOST)
    assert shape["trusted"] is True
    assert not {"host_key", "key_path", "interpreter", "job_base"} & fields(shape)


def test_output() -> None:
    assert shapes.output(Output("e", 3, 5, "ab")) == {"execution_id": "e", "offset": 3, "end": 5, "text": "ab"}


@pytest.mark.parametrize("type_", Type)
def test_the_envelope_is_cloudevents(type_: Type) -> None:
    event = envelope(Entry(7, type_, "x", "s", None, NOW, {"id": "x"}), "abcd", "http://127.0.0.1:7070")
    assert event == {
        "specversion": "1.0", "id": "abcd.7", "source": "http://127.0.0.1:7070", "type": type_,
        "subject": f"{type_.split('.')[1]}s/x", "time": "2026-12-01T13:00:00.000Z",
        "datacontenttype": "application/json", "data": {"id": "x"},
    }  # fmt: skip
    assert json.loads(json.dumps(event))["type"] == str(type_)


def test_only_pieces_of_text_and_output_grow() -> None:
    assert {Type.MESSAGE_DELTA, Type.EXECUTION_OUTPUT} == GROWING


def test_another_zone_is_still_the_same_instant() -> None:
    there = NOW.astimezone(timezone(timedelta(hours=2)))
    assert shapes.time(there) == shapes.time(NOW) == "2026-12-01T13:00:00.000Z"
