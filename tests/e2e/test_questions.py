"""A command that asks, on its card: the question, a line for the answer, and what comes of it."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.harness.answers import text
from tests.harness.lab import Lab, asks
from tests.harness.visitor import Visitor


@pytest.mark.parametrize("width", [1280, 390])
def test_a_question_is_answered_on_the_card(
    lab: Lab, visit: Callable[..., Visitor], tmp_path: Path, width: int
) -> None:
    word = f"word-{uuid.uuid4().hex[:12]}"
    command = f"{lab.changing}; printf 'Overwrite it? [y/N] '; read -r reply; echo \"got $reply\""
    lab.model.when(word, asks(command), text("I wait."), text("It asks."), text("Done."))
    operator = visit(lab.stack, width=width)
    page = operator.page
    operator.say(f"do it ({word})")
    approve = page.locator("approval-card").get_by_role("button", name="Approve once")
    for part in (page.locator("approval-card .exact"), approve):
        part.evaluate("(node) => node.scrollIntoView({ block: 'center' })")
    approve.click()
    question = page.locator("command-question")
    expect(question).to_contain_text("Overwrite it? [y/N]")
    page.screenshot(path=tmp_path / "asks.png")
    assert operator.overflow() == 0
    line = question.get_by_label("Answer for the command")
    line.fill("yes")
    line.press("Enter")
    card = page.locator("command-card").first
    expect(card.locator(".state")).to_contain_text("exit 0")
    expect(question).to_be_hidden()
    card.locator("details").evaluate("(details) => (details.open = true)")
    expect(card.locator(".out")).to_contain_text("got yes")
