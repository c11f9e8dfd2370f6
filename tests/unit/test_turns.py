"""Is an answer usable, and what follows where it is not?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from nomos.domain.messages import OPEN, TRANSITIONS, MessageStatus
from nomos.domain.replies import Reply
from nomos.domain.turns import LONGEST_DELAY, LONGEST_WAIT_IN_TURN, Next, Retry, after_fault, judge, words_of
from nomos.errors import FaultKind
from tests.harness.scene import call, text

CALL = call(host="nas", command="uptime")
THINKING = {"type": "thinking", "thinking": "hm", "signature": "x"}
GIVE_UP = Retry(Next.GIVE_UP)


def answer(*content: dict[str, Any], stop: str | None = "end_turn", **changes: Any) -> Reply:
    given: dict[str, Any] = {"complete": True, "model": "m", "closed": frozenset(range(len(content)))}
    return Reply(content, stop, **(given | changes))


ARROWS = {
    "thinking": "working done failed stopped",
    "working": "done failed stopped",
    "done": "",
    "failed": "",
    "stopped": "",
}


@pytest.mark.parametrize("status", MessageStatus)
@pytest.mark.parametrize("after", MessageStatus)
def test_an_arrow_of_a_message_is_drawn_or_refused(status: MessageStatus, after: MessageStatus) -> None:
    assert (after in TRANSITIONS[status]) is (after in ARROWS[status].split())


def test_a_turn_is_open_until_its_message_has_ended() -> None:
    assert {status for status, after in TRANSITIONS.items() if after} == OPEN


@pytest.mark.parametrize(
    "reply",
    [
        answer(text("hello")),
        answer(text("hello"), stop="stop_sequence"),
        answer(text("cut in the middle of wor"), stop="max_tokens"),
        answer(CALL, stop="tool_use"),
        answer(THINKING, text("so"), CALL, call(), stop="tool_use"),
        answer(text("a"), stop="a reason of tomorrow"),
    ],
)
def test_usable(reply: Reply) -> None:
    assert judge(reply) is None


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (answer(), FaultKind.EMPTY),
        (answer(text("")), FaultKind.EMPTY),
        (answer(text(" \n\t")), FaultKind.EMPTY),
        (answer(THINKING), FaultKind.EMPTY),
        (answer(stop="pause_turn"), FaultKind.EMPTY),
        (answer(text("hi"), complete=False), FaultKind.BROKEN),
        (answer(text("hi"), stop=None), FaultKind.BROKEN),
        (answer(CALL, stop="tool_use", complete=False), FaultKind.BROKEN),
        (answer(complete=False, stop=None), FaultKind.BROKEN),
        (answer(text("no"), stop="refusal"), FaultKind.REFUSED),
        (answer(stop="refusal", refusal="it is not allowed"), FaultKind.REFUSED),
        (answer(text("so"), stop="model_context_window_exceeded"), FaultKind.TOO_LONG),
        (answer(CALL, stop="max_tokens"), FaultKind.CUT),
        (answer(CALL, stop="end_turn"), FaultKind.CUT),
        (answer(text("a"), CALL, stop="tool_use", closed=frozenset({0})), FaultKind.CUT),
        (answer(CALL, call(), stop="tool_use", closed=frozenset({0})), FaultKind.CUT),
    ],
)
def test_not_usable(reply: Reply, kind: FaultKind) -> None:
    fault = judge(reply)
    assert fault is not None
    assert fault.kind is kind
    assert fault.why


def test_a_refusals_own_words_are_kept() -> None:
    fault = judge(answer(stop="refusal", refusal="it is not allowed"))
    assert fault is not None
    assert fault.why == "the model refused: it is not allowed"


def test_words_are_the_text_without_the_thinking() -> None:
    assert words_of(answer(THINKING, text("a"), CALL, text("b"))) == "ab"


def follow(kind: FaultKind, tries: int, **given: Any) -> Retry:
    facts: dict[str, Any] = {"base": 2.0, "retry_after": None, "may_wait": False, "waits": 0}
    return after_fault(kind, tries, **(facts | given))


@pytest.mark.parametrize("kind", [FaultKind.EMPTY, FaultKind.BROKEN, FaultKind.CUT])
@pytest.mark.parametrize("may_wait", [True, False])
def test_one_changed_inner_retry_then_one_outer_then_words(kind: FaultKind, may_wait: bool) -> None:
    taken = [follow(kind, tries, may_wait=may_wait) for tries in (1, 2, 3)]
    assert taken == [Retry(Next.ASK_CHANGED), Retry(Next.ASK_AGAIN), GIVE_UP]


def test_a_refusal_is_asked_differently_once() -> None:
    assert [follow(FaultKind.REFUSED, tries) for tries in (1, 2)] == [Retry(Next.ASK_CHANGED), GIVE_UP]


@pytest.mark.parametrize("kind", [FaultKind.PERMANENT, FaultKind.TOO_LONG, FaultKind.STOPPED])
def test_what_no_retry_can_mend_is_not_retried(kind: FaultKind) -> None:
    assert follow(kind, 1, may_wait=True, retry_after=1.0) == GIVE_UP


def test_a_transient_fault_waits_longer_each_time_and_then_gives_up() -> None:
    taken = [follow(FaultKind.TRANSIENT, tries) for tries in (1, 2, 3)]
    assert taken == [Retry(Next.ASK_AGAIN, 2.0), Retry(Next.ASK_AGAIN, 4.0), GIVE_UP]


def test_with_an_open_window_it_comes_back_later_each_time_later_still() -> None:
    delays = [follow(FaultKind.TRANSIENT, 3, may_wait=True, waits=waits) for waits in range(8)]
    assert [retry.next for retry in delays] == [Next.LATER] * 8
    assert [retry.delay for retry in delays] == [8.0, 16.0, 32.0, 64.0, 128.0, 256.0, LONGEST_DELAY, LONGEST_DELAY]


def test_what_the_service_asks_for_is_honoured_up_to_a_bound() -> None:
    assert follow(FaultKind.TRANSIENT, 1, retry_after=7.0) == Retry(Next.ASK_AGAIN, 7.0)
    assert follow(FaultKind.TRANSIENT, 1, retry_after=1.0) == Retry(Next.ASK_AGAIN, 2.0)
    too_long = LONGEST_WAIT_IN_TURN + 1
    assert follow(FaultKind.TRANSIENT, 1, retry_after=too_long) == GIVE_UP
    assert follow(FaultKind.TRANSIENT, 1, retry_after=too_long, may_wait=True) == Retry(Next.LATER, too_long)
    assert follow(FaultKind.TRANSIENT, 1, retry_after=86400.0, may_wait=True).delay == LONGEST_DELAY


def all_situations() -> Iterator[dict[str, Any]]:
    for kind in FaultKind:
        for retry_after in (None, 0.0, 5.0, 1000.0):
            for may_wait in (True, False):
                for waits in (0, 3, 10_000):
                    yield {"kind": kind, "retry_after": retry_after, "may_wait": may_wait, "waits": waits}


def test_a_step_is_never_asked_more_than_three_times_in_a_turn() -> None:
    for situation in all_situations():
        kind = situation.pop("kind")
        for tries in (3, 4, 100):
            retry = follow(kind, tries, **situation)
            assert retry.next in {Next.GIVE_UP, Next.LATER}
        for tries in range(1, 5):
            retry = follow(kind, tries, **situation)
            assert 0 <= retry.delay <= LONGEST_DELAY
            assert retry.next is not Next.LATER or (situation["may_wait"] and kind is FaultKind.TRANSIENT)
            assert retry.next is Next.LATER or retry.delay <= LONGEST_WAIT_IN_TURN
