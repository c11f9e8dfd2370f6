"""An operator in a real browser: a context of its own, whose console must stay silent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from playwright.sync_api import Browser, ConsoleMessage, Error, Locator, Page, expect, sync_playwright

from tests.harness.stack import Stack
from tests.harness.wait import wait_for

LAUNCH = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
PATIENCE = 30_000  # milliseconds
expect.set_options(timeout=PATIENCE)
NAME, PASSWORD = "ada", "a long enough password"

# What an entry says when everything in it is open; what counts time is left out.
TIMELINE = """() => {
  for (const details of document.querySelectorAll("session-timeline details")) details.open = true;
  return [...document.querySelectorAll(".entries > *")].map((entry) => {
    const copy = entry.cloneNode(true);
    for (const node of copy.querySelectorAll(".age, .thinking, .facts, .note")) node.remove();
    return copy.textContent.replace(/\\s+/g, " ").trim();
  });
}"""


class Visitor:
    """``page`` is the browser's page. ``silent()`` fails if the console held anything but what ``expected`` matches."""

    def __init__(self, browser: Browser, stack: Stack, *, width: int = 1280, height: int = 900) -> None:
        self.stack = stack
        self.context = browser.new_context(viewport={"width": width, "height": height}, base_url=stack.url)
        self.context.set_default_timeout(PATIENCE)
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.expected: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", self._said)
        self.page.on("pageerror", self._broke)
        self.page.on("request", lambda request: self.requests.append(f"{request.method} {request.url}"))

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(f"{message.text} ({message.location.get('url')})")

    def _broke(self, error: Error) -> None:
        self.complaints.append(f"{error}\n{error.stack}")

    def silent(self) -> None:
        """The console holds nothing that was not expected."""
        rest = [text for text in self.complaints if not any(re.search(pattern, text) for pattern in self.expected)]
        assert rest == []

    def sign_in(self) -> None:
        """Sign in by the form; ends on the start page."""
        self.page.goto("/login")
        self.page.get_by_label("Name").fill(NAME)
        self.page.get_by_label("Password").fill(PASSWORD)
        self.page.get_by_role("button", name="Sign in").click()
        self.live()

    @property
    def words(self) -> Locator:
        """The composer's field."""
        return self.page.get_by_role("textbox", name="Message")

    def say(self, text: str) -> None:
        """Write to Nomos and press Enter."""
        self.words.fill(text)
        self.words.press("Enter")

    @property
    def session_id(self) -> str:
        """The session that is shown, by its address."""
        expect(self.page).to_have_url(re.compile("/sessions/"))
        return self.page.url.rsplit("/", 1)[1]

    def live(self) -> None:
        """Wait until the page's feed is live."""
        expect(self.page.locator("page-connection")).to_have_attribute("data-feed", "live")

    def stands(self, words: str) -> None:
        """Wait until the header says how the session stands."""
        expect(self.page.locator("page-header .chip")).to_have_text(words)

    def timeline(self) -> list[str]:
        """Every entry's words, with everything opened."""
        found: list[str] = self.page.evaluate(TIMELINE)
        return found

    def same_after_reload(self) -> None:
        """A fresh page draws the same timeline."""
        before = self.timeline()
        assert before
        self.page.reload()
        self.live()
        wait_for(lambda: self.timeline() == before, 10, f"the same timeline; before {before}, now {self.timeline()}")

    def overflow(self) -> int:
        """Pixels by which the page is wider than its window."""
        return int(
            self.page.evaluate("() => document.documentElement.scrollWidth - document.documentElement.clientWidth")
        )

    def theme(self, scheme: Literal["light", "dark"]) -> None:
        """Prefer a colour scheme."""
        self.page.emulate_media(color_scheme=scheme)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's Chromium, headless."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=LAUNCH)
        yield browser
        browser.close()
