"""The tables can be read, and mean what their grammar says."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from nomos.domain.executions import Risk
from nomos.risk import tables
from nomos.risk.forms import form, options
from nomos.risk.programs import READERS
from nomos.risk.words import Word


def judged(table: Mapping[str, object], command: str) -> Risk | None:
    """The risk by a table, None where no form holds. A word ``?`` is one that is only known when it runs."""
    words = [Word("", known=False) if text == "?" else Word(text) for text in command.split()]
    match = tables.program("x", table).best(words)
    return None if match is None else max(match.form.risk, match.raised, key=lambda risk: risk.rank)


@pytest.mark.parametrize("name", sorted(tables.tables()))
def test_every_table_can_be_read(name: str) -> None:
    program = tables.find(name)
    assert program is not None
    assert program.forms or name in READERS or program.raising


def test_wrappers_can_be_read_and_stand_once() -> None:
    assert "sudo" in tables.wrappers()
    for name, each in tables.wrappers().items():
        assert len({wrapper.verbs for wrapper in each}) == len(each), name


def test_a_free_program_has_no_option_that_does_more_than_read() -> None:
    for name in tables.tables():
        program = tables.find(name)
        assert program is not None
        if program.free:
            assert all(each.risk is Risk.READ for each in program.forms), name


@pytest.mark.parametrize("line", ["--a|--b", "-a=x", "(x)", "<x"])
def test_a_line_that_follows_no_grammar_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="is n"):
        form(line, Risk.READ)


def test_an_unknown_key_is_refused() -> None:
    with pytest.raises(ValueError, match="reed"):
        tables.program("x", {"reed": "*"})


def test_options_are_read_with_what_they_take() -> None:
    found = options("-a -n= --color[=] --run=<a|b>! -x!")
    assert [(each.name, each.value, each.attached, each.must) for each in found.values()] == [
        ("-a", False, False, False),
        ("-n", True, False, False),
        ("--color", True, True, False),
        ("--run", True, False, True),
        ("-x", False, False, True),
    ]


@pytest.mark.parametrize(
    ("line", "command", "holds"),
    [
        ("-a -n= (*)", "-a", True),
        ("-a -n= (*)", "-an5", True),
        ("-a -n= (*)", "-n 5 f", True),
        ("-a -n= (*)", "-z", False),
        ("-a -n= (*)", "-az", False),
        ("-a -n= (*)", "-- -z", True),
        ("--all --lines= (*)", "--lines=5 f", True),
        ("--all --lines= (*)", "--lines 5 f", True),
        ("--all --lines= (*)", "--al", False),
        ("--all --lines= (*)", "--all=1", False),
        ("--color[=] (0)", "--color", True),
        ("--color[=] (0)", "--color auto", False),
        ("-N (*)", "-20 f", True),
        ("(0)", "", True),
        ("(0)", "f", False),
        ("(1)", "f", True),
        ("(1)", "f g", False),
        ("(+)", "", False),
        ("(<[0-9]+>)", "1 2", True),
        ("(<[0-9]+>)", "1 a", False),
        ("--version", "--version", True),
        ("--version", "", False),
        ("--version", "--version f", False),
        ("-n! -v (*)", "-v f", False),
        ("-n! -v (*)", "-nv f", True),
        ("--dry-run=<client|server>!", "--dry-run=none", False),
        ("--dry-run=<client|server>!", "--dry-run=server", True),
        ("show|list -v", "-v show x", True),
        ("show|list -v", "drop x", False),
        ("<[0-9]+> status (0)", "5 status", True),
        ("<[0-9]+> status (0)", "x status", False),
        ("*", "--anything -at all", True),
        ("(*)", "?", False),
        ("(*)", "-- ?", True),
        ("show", "?", False),
        ("show --of=", "show --of=x ?", False),
    ],
)
def test_a_line_holds_for_what_it_says(line: str, command: str, holds: bool) -> None:
    assert (judged({"read": line}, command) is Risk.READ) is holds


def test_more_verbs_win_and_then_the_lower_risk() -> None:
    table = {"read": "set -n!\nlist", "change": "set *", "destroy": "set hard *\n*"}
    assert judged(table, "set -n a") is Risk.READ
    assert judged(table, "set a") is Risk.CHANGE
    assert judged(table, "set hard a") is Risk.DESTROY
    assert judged(table, "list") is Risk.READ
    assert judged(table, "other") is Risk.DESTROY


@pytest.mark.parametrize("spelling", ["--output=f", "--outp=f", "--o f", "-o f", "-ao f", "-of"])
def test_an_option_that_raises_does_so_by_any_spelling(spelling: str) -> None:
    assert judged({"change": "*", "destroy_options": "-o= --output="}, f"a {spelling}") is Risk.DESTROY


def test_where_verbs_come_first_their_options_do_not_count_before_them() -> None:
    table: dict[str, object] = {"read": "log -p", "destroy_options": "-p", "ordered": True}
    assert judged(table, "log -p") is Risk.READ
    assert judged(table, "-p log") is Risk.DESTROY
