"""The project keeps its shape: what a newcomer is told about it is so."""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted((ROOT / "nomos").rglob("*.py"))
SCRIPTS = sorted((ROOT / "static/js").rglob("*.js"))
DOCS = runpy.run_path(str(ROOT / "scripts/docs.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))

# Lines. A table of cases is no harder to read for being long.
LONGEST = {"nomos/**/*.py": 350, "static/js/**/*.js": 350, "static/css/**/*.css": 350, "tests/**/*.py": 500}

# A file may be longer for a reason.
LONG = {"nomos/store/rows.py": "all tables beside each other, as one reads a schema"}

# Time is an argument where changes are made and decided.
MAY_READ_A_CLOCK = {"nomos/actions/growth.py": "it paces its own commits, and stamps no change with what it reads"}

# Waiting by the clock makes tests slow on a fast machine and wrong on a slow one.
MAY_SLEEP = {"tests/harness/wait.py": "it is what everything else waits with"}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def calls(path: Path) -> Iterator[str]:
    """The dotted names of all that a file calls."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)


def imported(path: Path) -> Iterator[str]:
    """The dotted names of all modules that a file imports."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


@pytest.mark.parametrize("page", DOCS["MADE"])
def test_what_the_pages_repeat_is_what_the_code_says(page: str) -> None:
    assert (ROOT / page).read_text(encoding="utf-8") == DOCS["with_made_part"](page), "run: make docs"


@pytest.mark.parametrize("path", [*MODULES, *SCRIPTS], ids=name)
def test_every_module_says_what_it_is(path: Path) -> None:
    assert DOCS["words"](path)


def test_every_folder_of_modules_is_a_package() -> None:
    folders = {path.parent for path in MODULES}
    assert [name(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


@pytest.mark.parametrize(("pattern", "longest"), LONGEST.items())
def test_files_do_one_thing(pattern: str, longest: int) -> None:
    lengths = {name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in ROOT.glob(pattern)}
    assert {path: lines for path, lines in lengths.items() if lines > longest and path not in LONG} == {}


@pytest.mark.parametrize("folder", ["actions", "domain"])
def test_time_is_an_argument(folder: str) -> None:
    clocks = re.compile(r"(datetime|date)\.(now|utcnow|today)|time\.(time|monotonic|clock_gettime|sleep)\w*")
    files = [path for path in (ROOT / "nomos" / folder).rglob("*.py") if name(path) not in MAY_READ_A_CLOCK]
    assert {name(path) for path in files for call in calls(path) if clocks.match(call)} == set()


def test_nothing_is_left_unfinished() -> None:
    unfinished = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|raise NotImplementedError")
    files = [path for path in [*MODULES, *TESTS] if path != Path(__file__)]
    assert [name(path) for path in files if unfinished.search(path.read_text(encoding="utf-8"))] == []


def test_tests_wait_for_conditions() -> None:
    assert {name(path) for path in TESTS if "time.sleep" in set(calls(path))} <= set(MAY_SLEEP)


def test_tests_use_real_parts() -> None:
    assert [name(path) for path in TESTS if any(module.startswith("unittest.mock") for module in imported(path))] == []
    patched = re.compile(r"monkeypatch\.setattr\(|mocker\b")
    files = [path for path in TESTS if path != Path(__file__)]
    assert [name(path) for path in files if patched.search(path.read_text(encoding="utf-8"))] == []


def test_a_missing_program_is_a_failure_and_never_a_skip() -> None:
    skips = re.compile(r"pytest\.(skip|xfail|importorskip)|mark\.(skip|xfail)")
    files = [path for path in TESTS if path != Path(__file__)]
    assert [name(path) for path in files if skips.search(path.read_text(encoding="utf-8"))] == []


def test_every_variable_that_is_read_is_documented() -> None:
    page = (ROOT / "docs/settings.md").read_text(encoding="utf-8")
    files = [*MODULES, ROOT / "gunicorn.conf.py", *(ROOT / "nomos").rglob("*.sh")]
    read = {word for path in files for word in re.findall(r"\bNOMOS_[A-Z_]*[A-Z]\b", path.read_text(encoding="utf-8"))}
    assert {variable for variable in read if f"`{variable}`" not in page} == set()
