"""Reading a chat reply: errors fall one way only."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nomos.domain.assent import LONGEST, Reading, read
from tests.harness.cases import Case, cases

CASES = cases("assent.tsv")
PLAIN = [
    "go ahead",
    "Go ahead.",
    "ok, go ahead",
    "yes",
    "Yes!",
    "yes please",
    "approved",
    "please proceed",
    "do it now",
]
KNOWN = set("yes yep yeah ok okay sure please now thanks thank you with it the plan as shown go ahead".split())


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.expected != "assent"], ids=lambda case: repr(case.text)
)
def test_what_is_no_assent_is_never_read_as_one(case: Case) -> None:
    assert read(case.text) is not Reading.ASSENT


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.expected == "assent"], ids=lambda case: repr(case.text)
)
def test_assent_is_never_read_as_its_opposite(case: Case) -> None:
    assert read(case.text) in {Reading.ASSENT, Reading.NEITHER}


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.expected == "neither"], ids=lambda case: repr(case.text)
)
def test_what_says_neither_decides_nothing(case: Case) -> None:
    assert read(case.text) in {Reading.NEITHER, Reading.CONDITIONAL}


@pytest.mark.parametrize("reply", PLAIN)
def test_the_plain_forms_are_assent(reply: str) -> None:
    assert read(reply) is Reading.ASSENT


@pytest.mark.parametrize("reply", ["no", "No.", "don't", "don’t go ahead", "stop", "cancel", "not now", "nope"])
def test_the_plain_forms_are_denial(reply: str) -> None:
    assert read(reply) is Reading.DENIAL


@pytest.mark.parametrize("reply", ["yes, but only step 1", "go ahead, but skip the restart", "ok if it is safe"])
def test_conditions_are_no_assent(reply: str) -> None:
    assert read(reply) is Reading.CONDITIONAL


@pytest.mark.parametrize(
    "reply", ["", " ", "\n", "ok", "thanks", "great", "go ahead?", "> go ahead", '"go ahead"', "gо ahead"]
)
def test_all_else_is_neither(reply: str) -> None:
    assert read(reply) is Reading.NEITHER


@given(st.sampled_from(PLAIN), st.text(min_size=1, max_size=80))
def test_only_words_of_the_closed_lists_may_stand_beside_assent(plain: str, more: str) -> None:
    if read(f"{plain} {more}") is Reading.ASSENT:
        assert set(re.findall(r"[^\s,.!-]+", more.casefold())) <= KNOWN


@given(st.text(min_size=LONGEST + 1, max_size=300))
def test_what_is_long_says_more_than_yes(text: str) -> None:
    assert read("yes" + text.replace(" ", "x").strip() + "x" * LONGEST) is Reading.NEITHER
