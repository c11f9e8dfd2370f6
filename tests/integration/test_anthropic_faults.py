"""Each way in which an answer can fail, over real HTTP and with the real SDK: always a fault, always the right kind."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from nomos.errors import FaultKind, ModelFault
from nomos.llm.anthropic_model import AnthropicModel
from nomos.llm.base import ModelRequest, Piece
from tests.harness import answers
from tests.harness.model_server import ScriptedModelServer
from tests.harness.wait import wait_for

HELLO: tuple[dict[str, Any], ...] = ({"role": "user", "content": "Hello."},)
TOOLS: tuple[dict[str, Any], ...] = ({"name": "run", "input_schema": {"type": "object"}},)


@pytest.fixture
def server() -> Iterator[ScriptedModelServer]:
    with ScriptedModelServer() as running:
        yield running


def model(server: ScriptedModelServer, **limits: float) -> AnthropicModel:
    return AnthropicModel("sk-test", server.url, "some-model", **limits)


def ask(asked: AnthropicModel, *, first_try: bool = False, messages: Any = HELLO) -> Any:
    request = ModelRequest("You help.", messages, TOOLS)
    return asked.stream(request, lambda piece: None, lambda: False, first_try=first_try)


def fault_of(asked: AnthropicModel, **how: Any) -> ModelFault:
    with pytest.raises(ModelFault) as caught:
        ask(asked, **how)
    return caught.value


FAULTS: dict[str, tuple[answers.Answer, FaultKind]] = {
    "overloaded in mid stream": (answers.error_in_stream("overloaded_error"), FaultKind.TRANSIENT),
    "api error in mid stream": (answers.error_in_stream("api_error"), FaultKind.TRANSIENT),
    "rate limit in mid stream": (answers.error_in_stream("rate_limit_error"), FaultKind.TRANSIENT),
    "bad request in mid stream": (answers.error_in_stream("invalid_request_error"), FaultKind.PERMANENT),
    "too long in mid stream": (
        answers.error_in_stream("invalid_request_error", message="prompt is too long"),
        FaultKind.TOO_LONG,
    ),
    "unknown error in mid stream": (answers.error_in_stream("something_new"), FaultKind.BROKEN),
    "reset": (answers.reset(), FaultKind.BROKEN),
    "broken body": (answers.broken_body(), FaultKind.BROKEN),
    "bad json": (answers.bad_json(), FaultKind.BROKEN),
    "bad bytes": (answers.bad_bytes(), FaultKind.BROKEN),
    "bad tool json": (answers.bad_tool_json(), FaultKind.CUT),
    "web page": (answers.html(), FaultKind.BROKEN),
    "json body": (answers.json_body(), FaultKind.BROKEN),
    "nameless events": (answers.nameless_events(), FaultKind.BROKEN),
    "no usage": (answers.no_usage(), FaultKind.BROKEN),
    "index gap": (answers.index_gap(), FaultKind.BROKEN),
    "400": (answers.error(400), FaultKind.PERMANENT),
    "400 too long": (answers.error(400, "prompt is too long: 210000 tokens > 200000 maximum"), FaultKind.TOO_LONG),
    "400 spent": (answers.error(400, "You have reached your specified API usage limits."), FaultKind.PERMANENT),
    "401": (answers.error(401), FaultKind.PERMANENT),
    "402": (answers.error(402), FaultKind.PERMANENT),
    "403": (answers.error(403), FaultKind.PERMANENT),
    "404": (answers.error(404), FaultKind.PERMANENT),
    "409": (answers.error(409), FaultKind.TRANSIENT),
    "413": (answers.error(413), FaultKind.TOO_LONG),
    "418": (answers.error(418), FaultKind.PERMANENT),
    "422": (answers.error(422), FaultKind.PERMANENT),
    "429": (answers.error(429), FaultKind.TRANSIENT),
    "500": (answers.error(500), FaultKind.TRANSIENT),
    "503": (answers.error(503), FaultKind.TRANSIENT),
    "529": (answers.error(529), FaultKind.TRANSIENT),
    "web page 502": (answers.html(502), FaultKind.TRANSIENT),
    "web page 404": (answers.html(404), FaultKind.PERMANENT),
    "429 spend limit": (answers.spend_limit(429), FaultKind.PERMANENT),
    "400 spend limit": (answers.spend_limit(400), FaultKind.PERMANENT),
}


@pytest.mark.parametrize("case", FAULTS)
def test_the_fault_has_its_kind_and_a_sentence(server: ScriptedModelServer, case: str) -> None:
    answer, kind = FAULTS[case]
    server.add(answer)
    fault = fault_of(model(server))
    assert fault.kind is kind
    assert fault.detail[0].isupper() or fault.detail.startswith("127.0.0.1")
    assert not re.search(r"<|\n|Traceback", fault.detail)
    assert len(server.requests) == 1, "asked once: the SDK's own retry was not allowed"


@pytest.mark.parametrize(
    ("answer", "content", "closed"),
    [
        (answers.cut_in_text(), [{"type": "text", "text": "Half an ans"}], set()),
        (answers.cut_before_stop(), [{"type": "text", "text": "All said."}], {0}),
    ],
    ids=["in text", "before the stop"],
)
def test_a_stream_that_ends_politely_half_way_is_a_reply_that_is_not_complete(
    server: ScriptedModelServer, answer: answers.Answer, content: list[Any], closed: set[int]
) -> None:
    server.add(answer)
    reply = ask(model(server))
    assert (list(reply.content), reply.complete, reply.closed) == (content, False, closed)


@pytest.mark.parametrize(
    "answer",
    [answers.cut_in_tool(), answers.max_tokens_in_tool(), answers.cut_call_called_whole()],
    ids=["end of stream", "out of tokens", "called whole"],
)
def test_half_a_tool_call_is_never_a_closed_one(server: ScriptedModelServer, answer: answers.Answer) -> None:
    server.add(answer)
    reply = ask(model(server))
    assert reply.content[0]["name"] == "run"
    assert reply.content[0]["input"] == {}
    assert 0 not in reply.closed


def test_a_tool_call_without_any_input_is_whole(server: ScriptedModelServer) -> None:
    server.add(answers.tool_without_input())
    reply = ask(model(server))
    assert (reply.content[0]["input"], reply.closed) == ({}, {0})


def test_what_is_new_in_the_protocol_is_kept_or_ignored(server: ScriptedModelServer) -> None:
    server.add(answers.unknown_block(), answers.unknown_event())
    first, second = ask(model(server)), ask(model(server))
    assert first.content[0] == {"type": "hologram", "data": {"depth": 3}}
    assert first.closed == {0, 1}
    assert [block["text"] for block in second.content] == ["Hello."]


def test_a_refusal_says_why(server: ScriptedModelServer) -> None:
    server.add(answers.refusal("I can"), answers.refusal(category=None, explanation=None))
    first, second = ask(model(server)), ask(model(server))
    assert (first.stop_reason, first.refusal, first.complete) == ("refusal", "cyber: declined", True)
    assert (second.stop_reason, second.refusal, second.content) == ("refusal", None, ())


def test_a_stalled_stream_ends_after_the_silence_limit(server: ScriptedModelServer) -> None:
    server.add(answers.stall())
    fault = fault_of(model(server, silence_limit=0.4))
    assert (fault.kind, fault.detail) == (FaultKind.TRANSIENT, "The model said nothing for 0.4 seconds.")
    wait_for(lambda: server.hung_up == 1, what="the server to see that nobody waits any more")


def test_pings_are_not_words(server: ScriptedModelServer) -> None:
    server.add(answers.pings())
    assert fault_of(model(server, silence_limit=0.4)).kind is FaultKind.TRANSIENT


def test_silence_before_the_first_byte_counts_too() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        asked = AnthropicModel("sk-test", f"http://127.0.0.1:{mute.getsockname()[1]}", "some-model", silence_limit=0.4)
        assert fault_of(asked).kind is FaultKind.TRANSIENT


def test_one_call_has_a_total_deadline(server: ScriptedModelServer) -> None:
    server.add(answers.slow("word " * 500, pace=0.02))
    fault = fault_of(model(server, total_deadline=0.5))
    assert (fault.kind, fault.detail) == (FaultKind.TRANSIENT, "The model's answer took longer than 0.5 seconds.")


def test_stop_ends_a_call_that_is_silent(server: ScriptedModelServer) -> None:
    held = server.hold(answers.text("Never heard."))
    server.add(held)
    pressed = threading.Event()

    def press() -> None:
        held.reached.wait(10)
        pressed.set()

    threading.Thread(target=press, daemon=True).start()
    began: list[float] = []

    def stopped() -> bool:
        if pressed.is_set():
            began.append(time.monotonic())
        return pressed.is_set()

    with pytest.raises(ModelFault) as caught:
        model(server).stream(ModelRequest("", HELLO, ()), lambda piece: None, stopped)
    assert caught.value.kind is FaultKind.STOPPED
    assert time.monotonic() - began[0] < 0.5
    wait_for(lambda: server.hung_up == 1, what="the server to see that nobody waits any more")


def test_stop_is_asked_twice_a_second_while_nothing_comes(server: ScriptedModelServer) -> None:
    server.add(answers.stall())
    times: list[float] = []

    def stopped() -> bool:
        times.append(time.monotonic())
        return len(times) > 6

    with pytest.raises(ModelFault):
        model(server).stream(ModelRequest("", HELLO, ()), lambda piece: None, stopped)
    assert times[-1] - times[0] < 3.0


def test_a_call_that_was_stopped_is_not_tried_again(server: ScriptedModelServer) -> None:
    server.add(answers.error(529), answers.text("Too late."))
    with pytest.raises(ModelFault) as caught:
        model(server).stream(
            ModelRequest("", HELLO, ()), lambda piece: None, lambda: len(server.requests) > 0, first_try=True
        )
    assert caught.value.kind is FaultKind.STOPPED
    wait_for(lambda: not _calls_under_way(), what="the call's thread to end")
    assert len(server.requests) == 1


def test_the_first_try_may_be_repeated_once_by_the_sdk(server: ScriptedModelServer) -> None:
    server.add(answers.error(529), answers.text("Here I am."))
    assert ask(model(server), first_try=True).content[0]["text"] == "Here I am."
    server.add(answers.error(529), answers.error(529), answers.text("Never reached."))
    assert fault_of(model(server), first_try=True).kind is FaultKind.TRANSIENT
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("header", "seconds"), [("3600", 3600.0), ("4000000", 2678400.0), ("inf", 2678400.0), ("9.5", 9.5)]
)
def test_a_long_retry_after_is_told_and_not_slept(server: ScriptedModelServer, header: str, seconds: float) -> None:
    server.add(answers.error(429, retry_after=header))
    began = time.monotonic()
    fault = fault_of(model(server), first_try=True)
    assert (fault.kind, fault.retry_after, fault.status) == (FaultKind.TRANSIENT, seconds, 429)
    assert time.monotonic() - began < 2.0
    assert len(server.requests) == 1


@pytest.mark.parametrize("header", ["soon", "-5", "nan"])
def test_a_senseless_retry_after_is_none(server: ScriptedModelServer, header: str) -> None:
    server.add(answers.error(429, retry_after=header))
    assert fault_of(model(server)).retry_after is None


@pytest.mark.parametrize("key", ["", " ", "sk-test\n", "sk test", "sk-tést", "sk\0test"])
def test_a_key_that_cannot_be_sent_is_said_up_front(server: ScriptedModelServer, key: str) -> None:
    fault = fault_of(AnthropicModel(key, server.url, "some-model"))
    assert fault.kind is FaultKind.PERMANENT
    assert "ANTHROPIC_API_KEY" in fault.detail
    assert not server.requests


@pytest.mark.parametrize(
    "url", ["", "localhost:8080", "ftp://127.0.0.1", "http://", "https:// x", "http://[::1", "http://127.0.0.1:port"]
)
def test_an_address_that_cannot_be_asked_is_said_up_front(url: str) -> None:
    fault = fault_of(AnthropicModel("sk-test", url, "some-model"))
    assert fault.kind is FaultKind.PERMANENT
    assert "ANTHROPIC_BASE_URL" in fault.detail


def test_a_certificate_file_that_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/cert.pem")
    fault = fault_of(AnthropicModel("sk-test", "https://127.0.0.1:9", "some-model"))
    assert fault.kind is FaultKind.PERMANENT
    assert "SSL_CERT_FILE" in fault.detail


def test_nobody_listens_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as once:
        port = once.getsockname()[1]
    fault = fault_of(AnthropicModel("sk-test", f"http://127.0.0.1:{port}", "some-model"), first_try=True)
    assert fault.kind is FaultKind.TRANSIENT
    assert f"127.0.0.1:{port}" in fault.detail


def test_a_server_that_hangs_up_at_once_gave_no_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as rude:

        def hang_up() -> None:
            rude.accept()[0].close()

        threading.Thread(target=hang_up, daemon=True).start()
        fault = fault_of(AnthropicModel("sk-test", f"http://127.0.0.1:{rude.getsockname()[1]}", "some-model"))
    assert fault.kind is FaultKind.TRANSIENT


@pytest.mark.parametrize(
    "content",
    ["\ud800 alone", [{"type": "text", "text": float("nan")}], [{"type": "text", "text": object()}]],
    ids=["surrogate", "nan", "object"],
)
def test_what_cannot_be_sent_is_permanent(server: ScriptedModelServer, content: Any) -> None:
    fault = fault_of(model(server), messages=({"role": "user", "content": content},))
    assert fault.kind is FaultKind.PERMANENT
    assert "Nothing was sent" in fault.detail
    assert not server.requests


def test_what_the_callbacks_raise_goes_through_and_ends_the_call(server: ScriptedModelServer) -> None:
    server.add(answers.slow("one two three four five six seven eight", pace=0.2))

    def refuse(piece: Piece) -> None:
        raise LookupError(piece.text)

    with pytest.raises(LookupError):
        model(server).stream(ModelRequest("", HELLO, ()), refuse, lambda: False)
    wait_for(lambda: server.hung_up == 1, what="the server to see that nobody waits any more")


def test_every_answer_leaves_no_thread_behind(server: ScriptedModelServer) -> None:
    server.add(answers.text("One."), answers.stall(), answers.error(500))
    ask(model(server))
    fault_of(model(server, silence_limit=0.3))
    fault_of(model(server))
    wait_for(lambda: not _calls_under_way(), what="the calls' threads to end")


def test_the_request_marks_what_can_be_cached(server: ScriptedModelServer) -> None:
    server.add(answers.text("Yes."))
    ask(model(server))
    sent = server.requests[0]
    assert sent["system"] == [{"type": "text", "text": "You help.", "cache_control": {"type": "ephemeral"}}]
    assert sent["cache_control"] == {"type": "ephemeral"}
    assert sent["messages"] == list(HELLO)
    assert sent["tools"] == list(TOOLS)


def _calls_under_way() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "model-call"]
