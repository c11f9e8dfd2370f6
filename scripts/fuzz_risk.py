#!/usr/bin/env python3
"""Throw random shell texts at the classifier; bash judges: nothing that is let pass may start a hidden command.

    scripts/fuzz_risk.py [--strings 100000] [--seed 1]

Every text holds the word ``rm``. What is not called ``destroy`` is run by the real bash in an empty folder, with a PATH
that holds nothing but stand-ins; the one for ``rm`` leaves a mark. A mark is a lost command, and the script exits 1.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from nomos.domain.executions import Risk
from nomos.risk import classify
from nomos.risk.second import agrees

# Each line is one token, blanks and all; the names in it stand for characters that a line cannot hold.
TOKENS = """
rm a|rm|ls|echo b| | | |; | \x01 | && |NEWLINE|$(|)|"|'|{ |; }|( |BACKSLASH|#| # |$((|))|[[ | ]]|case x in x) |;; esac
if ls; then |; fi|[ -n b ]|for i in 1; do |; done|${a:-|}| <(| >f| 2>&1| <<< |a=|((|! |time |f() |TAB| & |$'|"$(|}"|(
{a,b}|*|[a]|~|$x| >(|\x01&|&>g| <>f|!|=|%|^|@|+(a)|-|cat <<'E'NEWLINE|NEWLINEENEWLINE|env |xargs |find . -exec
 BACKSLASH;|sh -c '|'b'|"b"|while ls; do |break; done|x=rm; |for c in rm; do |export A=b; |read x; |set -e; |-delete
"""
# Texts that would pass, with the word as an operand: one token in the wrong place may make a command of it.
HARMLESS = """
ls rm|echo rm|echo 'rm a'|echo "rm a"|cat rm|ls|echo b rm
[ -n rm ]|grep rm b|echo a#rm|(ls rm)|{ echo rm; }|echo $(ls rm)
for i in rm b; do echo "$i"; done|if ls rm; then echo rm; fi|case rm in rm) echo rm;; esac
cat <<'E'NEWLINErmNEWLINEENEWLINE
x=rm; echo "$x"|find . -name rm|xargs echo rm|! ls rm|cat < rm|env ls rm|timeout 5 ls rm|sh -c 'ls rm'
echo "$(echo rm)"|while false; do ls rm; done|# rm
cat <<< rm|[[ -n rm ]]|echo $((1 + 2)) rm|head -5 rm|sort rm|awk '/rm/ {print}'
sed -n '/rm/p' b
"""
GLUE = ["; ", " | ", " && ", " || ", "\n", " & ", ";", "|", "\n\n", " ;\n", "|&", " 2>/dev/null ", " >/dev/null ", " "]
STAND_INS = "ls echo cat env xargs find sh bash time sleep true test head grep timeout sort awk sed false".split()
SECONDS = 0.4  # a text that runs longer is ended; its mark counts all the same


def _listed(table: str) -> list[str]:
    """The tokens of a table: parted by ``|`` and by lines."""
    tokens = table.strip("\n").replace("\n", "|").split("|")
    names = {"NEWLINE": "\n", "BACKSLASH": "\\", "TAB": "\t", "\x01": "|"}
    return [re.sub("NEWLINE|BACKSLASH|TAB|\x01", lambda found: names[found[0]], token) for token in tokens]


def make_text(rng: random.Random) -> str:
    """One random text that holds ``rm``: any tokens, or harmless commands with a few tokens thrown in."""
    tokens, harmless = _listed(TOKENS), _listed(HARMLESS)
    if rng.random() < 0.8:
        text = "".join(rng.choice(harmless) + rng.choice([*GLUE, ""]) for _ in range(rng.randint(1, 3))) + "ls rm"
        for _ in range(rng.randint(0, 3)):
            at = rng.randrange(len(text) + 1)
            text = text[:at] + rng.choice(tokens) + text[at + rng.randint(0, 2) :]
        return text
    parts = [rng.choice(tokens) for _ in range(rng.randint(2, 13))]
    parts.insert(rng.randrange(len(parts) + 1), rng.choice(["rm a", "rm", "rm", "rm b\n"]))
    return "".join(parts)


class Stage:
    """An empty folder and a PATH of stand-ins."""

    def __init__(self, folder: Path) -> None:
        self.mark = folder / "mark"
        self.programs = folder / "bin"
        self.floor = folder / "floor"
        self.programs.mkdir()
        self.floor.mkdir()
        for name in STAND_INS:
            real = next((Path(at) / name for at in ("/usr/bin", "/bin") if (Path(at) / name).exists()), None)
            if real is not None:
                (self.programs / name).symlink_to(real)
        marker = self.programs / "rm"
        marker.write_text(f"#!/bin/sh\n: > {self.mark}\n", "utf-8")
        marker.chmod(0o755)

    def starts_rm(self, text: str) -> bool:
        """Run the text as the host would, and see whether ``rm`` was started."""
        self.mark.unlink(missing_ok=True)
        process = subprocess.Popen(
            ["bash", "--noprofile", "--norc", "-c", text],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.floor,
            env={"PATH": str(self.programs), "HOME": str(self.floor), "LANG": "C.UTF-8"}, start_new_session=True,
        )  # fmt: skip
        try:
            process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.wait()
        return self.mark.exists()


def fuzz(strings: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Judge ``strings`` texts; the counts, and the texts that hid a command."""
    rng = random.Random(seed)  # noqa: S311 a seed is wanted
    counts: Counter[str] = Counter()
    lost: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(Path(folder))
        for _ in range(strings):
            text = make_text(rng)
            first = classify(text, agrees=lambda _text, _script: True)
            if first.risk is Risk.DESTROY:
                counts["destroy at the first reading"] += 1
                continue
            if classify(text, agrees=agrees).risk is Risk.DESTROY:
                counts["destroy at the second reading"] += 1
                if stage.starts_rm(text):
                    counts["of these, a command lost by the first reading"] += 1
                continue
            counts["let pass, and run by bash"] += 1
            if stage.starts_rm(text):
                lost.append(text)
    return counts, lost


def main() -> int:
    """Say what was seen; 1 if a command was lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strings", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    counts, lost = fuzz(given.strings, given.seed)
    for what, count in counts.most_common():
        print(f"{count:8} {what}")
    print(f"{len(lost):8} lost commands")
    for text in lost:
        print(repr(text))
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
