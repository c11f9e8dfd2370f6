"""A long command, while everything around it is killed one after the other; and a page that shows it all."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from nomos.store.engine import Store, configure
from nomos.store.hints import SocketHints
from tests.chaos import invariants
from tests.chaos.figures import LONG, Figures
from tests.chaos.script import Files, task
from tests.harness.database import new_app
from tests.harness.lab import turns
from tests.harness.model_server import ScriptedModelServer
from tests.harness.sshd import Sshd
from tests.harness.stack import Stack
from tests.harness.visitor import NAME, PASSWORD, Visitor
from tests.harness.wait import wait_for

SECONDS = 60 if LONG else 12
LINES = SECONDS * 4
PATIENCE = 120_000  # milliseconds


@pytest.mark.timeout(300)
def test_the_page_shows_it_all_whatever_is_killed(
    browser: Browser, model: ScriptedModelServer, sshd: Sshd, chaos_folder: Path, figures: Figures
) -> None:
    files = Files(chaos_folder / "long-files").make()
    with Stack(chaos_folder / "long", model_url=model.url, NOMOS_REHEARSAL="off", NOMOS_SYNC_SECONDS="1") as stack:
        stack.add_user(NAME, PASSWORD)
        stack.authorize(sshd)
        stack.trust_host("lab", sshd.target())
        operator = Visitor(browser, stack)
        # What a browser itself says of a server that goes away is meant.
        operator.expected.append(r"net::ERR_|Failed to load resource|EventSource")
        operator.sign_in()
        operator.say(task("lab", [files.command("long", lines=LINES, pause=0.25, code=3)]))
        session_id = operator.session_id
        assert stack.api.decide(stack.api.pending(session_id)).status == 200
        card = operator.page.locator("command-card")
        expect(card.locator(".out")).to_contain_text("long line 1 ", timeout=PATIENCE)
        operator.page.evaluate("() => { window.neverReloaded = true; }")
        began = time.monotonic()

        until(began + SECONDS / 6)
        assert stack.worker is not None
        assert stack.web is not None
        stack.worker.kill()
        stack.start_worker()
        until(began + SECONDS / 3)
        wait_for(sshd.kill_connections, 20, "the worker to follow again")
        until(began + SECONDS / 2)
        stack.worker.kill()
        stack.web.kill()
        stack.start_web()
        stack.start_worker()

        expect(card.locator(".state")).to_contain_text("exit 3", timeout=PATIENCE)
        operator.stands("goal verified")
        snapshot = stack.api.until_state(session_id, "done", 60)
        (execution,) = snapshot["executions"]
        assert (execution["state"], execution["exit_code"]) == ("failed", 3)
        assert len([turn for turn in turns(snapshot) if turn["origin"] == "continuation"]) == 1
        assert stack.api.get(f"/executions/{execution['id']}/output.txt").body == files.said(execution["id"])
        whole = lines_of(files.said(execution["id"]).decode("utf-8", "replace"))
        wait_for(lambda: lines_of(shown(operator)) == whole, 20, f"all output on the page: {shown(operator)[-300:]!r}")
        assert operator.page.evaluate("() => window.neverReloaded") is True
        operator.context.close()
        operator.silent()
        store = Store(
            configure(new_app(), f"sqlite:///{stack.home / 'nomos.db'}"), SocketHints(stack.home / "hints")
        )  # fmt: skip
        assert invariants.check(store, files).faults == []
        store.close()
    figures.facts.append(
        f"A command of {SECONDS} s, its worker killed after {SECONDS // 6} s, SSH cut after {SECONDS // 3} s, web and "
        f"worker killed after {SECONDS // 2} s: {LINES} lines complete, exit code true, continued once, and an open "
        "page in Chromium showed all of it without a reload."
    )


def until(moment: float) -> None:
    """Let the story's time pass: when something happens is a part of it."""
    wait_for(lambda: time.monotonic() >= moment, SECONDS, "the clock")


def shown(operator: Visitor) -> str:
    """The output as the page shows it."""
    return str(operator.page.evaluate("() => document.querySelector('command-card .out').textContent"))


def lines_of(output: str) -> list[str]:
    """The lines of an output, without what a terminal does not show."""
    return [line for line in re.split(r"[\r\n\ufffd]+", output) if line]
