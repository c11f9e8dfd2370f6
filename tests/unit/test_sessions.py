"""The one word for how a session stands."""

from __future__ import annotations

import itertools

import pytest

from nomos.domain.sessions import Ending, SessionState, session_state

AT_REST = {
    Ending.NONE: SessionState.IDLE,
    Ending.TALK: SessionState.IDLE,
    Ending.VERIFIED: SessionState.DONE,
    Ending.BLOCKED: SessionState.BLOCKED,
    Ending.FAILED: SessionState.FAILED,
    Ending.STOPPED: SessionState.STOPPED,
    Ending.PARKED: SessionState.PARKED,
}


@pytest.mark.parametrize("ending", Ending)
def test_at_rest_the_last_turns_ending_is_the_word(ending: Ending) -> None:
    assert session_state(turn_open=False, due=False, under_way=0, pending=0, ending=ending) is AT_REST[ending]


@pytest.mark.parametrize(
    ("turn_open", "due", "under_way", "ending"), list(itertools.product([False, True], [False, True], [0, 2], Ending))
)
def test_the_word_in_every_situation(turn_open: bool, due: bool, under_way: int, ending: Ending) -> None:
    facts = {"turn_open": turn_open, "due": due, "under_way": under_way, "ending": ending}
    assert session_state(**facts, pending=1) is SessionState.WAITING  # type: ignore[arg-type]
    state = session_state(**facts, pending=0)  # type: ignore[arg-type]
    if ending is Ending.PARKED and not turn_open:
        assert state is SessionState.PARKED
    elif turn_open or due or under_way:
        assert state is SessionState.WORKING
    else:
        assert state is AT_REST[ending]
