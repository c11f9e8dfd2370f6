"""What the page does whatever happens around it: reloads, tabs, other sessions, cut wires, lost sign-ins."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable

from playwright.sync_api import Route, expect

from tests.harness.answers import Answer, text
from tests.harness.lab import Lab, asks
from tests.harness.visitor import Visitor

Visit = Callable[..., Visitor]
LOST = r"Failed to load resource|net::ERR_"


def says(lab: Lab, text: str, *script: Answer) -> str:
    """Words for the operator that the model answers from ``script``."""
    word = f"word-{uuid.uuid4().hex[:12]}"
    lab.model.when(word, *script)
    return f"{text} ({word})"


def test_reload_in_mid_turn(lab: Lab, visit: Visit) -> None:
    held = lab.model.hold(text("The disk is half full."))
    operator = visit(lab.stack)
    operator.say(says(lab, "Is the disk filling?", asks("uptime"), held))
    assert held.reached.wait(30)
    expect(operator.page.locator("command-card .state")).to_contain_text("exit 0")
    operator.same_after_reload()
    expect(operator.page.locator(".turn .thinking")).to_contain_text("Working")
    held.release()
    expect(operator.page.locator(".markdown").last).to_have_text("The disk is half full.")
    expect(operator.page.locator(".turn .thinking")).to_be_hidden()
    operator.same_after_reload()


def test_words_come_as_they_are_said(lab: Lab, visit: Visit) -> None:
    held = lab.model.hold(text("one two three four five six seven eight nine ten"), after=4)
    operator = visit(lab.stack)
    operator.say(says(lab, "count", held))
    expect(operator.page.locator(".markdown")).to_contain_text("one")
    expect(operator.page.locator(".markdown")).not_to_contain_text("ten")
    held.release()
    expect(operator.page.locator(".markdown")).to_contain_text("nine ten")


def test_one_card_in_two_browsers_settles_in_both(lab: Lab, visit: Visit) -> None:
    first = visit(lab.stack)
    first.say(says(lab, "touch it", asks("touch it"), text("It waits for you."), text("Done.")))
    expect(first.page.get_by_role("button", name="Approve once")).to_be_enabled()
    second = visit(lab.stack)
    second.page.goto(first.page.url)
    expect(second.page.locator("approval-card .exact")).to_have_text("touch it")
    first.page.get_by_role("button", name="Approve once").click()
    for operator in (first, second):
        expect(operator.page.locator("approval-card .decided")).to_contain_text("Approved once by ada", timeout=1000)
        expect(operator.page.locator("command-card .state")).to_contain_text("exit 0")
        expect(operator.page.locator(".markdown").last).to_have_text("Done.")


def test_the_loser_of_a_race_is_told_who_decided(lab: Lab, visit: Visit) -> None:
    operator = visit(lab.stack)
    operator.expected.append(r"status of 409")
    operator.say(says(lab, "touch it", asks("touch it"), text("It waits."), text("Well.")))
    approve = operator.page.get_by_role("button", name="Approve once")
    expect(approve).to_be_enabled()

    def late(route: Route) -> None:
        lab.stack.api.decide(lab.stack.api.pending(operator.session_id), "deny", note="no")
        route.continue_()

    operator.page.route("**/decision", late)
    approve.click()
    expect(operator.page.locator("approval-card")).to_contain_text("Denied by tests")


def test_another_session_closes_the_old_feed(lab: Lab, visit: Visit) -> None:
    held = lab.model.hold(text("Late words."))
    first_words = says(lab, "first", held)
    second_words = says(lab, "second", text("Words of the second."))
    operator = visit(lab.stack)
    operator.say(first_words)
    first = operator.session_id
    assert held.reached.wait(30)
    with operator.page.expect_event("requestfailed", lambda request: f"{first}/events" in request.url):
        operator.page.get_by_role("link", name="New session", exact=True).click()
    expect(operator.page.locator(".entries > *")).to_have_count(0)
    expect(operator.page.get_by_role("heading", name="What should be done?")).to_be_visible()
    operator.say(second_words)
    expect(operator.page.locator(".markdown")).to_have_text("Words of the second.")
    held.release()
    row = operator.page.locator(f"session-list a[href$='{first}']")
    expect(row).to_contain_text("ready")
    expect(operator.page.locator(".markdown")).to_have_text("Words of the second.")
    row.click()
    expect(operator.page.locator(".markdown")).to_have_text("Late words.")
    operator.page.go_back()
    expect(operator.page.locator(".markdown")).to_have_text("Words of the second.")


def test_words_that_cannot_be_sent_are_kept(lab: Lab, visit: Visit) -> None:
    operator = visit(lab.stack)
    operator.expected.append(LOST)
    operator.page.route("**/messages", lambda route: route.abort())
    words = says(lab, "can you hear me?", text("Now I hear you."))
    operator.say(words)
    expect(operator.page.locator(".delivery")).to_contain_text("Not sent. Nomos cannot be reached from here.")
    operator.page.get_by_role("button", name="Edit").click()
    expect(operator.words).to_have_value(words)
    operator.words.press("Enter")
    operator.page.unroute("**/messages")
    operator.page.get_by_role("button", name="Try again").click()
    expect(operator.page.locator(".markdown")).to_have_text("Now I hear you.")
    expect(operator.page.locator(".bubble")).to_have_count(1)
    expect(operator.page.locator(".delivery")).to_be_empty()


def test_a_draft_survives_a_reload_and_another_session(lab: Lab, visit: Visit) -> None:
    operator = visit(lab.stack)
    operator.words.fill("half a thou")
    operator.page.reload()
    expect(operator.words).to_have_value("half a thou")
    other = lab.stack.api.new_session()
    operator.page.locator(f"session-list a[href$='{other}']").click()
    expect(operator.words).to_have_value("")
    operator.page.go_back()
    expect(operator.words).to_have_value("half a thou")


def test_a_restarted_server_is_found_again(lab: Lab, visit: Visit) -> None:
    operator = visit(lab.stack)
    operator.expected.append(LOST)
    operator.say(says(lab, "one", text("Before."), text("After.")))
    expect(operator.page.locator(".markdown")).to_have_text("Before.")
    assert lab.stack.web is not None
    lab.stack.web.kill()
    expect(operator.page.locator("page-connection")).to_have_text("reconnecting")
    lab.stack.start_web()
    operator.live()
    operator.say("two")
    expect(operator.page.locator(".markdown").last).to_have_text("After.")
    operator.same_after_reload()


def test_a_lost_sign_in_is_said_and_nothing_is_lost(lab: Lab, visit: Visit) -> None:
    operator = visit(lab.stack)
    operator.expected.append(r"status of 401")
    operator.context.clear_cookies()
    operator.say("are you there?")
    expect(operator.page.locator("#signed-out")).to_contain_text("You are signed out.")
    expect(operator.page.locator(".bubble")).to_have_text("are you there?")
    expect(operator.page.locator(".delivery")).to_contain_text("Not sent.")


def test_the_worker_being_away_is_said(lab: Lab, visit: Visit) -> None:
    operator = visit(lab.stack)
    operator.live()
    assert lab.stack.worker is not None
    lab.stack.worker.kill()
    expect(operator.page.locator("page-connection")).to_have_text("worker away")
    lab.stack.start_worker()
    expect(operator.page.locator("page-connection")).to_have_text("live")


def test_output_is_text_in_colours_and_stop_stops(lab: Lab, visit: Visit) -> None:
    command = lab.changing + r"; printf '\033[31mred\033[0m <b>x</b>\n'; sleep 300"
    operator = visit(lab.stack)
    operator.say(says(lab, "paint", asks(command), text("It waits."), text("Stopped, I see.")))
    operator.page.get_by_role("button", name="Approve once").click()
    expect(operator.page.locator(".out")).to_contain_text("red <b>x</b>")
    expect(operator.page.locator(".out .f1")).to_have_text("red")
    operator.page.locator("command-card").get_by_role("button", name="Stop").click()
    expect(operator.page.locator("command-card .state")).to_contain_text(re.compile("^stopped"))


def test_a_window_is_shown_and_can_be_revoked(lab: Lab, visit: Visit) -> None:
    operator = visit(lab.stack)
    operator.say(says(lab, "touch it", asks("touch it"), text("It waits."), text("Done.")))
    operator.page.get_by_role("button", name="Approve, and allow changes on lab").click()
    bar = operator.page.get_by_role("region", name="Assent window")
    expect(bar).to_contain_text("Changes on lab run without asking · 30 min left")
    bar.get_by_role("button", name="Revoke").click()
    expect(bar).to_be_hidden()
