"""Ways back on the page: undo on a command's card, what the host would undo, and a snapshot first."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.harness.answers import Answer, calls, text
from tests.harness.lab import Lab, run
from tests.harness.visitor import Visitor

Visit = Callable[..., Visitor]


def says(lab: Lab, words: str, *script: Answer) -> str:
    """Words for the operator that the model answers from ``script``."""
    word = f"word-{uuid.uuid4().hex[:12]}"
    lab.model.when(word, *script)
    return f"{words} ({word})"


@pytest.mark.parametrize("width", [1280, 390])
def test_undo_this_step(lab: Lab, visit: Visit, tmp_path: Path, width: int) -> None:
    mark = lab.file()
    do, undo = f"touch {mark}", f"mv {mark} {mark}.gone"
    plan = {"goal": "make it", "verify": "look", "steps": [{"host": "lab", "command": do, "why": "w", "undo": undo}]}
    operator = visit(lab.stack, width=width)
    page = operator.page
    operator.say(
        says(
            lab,
            "make it",
            calls(("propose_plan", plan)),
            text("Shall I?"),
            calls(run(do)),
            text("Done."),
            text("Gone."),
        )
    )
    page.get_by_role("button", name="Approve plan").click()
    expect(page.locator(".markdown").last).to_have_text("Done.")
    card = page.locator("command-card").first
    card.locator("details").evaluate("(details) => (details.open = true)")
    card.get_by_role("button", name="Undo this step").click()
    asked = page.locator(".events approval-card")
    expect(asked.locator(".exact")).to_have_text(undo)
    expect(card.get_by_role("button", name="Undo this step")).to_be_hidden()
    assert mark.exists()
    approve = asked.get_by_role("button", name="Approve once")
    for part in (asked.locator(".exact"), approve):
        part.evaluate("(node) => node.scrollIntoView({ block: 'center' })")
    approve.click()
    expect(page.locator(".markdown").last).to_have_text("Gone.")
    expect(page.locator(".events command-card .state")).to_contain_text("exit 0")
    assert not mark.exists()
    assert operator.overflow() == 0
    page.screenshot(path=tmp_path / "undo.png", full_page=True)
    operator.same_after_reload()


@pytest.mark.parametrize("width", [1280, 390])
def test_a_card_says_what_the_host_would_undo(lab: Lab, visit: Visit, tmp_path: Path, width: int) -> None:
    operator = visit(lab.stack, width=width)
    operator.say(says(lab, "close it", calls(run("ufw enable")), text("It waits."), text("No.")))
    card = operator.page.locator("approval-card")
    expect(card).to_contain_text("If Nomos cannot sign in again, the host undoes this by itself: ufw disable")
    operator.page.screenshot(path=tmp_path / "guard.png", full_page=True)
    assert operator.overflow() == 0


def test_a_snapshot_is_a_choice_on_the_card(lab: Lab, visit: Visit, tmp_path: Path) -> None:
    operator = visit(lab.stack)
    page = operator.page
    command = "pct set 105 --memory 512"
    operator.say(says(lab, "more", calls(run(command, "practice")), text("It waits."), text("It failed.")))
    card = page.locator("approval-card")
    expect(card).to_contain_text("No snapshot is taken first.")
    page.get_by_label("Take a snapshot of the guest first").check()
    page.screenshot(path=tmp_path / "snapshot.png", full_page=True)
    card.get_by_role("button", name="Approve once").click()
    expect(page.locator(".events command-card").first).to_contain_text("pct snapshot 105 nomos-")
    expect(page.locator(".markdown").last).to_have_text("It failed.")
    operator.same_after_reload()
