"""The first run: the one-time link makes the account; a host is added, compared, trusted and reached, by page alone."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.harness.sshd import Sshd
from tests.harness.stack import Stack
from tests.harness.visitor import NAME, PASSWORD, Visitor


def test_from_the_link_to_a_reachable_host(tmp_path: Path, browser: Browser, sshd: Sshd) -> None:
    with Stack(tmp_path / "stack") as stack:
        link = stack.cli("setup-link").stdout.split()[-1]
        visitor = Visitor(browser, stack)
        page = visitor.page
        page.goto("/setup/" + link.rsplit("/", 1)[1])
        page.get_by_label("Name").fill(NAME)
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        page.get_by_label("Password again").fill(PASSWORD)
        page.get_by_role("button", name="Make the account").click()
        expect(page.get_by_role("heading", name="What should be done?")).to_be_visible()

        page.get_by_role("link", name="Hosts").click()
        public_key = page.locator("#public-key").inner_text()
        with (sshd.folder / "authorized_keys").open("a") as keys:
            keys.write(public_key + "\n")
        page.get_by_label("Name").fill("box")
        page.get_by_label("Address").fill(f"{sshd.user}@127.0.0.1:{sshd.port}")
        page.get_by_role("button", name="Add and test").click()
        row = page.locator(".hosts > li", has_text="box")
        expect(row).to_contain_text("It shows SHA256:")
        row.get_by_role("button", name="trust this key").click()
        expect(row).to_contain_text("Trusted key SHA256:")
        row.get_by_role("button", name="Test").click()
        expect(row).to_contain_text("reachable")
        visitor.silent()
        visitor.context.close()
