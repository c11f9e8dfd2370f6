"""The story, by button, in a real browser: two requests and their approvals are all that the operator does."""

from __future__ import annotations

import json
from collections.abc import Callable

from playwright.sync_api import expect

from tests.harness.stack import Stack
from tests.harness.visitor import Visitor

ASK = "give me a small Debian container called web, and check that it runs"


def changes(stack: Stack, vmid: str) -> list[str]:
    """What the practice host's ``pct`` was told to change about one container, in order."""
    (log,) = stack.home.rglob("pct.log")
    calls = [json.loads(line)["argv"] for line in log.read_text().splitlines()]
    return [call[0] for call in calls if vmid in call and call[0] in {"create", "start", "stop", "destroy"}]


def test_asked_twice_approved_twice_and_done(rehearsal: Stack, visit: Callable[[Stack], Visitor]) -> None:
    operator = visit(rehearsal)
    page = operator.page
    operator.say(ASK)
    expect(page.locator(".bubble")).to_have_text(ASK)
    expect(page.locator("plan-card .exact").first).to_contain_text("pct create")
    command = page.locator("plan-card .exact").first.inner_text()
    operator.stands("waiting for you")

    approve = page.get_by_role("button", name="Approve plan")
    expect(approve).to_be_disabled()
    approve.click()
    expect(page.get_by_role("region", name="Assent window")).to_contain_text("Changes on practice run without asking")
    operator.stands("goal verified")
    expect(page.locator(".conclusion")).to_contain_text("Goal verified")
    expect(page.locator("plan-card .mark[data-state=succeeded]")).to_have_count(3)
    session_id = operator.session_id
    executions = rehearsal.api.snapshot(session_id)["executions"]
    assert [run["command"] for run in executions].count(command) == 1

    vmid = command.split()[2]
    operator.say("destroy it")
    typed = page.get_by_role("textbox", name="This cannot be undone")
    typed.wait_for()
    destroy = page.locator(".card.approval").get_by_role("button", name="Approve plan")
    typed.fill("another-host")
    expect(destroy).to_be_disabled()
    typed.fill("practice")
    destroy.click()
    expect(page.locator(".conclusion")).to_have_count(2)
    operator.stands("goal verified")
    failed = page.locator("command-card", has_text="container is running")
    expect(failed.first).to_contain_text("exit")
    expect(page.locator(".bubble")).to_have_text([ASK, "destroy it"])
    assert changes(rehearsal, vmid) == ["create", "start", "destroy", "stop", "destroy"]
    operator.same_after_reload()


def test_a_plan_denied_with_a_reason_changes_nothing(rehearsal: Stack, visit: Callable[[Stack], Visitor]) -> None:
    operator = visit(rehearsal)
    page = operator.page
    operator.say(ASK.replace("web", "wiki"))
    page.get_by_role("button", name="Deny…").click()
    page.get_by_role("textbox", name="Reason").fill("use less memory")
    page.get_by_role("textbox", name="Reason").press("Enter")
    expect(page.locator("plan-card .decided")).to_contain_text("Denied by ada")
    expect(page.locator("plan-card .decided")).to_contain_text("use less memory")
    operator.stands("ready")
    assert not any(run["risk"] != "read" for run in rehearsal.api.snapshot(operator.session_id)["executions"])
    operator.same_after_reload()
