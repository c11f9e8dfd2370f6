"""Every page in both themes and at three widths: nothing overflows, the policy holds, the console is silent."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

import pytest
from playwright.sync_api import Browser, expect

from tests.harness.stack import Stack
from tests.harness.visitor import PASSWORD, Visitor

Visit = Callable[..., Visitor]
ASK = "give me a small Debian container called {}, and check that it runs"


@pytest.mark.parametrize("width", [1280, 390, 320])
def test_nothing_is_wider_than_the_window(rehearsal: Stack, visit: Visit, width: int) -> None:
    operator = visit(rehearsal, width=width, height=800)
    themes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for theme in themes:
        operator.theme(theme)
        for address in ("/", "/hosts"):
            operator.page.goto(address)
            operator.live()
            assert operator.overflow() <= 0, (address, theme)
    operator.page.goto("/")
    operator.live()
    operator.say(ASK.format(f"wide{width}"))
    expect(operator.page.locator(".card.approval")).to_be_visible()
    assert operator.overflow() <= 0


def test_a_question_on_a_phone_is_read_from_its_beginning(rehearsal: Stack, visit: Visit) -> None:
    operator = visit(rehearsal, width=390, height=500)
    operator.say(ASK.format("phone"))
    operator.stands("waiting for you")
    expect(operator.page.locator("plan-card h2")).to_be_in_viewport()
    approve = operator.page.get_by_role("button", name="Approve plan")
    expect(approve).not_to_be_in_viewport()
    expect(approve).to_be_disabled()
    for command in operator.page.locator("plan-card .exact").all():
        command.scroll_into_view_if_needed()
        expect(command).to_be_in_viewport(ratio=0.9)
    approve.scroll_into_view_if_needed()
    approve.click()
    expect(operator.page.locator("plan-card .decided")).to_contain_text("Approved by ada")


def test_the_policy_is_the_strict_one(rehearsal: Stack) -> None:
    policy = rehearsal.api.get("//login").headers["content-security-policy"]
    assert "unsafe" not in policy
    for rule in (
        "default-src 'none'",
        "script-src 'self'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ):
        assert rule in policy


def test_the_theme_is_kept_and_works_before_the_sign_in(rehearsal: Stack, browser: Browser) -> None:
    visitor = Visitor(browser, rehearsal)
    visitor.theme("light")
    visitor.page.goto("/login")
    switch = visitor.page.get_by_role("button", name=re.compile("^Theme: auto"))
    switch.click()
    visitor.page.get_by_role("button", name=re.compile("^Theme: light")).click()
    visitor.sign_in()
    expect(visitor.page.get_by_role("button", name=re.compile("^Theme: dark"))).to_be_visible()
    assert visitor.page.evaluate("() => getComputedStyle(document.body).colorScheme") == "dark"
    visitor.silent()
    visitor.context.close()


def test_a_wrong_password_and_an_unknown_page_are_said(rehearsal: Stack, browser: Browser, visit: Visit) -> None:
    visitor = Visitor(browser, rehearsal)
    visitor.expected.append(r"status of 401")
    visitor.page.goto("/login")
    visitor.page.get_by_label("Name").fill("ada")
    visitor.page.get_by_label("Password").fill(f"not {PASSWORD}")
    visitor.page.get_by_role("button", name="Sign in").click()
    expect(visitor.page.get_by_role("alert").first).to_contain_text("wrong")
    visitor.silent()
    visitor.context.close()
    operator = visit(rehearsal)
    operator.expected.append(r"status of 404")
    operator.page.goto("/sessions/00000000-0000-4000-8000-000000000000")
    expect(operator.page.get_by_role("link", name="To the sessions")).to_be_visible()
