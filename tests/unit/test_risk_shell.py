"""Between text and words: the gate, the walk over the tree, quote removal, the second reading."""

from __future__ import annotations

import pytest

from nomos.domain.executions import Risk
from nomos.risk import classify, second
from nomos.risk.gate import refusal
from nomos.risk.parse import parse
from nomos.risk.words import Unreadable, Word, expand


def words(text: str) -> list[list[Word]]:
    """The words of each command of a text, with no variable known."""
    return [[word for parts in simple.words for word in expand(parts, {})] for simple in parse(text).commands]


def texts(text: str) -> list[list[str]]:
    return [[word.text for word in each] for each in words(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("r'm' -r\"f\" a\\ b", ["rm", "-rf", "a b"]),
        ("echo $'a\\x62\\143\\''", ["echo", "abc'"]),
        ('echo "a\\$b\\"c\\d"', ["echo", 'a$b"c\\d']),
        ("echo a{b,c}{1..3}", ["echo", "ab1", "ab2", "ab3", "ac1", "ac2", "ac3"]),
        ("echo {} {{.Names}} a}", ["echo", "{}", "{{.Names}}", "a}"]),
        ("echo ~/x '~/y' x~", ["echo", "~/x", "~/y", "x~"]),
        ("echo '' \"\"", ["echo", "", ""]),
        ("find . 2>/dev/null -delete", ["find", ".", "-delete"]),
        ("echo 'größe'", ["echo", "größe"]),
    ],
)
def test_quotes_are_removed_as_bash_does(text: str, expected: list[str]) -> None:
    assert texts(text) == [expected]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("ls $x", Word("", known=False, splits=True, pattern="*")),
        ('ls "$x"', Word("", known=False, pattern="*")),
        ('ls "/a/$x"', Word("/a/", known=False, pattern="/a/*")),
        ("ls /a/*.log", Word("/a/", known=False, pattern="/a/*.log")),
        ("ls $?", Word("", known=False, number=True, pattern="*")),
        ('ls "$(pwd)"', Word("", known=False, pattern="*")),
    ],
)
def test_what_only_the_shell_knows_is_marked(text: str, word: Word) -> None:
    assert word in [each for command in words(text) for each in command]


@pytest.mark.parametrize("text", ["ls $x", "ls *", 'ls "$x"', 'ls "$@"', "ls $(pwd)"])
def test_such_a_word_may_be_an_option(text: str) -> None:
    assert words(text)[-1][1].may_be_option


@pytest.mark.parametrize("text", ["ls /$x", "ls ./*", 'ls "a$x"', "ls $?", "ls $#"])
def test_and_with_a_plain_beginning_or_as_a_number_it_may_not(text: str) -> None:
    word = words(text)[0][1]
    assert not word.may_be_option or word.splits


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a; b & c && d || e | f |& g\nh", "abcdefgh"),
        ("{ a; (b); } < f", "ab:"),
        ("if a; then b; elif c; then d; else e; fi", "abcde"),
        ("while a; do b; done; until c; do d; done", "abcd"),
        ("for i in 1 2; do a; done", "a"),
        ("case x in y) a;; *) b;; esac", "ab"),
        ("! a", "a"),
        ('x $(a $(b)) "$(c "$(d)")" <(e) >(f)', "bacdefx"),
        ("x <<< $(a)", "ax"),
        ("x > $(a)", "ax"),
        ("A=$(a) x", "ax"),
        ("x ${A:-b}", "x"),
        ("for i in $(a); do b; done", "ab"),
        ("x <<'E'\na $(b)\nE", "x"),
    ],
)
def test_no_command_is_lost(text: str, names: str) -> None:
    found = [command[0] for command in texts(text)]
    assert sorted(found) == sorted(names)


@pytest.mark.parametrize(
    "text",
    [
        "f() { ls; }", "function f { ls; }", "coproc ls; ((1))", "((1))", "for ((;;)); do ls; done", "a[1]=2", "x+=1",
        "echo ${x@P}", "echo ${!x}", "echo ${x[1]}", "echo ${x:1}", "echo ${x/a/b}", "echo $((x))", "echo $[1]",
        "[[ 1 -eq 1 ]]", "[[ -v x ]]", "[ a > b ]", ">f ls", "ls )", "ls |", "echo $()", "echo {a,{b,c}}", 'echo $"a"',
        "echo {1..999}",
        "select x in a; do ls; done", "for x; do ls; done", "{fd}>f ls", "echo a;; ls",
    ],
)  # fmt: skip
def test_what_is_not_on_the_list_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        words(text)


@pytest.mark.parametrize(
    "text",
    [
        "ls\n\\rm x", "ls a\\ b", "ls \\\n", "ls \\", "`ls`", '"`ls`"', "ls # a\nrm", "ls # a\\", "(ls # a\n)",
        "cat <<-E\n\ta\nE", "cat <<E\n$x\nE", "cat <<'E'\na",
        "x $(cat <<'E'\na\nE\n)", "ls é", "ls\r", "ls\u200b",
        "ls 'a", 'ls "a', "ls\x0c", "\ufeffls", "ls \u00a0", "ls e\u0301", "(" * 30 + ")" * 30, "x" * 8193, "",
    ],
)  # fmt: skip
def test_the_gate_refuses_what_is_read_in_two_ways(text: str) -> None:
    assert refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "ls", "ls 'é' \"ü\"", "ls # end", "cat <<'E'\n$x `y`\nE",
        "cat <<E\nplain\nE\nls", "cat <<< x", "grep '\\ ' f",
        "echo \"a 'b' $(echo \"c\")\"",
        "ls\n", "find . -exec ls {} \\;", "echo a#b", "awk '{\n print\n}' f", "echo '#'",
    ],
)  # fmt: skip
def test_the_gate_lets_plain_texts_pass(text: str) -> None:
    assert refusal(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "ls -l | grep a",
        'for i in a b; do echo "$i"; done < f',
        "[ -f x ] && [[ -n y ]] || ls", "export A=1 B; unset C",
        "cat <<'E' > f\na\nE\n", "time ls a", "x=1; y='a b' ls \"$(pwd)\" 2>&1 >&-", "case a in b|c) ls;; esac",
        "if ! ls; then (pwd; { id; }); fi", "> f", "diff <(ls) <(pwd)", "echo $((1+2)) ${x} ${x:-a}",
    ],
)  # fmt: skip
def test_two_parsers_find_the_same_words(text: str) -> None:
    assert second.agrees(text, parse(text)) is True


@pytest.mark.parametrize("text", ["let a=1", "[a]#; rm x", "coproc N { rm x; }"])
def test_and_where_they_differ_it_is_said(text: str) -> None:
    assert second.agrees(text, parse(text)) is False


def test_a_number_may_come_from_a_program_that_only_counts() -> None:
    assert texts("x $((1 + $(nproc)))") == [["nproc"], ["x", ""]]


def test_where_readings_differ_the_text_is_destroy() -> None:
    assert classify("ls | cat", agrees=lambda _text, _script: False).risk is Risk.DESTROY


def test_without_a_second_parser_only_plain_words_run_unasked() -> None:
    assert classify("ls -l /etc", agrees=lambda _text, _script: None).risk is Risk.READ
    assert classify("ls -l | cat", agrees=lambda _text, _script: None).risk is Risk.CHANGE


@pytest.mark.parametrize("text", [")(" * 4000, "$(" * 2000, "ls;" * 2700, "{" * 8000, "((" * 4000, "a'${b'"])
def test_hostile_shapes_end_soon(text: str) -> None:
    assert classify(text).risk is Risk.DESTROY
