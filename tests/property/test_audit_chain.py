"""Whatever is done to a chain of the audit, the checker finds it."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from nomos.domain.audit import START, Break, Checker, Deed, Entry, Kind, Who, link

NOW = datetime(2026, 12, 1, 13, 0, tzinfo=UTC)
WHO = Who(Kind.OPERATOR, "ada", "page", "192.168.1.20")
FACTS = st.dictionaries(st.text(max_size=8), st.none() | st.integers() | st.text(max_size=20), max_size=4)


def chain(facts: list[dict[str, Any]]) -> list[Entry]:
    """A sound chain, one link for each of these."""
    entries: list[Entry] = []
    previous = START
    for number, one in enumerate(facts, 1):
        entry = link(number, previous, NOW + timedelta(seconds=number), WHO, Deed.HOST_ADDED, one, "s")
        entries.append(entry)
        previous = entry.hash
    return entries


def check(entries: list[Entry], end: Entry) -> Break | None:
    """Walk a chain whose head says that it ends with ``end``."""
    checker = Checker()
    for entry in entries:
        if found := checker.take(entry):
            return found
    return checker.end(end.seq, end.hash)


CHAINS = st.lists(FACTS, min_size=1, max_size=6).map(chain)


@given(CHAINS)
def test_a_sound_chain_holds(entries: list[Entry]) -> None:
    assert check(entries, entries[-1]) is None


@given(CHAINS, st.data())
def test_no_field_of_any_entry_can_be_changed(entries: list[Entry], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(entries) - 1))
    field = data.draw(st.sampled_from([field.name for field in dataclasses.fields(Entry)]))
    old = getattr(entries[place], field)
    kinds: dict[type, st.SearchStrategy[Any]] = {
        int: st.integers(),
        datetime: st.datetimes(timezones=st.just(UTC)),
        str: st.text(max_size=80) | st.just(str(old) + " ") | st.just(str(old).upper()),
    }
    new = data.draw(kinds[type(old)].filter(lambda value: value != old))
    changed = [*entries]
    changed[place] = dataclasses.replace(entries[place], **{field: new})
    assert check(changed, entries[-1]) is not None


@given(CHAINS, st.data())
def test_an_entry_that_is_made_anew_with_a_fitting_hash_is_found_by_the_next_one(
    entries: list[Entry], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(entries) - 1))
    old = entries[place]
    forged = link(old.seq, old.previous, old.at, WHO, Deed.HOST_REMOVED, {"forged": True}, old.session_id)
    changed = [*entries]
    changed[place] = forged
    found = check(changed, entries[-1])
    assert found is not None
    assert found.seq in {old.seq, old.seq + 1}


@given(CHAINS, st.data())
def test_no_entry_can_be_removed_doubled_or_moved(entries: list[Entry], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(entries) - 1))
    without = [entry for number, entry in enumerate(entries) if number != place]
    assert check(without, entries[-1]) is not None
    doubled = [*entries[: place + 1], *entries[place:]]
    assert check(doubled, entries[-1]) is not None
    moved = data.draw(st.permutations(entries).filter(lambda order: order != entries)) if len(entries) > 1 else []
    assert check([*moved], entries[-1]) is not None


@given(CHAINS, FACTS)
def test_nothing_can_be_added_that_the_head_does_not_know(entries: list[Entry], facts: dict[str, Any]) -> None:
    last = entries[-1]
    more = link(last.seq + 1, last.hash, NOW, WHO, Deed.HOST_ADDED, facts, None)
    assert check([*entries, more], last) is not None
