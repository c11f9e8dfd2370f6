"""What is installed, how it is set up, and what is promised about both."""

from __future__ import annotations

import ast
import errno
import logging
import os
import re
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import nomos

ROOT = Path(__file__).parents[2]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
RUNTIME: list[str] = PROJECT["project"]["dependencies"]
DEV: list[str] = PROJECT["project"]["optional-dependencies"]["dev"]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))

# What is imported under another name than it is installed by.
IMPORTED_AS = {
    "argon2-cffi": "argon2", "flask-migrate": "flask_migrate", "flask-sqlalchemy": "flask_sqlalchemy",
    "flask-wtf": "flask_wtf", "prometheus-client": "prometheus_client", "tree-sitter": "tree_sitter",
    "tree-sitter-bash": "tree_sitter_bash",
}  # fmt: skip

# What is installed but not imported by name.
NOT_IMPORTED = {
    "gevent": "gunicorn's gevent worker needs it; nobody else may import it",
    "gunicorn": "a program that is started",
    "psycopg": "SQLAlchemy imports it where DATABASE_URL asks for PostgreSQL",
    "shfmt-py": "a program: the second reading of a command",
}

# What is imported though another package brings it: part of that package's face.
BROUGHT_ALONG = {"cryptography": "paramiko", "httpx2": "anthropic", "markupsafe": "flask", "werkzeug": "flask"}


def plain(requirement: str) -> str:
    """A package's name in its normal form, without extras and version."""
    return re.split(r"[\[<>=~! ]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def pins(lock: Path) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+) ", lock.read_text(encoding="utf-8"), flags=re.MULTILINE))


def imported() -> Iterator[str]:
    for path in (ROOT / "nomos").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield node.module.partition(".")[0]


def test_the_version_is_the_changelogs_newest() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    found = re.search(r"^## (\S+)", changelog, flags=re.MULTILINE)
    assert found is not None
    assert found[1] == nomos.__version__


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_locks_hold_hashes_and_no_addresses(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")
    assert not re.search(r"://|^-|^\S+ @ ", text, flags=re.MULTILINE)
    for entry in re.split(r"^(?=[a-z0-9-]+==)", text, flags=re.MULTILINE)[1:]:
        assert "--hash=sha256:" in entry


def test_what_is_wanted_is_locked() -> None:
    runtime, dev = pins(ROOT / "requirements/runtime.txt"), pins(ROOT / "requirements/dev.txt")
    assert {plain(wanted) for wanted in RUNTIME} <= set(runtime)
    assert {plain(wanted) for wanted in DEV} <= set(dev)


def test_what_is_tested_is_what_is_served() -> None:
    runtime, dev = pins(ROOT / "requirements/runtime.txt"), pins(ROOT / "requirements/dev.txt")
    assert {package: dev.get(package) for package in runtime} == runtime


def test_every_dependency_has_its_reason() -> None:
    page = (ROOT / "docs/adr/0007-dependencies.md").read_text(encoding="utf-8").lower()
    assert [wanted for wanted in [*RUNTIME, *DEV] if plain(wanted) not in page] == []


def test_what_is_imported_is_declared_and_what_is_declared_is_imported() -> None:
    declared = {IMPORTED_AS.get(plain(wanted), plain(wanted)) for wanted in RUNTIME}
    libraries = {name for name in imported() if name not in sys.stdlib_module_names and name != "nomos"}
    libraries = {BROUGHT_ALONG.get(library, library) for library in libraries}
    assert libraries - declared == set()
    assert declared - libraries - set(NOT_IMPORTED) == set()


def test_every_target_of_the_makefile_has_its_sentence() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.*)$", makefile, flags=re.MULTILINE)
    assert phony is not None
    help_text = subprocess.run(["make", "-s"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert re.findall(r"^  make (\w+)", help_text, flags=re.MULTILINE) == phony[1].split()


def test_every_job_of_the_makefile_is_there_and_can_be_run() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"scripts/[\w.]+", makefile))
    assert [script for script in named if not (ROOT / script).exists()] == []
    shell = [path for path in (ROOT / "scripts").iterdir() if path.is_file() and not path.suffix]
    for path in [*shell, ROOT / ".ci/run"]:
        assert os.access(path, os.X_OK), path
        subprocess.run(["bash", "-n", str(path)], check=True)


def test_ci_runs_what_a_developer_runs() -> None:
    commands = (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()
    assert commands[-1] == "exec make test"


@pytest.mark.parametrize(
    ("number", "kept"),
    [(errno.ETIMEDOUT, False), (errno.EHOSTUNREACH, False), (errno.EMFILE, True)],
)
def test_only_readers_that_went_away_are_kept_out_of_the_log(number: int, kept: bool) -> None:
    filters = runpy.run_path(str(ROOT / "gunicorn.conf.py"))["StalledReaders"]()
    error = OSError(number, os.strerror(number))
    record = logging.LogRecord("gunicorn.error", logging.ERROR, "", 0, "x", None, (OSError, error, None))
    assert filters.filter(record) is kept


def test_gunicorn_refuses_a_wrong_setting_in_one_line() -> None:
    told = subprocess.run(
        [sys.executable, "gunicorn.conf.py"], cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "NOMOS_BIND": "nowhere"},
    )  # fmt: skip
    assert told.returncode == 1
    assert told.stderr.count("\n") == 1
    assert "NOMOS_BIND" in told.stderr
