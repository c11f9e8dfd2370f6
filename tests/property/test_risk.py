"""However a command is wrapped, quoted, padded, nested or joined, it is never judged laxer than it was."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from nomos.domain.executions import Risk
from nomos.risk import classify
from tests.harness.cases import cases

# What bash cannot parse means something else once it is wrapped: ``ls )(`` inside ``"$( )"`` is a command and a text.
BROKEN = ("syntax error", "incomplete")
CASES = [case for case in cases("commands.tsv") if "\n" not in case.text and not any(why in case.why for why in BROKEN)]
DESTROYS = [case.text for case in CASES if case.expected == "destroy"]
MUTATES = [case.text for case in CASES if case.expected != "read"]
READS = [case.text for case in CASES if case.expected == "read" and classify(case.text).risk is Risk.READ]
SIMPLE = [text for text in READS if all(letter.isalnum() or letter in " -./:=" for letter in text)]

# Ways to run a text as it is: each takes a shell text and gives one.
WRAPS: list[Callable[[str], str]] = [
    lambda text: f"sh -c {shlex.quote(text)}",
    lambda text: f"bash -c {shlex.quote(text)}",
    lambda text: f"sudo sh -c {shlex.quote(text)}",
    lambda text: f"pct exec 101 -- bash -c {shlex.quote(text)}",
    lambda text: f"docker exec web sh -c {shlex.quote(text)}",
    lambda text: f"ssh host2 {shlex.quote(text)}",
    lambda text: f"timeout 5 sh -c {shlex.quote(text)}",
    lambda text: f"env TZ=UTC sh -c {shlex.quote(text)}",
    lambda text: f"su -c {shlex.quote(text)} bob",
    lambda text: f"watch -n 5 {shlex.quote(text)}",
    lambda text: f"find /srv -exec sh -c {shlex.quote(text)} \\;",
    lambda text: f"xargs -n 1 sh -c {shlex.quote(text)}",
    lambda text: f"{{ {text}; }}",
    lambda text: f"( {text} )",
    lambda text: f"if true; then {text}; fi",
    lambda text: f"for i in 1 2; do {text}; done",
    lambda text: f"echo $( {text} )",
    lambda text: f'echo "$( {text} )"',
    lambda text: f"cat <( {text} )",
    lambda text: f"! {text}",
]
# Ways to run a plain command, put before it.
BEFORE = [
    "sudo ", "sudo -u bob -- ", "doas ", "env ", "nice -n 5 ", "ionice -c 3 ", "nohup ", "timeout -k 1 5 ",
    "stdbuf -oL ", "setsid ", "command ", "busybox ", "pct exec 101 -- ", "docker exec web ",
    "docker compose exec -T web ",
    "kubectl exec web -- ",
    "qm guest exec 100 -- ", "chroot /mnt ", "nsenter -t 1 -m ", "ip netns exec red ", "time ",
    "flock /tmp/lock ", "TZ=UTC ", "strace -f ",
]  # fmt: skip
JOINS = ["; ", " && ", " || ", " | ", " & ", "\n", ";", "|"]

texts = st.sampled_from(MUTATES)
reads = st.sampled_from(READS)


def risk(text: str) -> Risk:
    return classify(text).risk


@settings(max_examples=150)
@given(st.sampled_from(DESTROYS), st.lists(st.sampled_from(WRAPS), min_size=1, max_size=3))
def test_what_destroys_does_so_in_any_wrapping(text: str, wraps: list[Callable[[str], str]]) -> None:
    for wrap in wraps:
        text = wrap(text)
    assert risk(text) is Risk.DESTROY


@settings(max_examples=150)
@given(texts, st.lists(st.sampled_from(WRAPS), min_size=1, max_size=3))
def test_what_changes_is_never_read_in_any_wrapping(text: str, wraps: list[Callable[[str], str]]) -> None:
    for wrap in wraps:
        text = wrap(text)
    assert risk(text) is not Risk.READ


@settings(max_examples=150)
@given(texts, st.lists(st.sampled_from(BEFORE), min_size=1, max_size=3))
def test_nor_behind_any_runner(text: str, before: list[str]) -> None:
    assert risk("".join(before) + text) is not Risk.READ


@settings(max_examples=150)
@given(reads, texts, st.sampled_from(JOINS), st.booleans())
def test_nor_joined_to_what_reads(read: str, text: str, join: str, first: bool) -> None:
    joined = text + join + read if first else read + join + text
    assert risk(joined).rank >= risk(text).rank or "#" in joined
    assert risk(joined) is not Risk.READ or "#" in joined


@settings(max_examples=100)
@given(
    texts, st.sampled_from([" ", "  ", "\t", "\n", " \n"]), st.sampled_from(["", " ", "\n", ";", " ;", " &", " # x"])
)
def test_nor_padded(text: str, before: str, after: str) -> None:
    assert risk(before + text + after) is not Risk.READ


def quoted(word: str, how: str) -> str:
    match how:
        case "single":
            return f"'{word}'"
        case "double":
            return f'"{word}"'
        case "ansi":
            return "$'" + "".join(f"\\x{ord(letter):02x}" for letter in word) + "'"
        case "split":
            return f"{word[:1]}''{word[1:]}"
        case "backslash":
            return word[:1] + "".join(f"\\{letter}" for letter in word[1:])
        case _:
            return word


HOWS = st.sampled_from(["plain", "single", "double", "ansi", "split", "backslash"])


@settings(max_examples=150)
@given(st.sampled_from([text for text in MUTATES if text.replace(" ", "").replace("-", "").isalnum()]), st.data())
def test_quotes_do_not_make_a_word_another(text: str, data: st.DataObject) -> None:
    words = text.split()
    spelled = " ".join(quoted(word, data.draw(HOWS)) for word in words)
    assert risk(spelled).rank >= risk(text).rank


@settings(max_examples=100)
@given(st.sampled_from(SIMPLE), st.lists(st.sampled_from(WRAPS[:2] + WRAPS[3:5] + WRAPS[12:14]), max_size=2))
def test_what_reads_still_does_where_it_is_looked_into(text: str, wraps: list[Callable[[str], str]]) -> None:
    for wrap in wraps:
        text = wrap(text)
    assert risk(text) is Risk.READ


@given(st.text(alphabet=st.characters(codec=None), max_size=200))
def test_any_text_has_a_class_and_a_reason_in_one_line(command: str) -> None:
    verdict = classify(command)
    assert verdict.risk in Risk
    assert verdict.why
    assert verdict.why.isprintable() or verdict.risk is not Risk.READ
    assert "\n" not in verdict.why
