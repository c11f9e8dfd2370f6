#!/usr/bin/env python3
"""Play the story of the README in a real browser, and keep pictures of it in docs/screenshots.

Serves the rehearsal from a temporary data folder, on a free loopback port.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, expect, sync_playwright

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs/screenshots"
ASK = "give me a small Debian container called web, and check that it runs"
PATIENCE = 60_000  # milliseconds
WIDE, NARROW = (1280, 860), (390, 844)
LAUNCH = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


def free_port() -> int:
    """A loopback port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def listens(port: int) -> bool:
    """Whether someone answers on this loopback port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def served() -> Iterator[str]:
    """Serve the rehearsal for as long as the block lasts; gives the one-time link."""
    with tempfile.TemporaryDirectory() as home:
        port = free_port()
        own = {"NOMOS_HOME": home, "NOMOS_BIND": f"127.0.0.1:{port}", "NOMOS_REHEARSAL": "on", "DATABASE_URL": ""}
        environment = {**os.environ, **own}
        nomos = str(Path(sys.executable).with_name("nomos"))
        process = subprocess.Popen([nomos, "serve"], env=environment, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            link = next(word for line in process.stdout for word in line.split() if "/setup/" in word)
            deadline = time.monotonic() + 60
            while not listens(port):
                if time.monotonic() > deadline:
                    raise SystemExit("shots: Nomos does not answer")
                time.sleep(0.1)
            yield link
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=30)


def picture(page: Page, name: str) -> None:
    """Keep what is seen, in both themes and both widths."""
    themes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for theme in themes:
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        for (width, height), suffix in ((WIDE, ""), (NARROW, "-narrow")):
            page.set_viewport_size({"width": width, "height": height})
            page.screenshot(path=FOLDER / f"{name}-{theme}{suffix}.png")
    page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})


def play(browser: Browser, link: str) -> None:
    """The story, from the first account to the verified goal."""
    page = browser.new_page(viewport={"width": WIDE[0], "height": WIDE[1]})
    page.goto(link)
    page.get_by_label("Name", exact=True).fill("operator")
    for field in page.locator("input[type=password]").all():
        field.fill("a long enough password")
    page.get_by_role("button", name="Make the account").click()
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    page.get_by_role("textbox", name="Message").fill(ASK)
    picture(page, "start")
    page.get_by_role("textbox", name="Message").press("Enter")
    approve = page.get_by_role("button", name="Approve plan")
    expect(approve).to_be_enabled(timeout=PATIENCE)
    picture(page, "plan")
    last = page.get_by_role("checkbox", name="Include step").last
    last.uncheck()
    page.get_by_role("button", name="Edit step 2").click()
    picture(page, "some")
    page.get_by_role("button", name="Leave it").click()
    last.check()
    approve.click()
    expect(page.get_by_text("Goal verified").first).to_be_visible(timeout=PATIENCE)
    picture(page, "verified")
    page.get_by_role("textbox", name="Message").fill("destroy it")
    page.get_by_role("textbox", name="Message").press("Enter")
    page.get_by_role("textbox", name="This cannot be undone").wait_for(timeout=PATIENCE)
    picture(page, "destroy")


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    with served() as address, sync_playwright() as playwright:
        play(playwright.chromium.launch(executable_path="/usr/bin/chromium", args=LAUNCH), address)
