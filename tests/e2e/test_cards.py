"""The cards that ask: some of a plan, an edit, a departure, a denial, and the window that an answer opens."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from playwright.sync_api import Locator, expect

from tests.harness.answers import Answer, text
from tests.harness.lab import Lab, asks, proposes
from tests.harness.visitor import Visitor

Visit = Callable[..., Visitor]
WAITS = text("It waits for you.")


def says(lab: Lab, visitor: Visitor, *script: Answer) -> None:
    """Say something that the model answers from ``script``."""
    word = f"word-{uuid.uuid4().hex[:12]}"
    lab.model.when(word, *script)
    visitor.say(f"please ({word})")


def save(card: Locator, command: str) -> None:
    """Put another command into the open editor, and save it."""
    field = card.locator(".edit textarea")
    field.fill(command)
    card.get_by_role("button", name="Save").click()
    expect(field).to_have_count(0)


def test_some_of_a_plan_is_approved(lab: Lab, visit: Visit) -> None:
    kept, left_out = f"touch {lab.file()}", f"mkdir {lab.file()}"
    operator = visit(lab.stack)
    says(lab, operator, proposes(kept, left_out), WAITS, asks(kept, left_out), WAITS)
    card = operator.page.locator("plan-card")
    card.get_by_role("checkbox", name="Include step 1").uncheck()
    card.get_by_role("checkbox", name="Include step 2").uncheck()
    expect(card).to_contain_text("No step is chosen")
    expect(card).to_contain_text("Nothing: choose a step, or deny.")
    expect(card.get_by_role("button", name="Approve 0 of 2 steps")).to_be_disabled()
    card.get_by_role("checkbox", name="Include step 1").check()
    expect(card.locator(".decision")).to_contain_text("Exactly the 1 command chosen of 2.")
    card.get_by_role("button", name="Approve 1 of 2 steps").click()
    expect(card.locator(".decided")).to_contain_text("Approved 1 of 2 steps by ada")
    asked = operator.page.locator("approval-card .card.approval")
    expect(asked.locator(".exact")).to_have_text(left_out)
    expect(asked).to_contain_text("You left step 2 of the plan out")
    expect(operator.page.locator(".event", has_text="Plan approved: 1 of 2 steps")).to_be_visible()
    expect(operator.page.locator(".markdown")).to_have_text(["It waits for you."] * 2)
    operator.same_after_reload()


def test_an_edited_step_is_classed_again_and_must_be_typed_for(lab: Lab, visit: Visit) -> None:
    folder = lab.file()
    planned, edited = f"mkdir {folder}", f"rm -rf {folder}"
    operator = visit(lab.stack)
    says(lab, operator, proposes(planned, f"touch {lab.file()}"), WAITS, text("I see."))
    card = operator.page.locator("plan-card")
    expect(card.locator(".typed")).to_be_hidden()
    card.get_by_role("button", name="Edit step 1").click()
    expect(card).to_contain_text("An edit is open")
    expect(card.get_by_role("button", name="Approve plan")).to_be_disabled()
    card.locator(".edit textarea").press("Escape")
    expect(card).not_to_contain_text("An edit is open")
    card.get_by_role("button", name="Edit step 1").click()
    save(card, edited)
    step = card.locator(".steps > li").first
    expect(step.locator(".exact")).to_have_text(edited)
    expect(step.locator(".risk")).to_have_text("destroy")
    expect(step).to_contain_text("edited by you")
    expect(step.locator("del")).to_contain_text("mkdir")
    expect(step.locator("ins")).to_contain_text("rm -rf")
    approve = card.get_by_role("button", name="Approve plan")
    expect(card.locator(".typed")).to_be_visible()
    expect(approve).to_be_disabled()
    card.get_by_role("checkbox", name="Include step 1").uncheck()
    expect(card.locator(".typed")).to_be_hidden()
    card.get_by_role("checkbox", name="Include step 1").check()
    card.locator(".typed input").fill("lab")
    approve.click()
    expect(card.locator(".decided")).to_contain_text("Approved by ada")
    expect(operator.page.locator(".markdown").last).to_have_text("I see.")
    operator.same_after_reload()


def test_an_edited_command_runs_as_edited(lab: Lab, visit: Visit) -> None:
    mine = lab.file()
    operator = visit(lab.stack)
    says(lab, operator, asks(f"touch {lab.file()}"), WAITS, text("Done."))
    card = operator.page.locator("approval-card")
    card.get_by_role("button", name="Edit command").click()
    save(card, f"touch {mine}")
    expect(card.locator(".exact")).to_have_text(f"touch {mine}")
    expect(card).to_contain_text("edited by you")
    card.get_by_role("button", name="Approve once").click()
    command = operator.page.locator("command-card")
    expect(command.locator(".state")).to_contain_text("exit 0")
    expect(command.locator("summary .command")).to_have_text(f"touch {mine}")
    assert mine.exists()
    expect(operator.page.locator(".markdown").last).to_have_text("Done.")
    operator.same_after_reload()


def test_an_edit_in_another_tab_takes_the_old_card_away(lab: Lab, visit: Visit) -> None:
    operator = visit(lab.stack)
    says(lab, operator, asks(f"touch {lab.file()}"), WAITS)
    card = operator.page.locator("approval-card")
    expect(card.get_by_role("button", name="Approve once")).to_be_enabled()
    approval = lab.api.pending(operator.session_id)
    body = {"command": "reboot", "digest": approval["digest"]}
    assert lab.api.put(f"/approvals/{approval['id']}/command", body).status == 200
    expect(card.locator(".exact")).to_have_text("reboot")
    expect(card.get_by_role("button", name="Approve once")).to_be_disabled()


def test_a_departure_from_the_plan_is_shown_word_by_word(lab: Lab, visit: Visit) -> None:
    planned = "touch /srv/nowhere/flag --no-create"
    operator = visit(lab.stack)
    says(lab, operator, proposes(planned), WAITS, asks("touch /srv/nowhere/other --no-create"), WAITS)
    operator.page.get_by_role("button", name="Only this command").click()
    asked = operator.page.locator("approval-card .card.approval")
    expect(asked).to_contain_text("Not as you approved it in step 1")
    expect(asked.locator("del")).to_have_text("/srv/nowhere/flag")
    expect(asked.locator("ins")).to_have_text("/srv/nowhere/other")


def test_a_denied_plan_shows_the_reason_and_tells_the_agent(lab: Lab, visit: Visit) -> None:
    operator = visit(lab.stack)
    says(lab, operator, proposes(f"touch {lab.file()}"), WAITS, text("Understood: not today."))
    card = operator.page.locator("plan-card")
    card.get_by_role("button", name="Deny…").click()
    card.get_by_role("textbox", name="Reason").fill("not today")
    card.get_by_role("textbox", name="Reason").press("Enter")
    expect(card.locator(".decided")).to_contain_text("not today")
    expect(operator.page.locator(".markdown").last).to_have_text("Understood: not today.")


def test_the_window_lists_what_ran_and_a_revoke_says_what_still_runs(lab: Lab, visit: Visit) -> None:
    flag = lab.file()
    slow = lab.until_file(flag, asynchronous=True)
    operator = visit(lab.stack)
    says(lab, operator, proposes(slow), WAITS, asks(slow), text("It runs."), text("It was stopped."))
    operator.page.get_by_role("button", name="Approve plan").click()
    bar = operator.page.get_by_role("region", name="Assent window")
    expect(bar).to_contain_text("1 command ran")
    bar.locator("summary").click()
    expect(bar.locator("li .command")).to_have_text(slow)
    expect(bar.locator("li .state")).to_contain_text("running")
    assert operator.overflow() <= 0
    bar.get_by_role("button", name="Revoke").click()
    expect(bar).to_be_hidden()
    rest = operator.page.get_by_role("region", name="Still running")
    expect(rest).to_contain_text("Window revoked. 1 command still runs.")
    rest.get_by_role("button", name="Stop them").click()
    expect(operator.page.locator("command-card .state")).to_contain_text("stopped")
    expect(rest).to_be_hidden()
    expect(operator.page.locator(".event", has_text="Assent window over: revoked")).to_be_visible()


def test_cards_fit_into_a_narrow_window(lab: Lab, visit: Visit) -> None:
    operator = visit(lab.stack, width=320, height=640)
    wide = f"touch {'x' * 300}"
    says(lab, operator, proposes(wide, f"rm -rf {lab.file()}", f"mkdir {lab.file()}"), WAITS)
    card = operator.page.locator("plan-card")
    expect(card.locator(".steps > li")).to_have_count(3)
    assert operator.overflow() <= 0
    card.get_by_role("checkbox", name="Include step 3").uncheck()
    card.get_by_role("button", name="Edit step 1").click()
    assert operator.overflow() <= 0
    save(card, f"mkdir {'y' * 300}")
    expect(card.locator(".steps > li").first).to_contain_text("edited by you")
    expect(card.get_by_role("checkbox", name="Include step 3")).not_to_be_checked()
    assert operator.overflow() <= 0
