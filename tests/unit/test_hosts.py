"""Names and addresses of hosts."""

from __future__ import annotations

import pytest

from nomos.domain.hosts import check_name, parse_address
from nomos.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("root@192.168.1.10", ("root", "192.168.1.10", 22)),
        ("root@nas:2222", ("root", "nas", 2222)),
        ("admin_1@nas.example.lan:65535", ("admin_1", "nas.example.lan", 65535)),
        ("root@[::1]", ("root", "::1", 22)),
        ("root@[fe80::1]:2200", ("root", "fe80::1", 2200)),
        ("_svc$@a", ("_svc$", "a", 22)),
    ],
)
def test_addresses(text: str, parts: tuple[str, str, int]) -> None:
    assert parse_address(text) == parts


@pytest.mark.parametrize(
    "text",
    [
        "", "nas", "@nas", "root@", "root@nas:", "root@nas:0", "root@nas:65536", "root@nas:-1", "root@nas:22x",
        "root@nas:999999", "-oProxyCommand=x@nas", "root@-oProxyCommand=x", "root@nas nas", " root@nas", "root@nas ",
        "root@nas\n", "ro ot@nas", "root@::1", "root@[::1", "root@[]", "root@nas/etc", "root@a@b", "root;id@nas",
        "root@$(id)", "root@nas:２２", "r" * 33 + "@nas", "root@" + "n" * 254,
    ],
)  # fmt: skip
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_address(text)
    assert caught.value.field == "address"


@pytest.mark.parametrize("name", ["nas", "a", "0", "pve-1.lan_x", "a" * 63])
def test_names(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize("name", ["", "NAS", "-nas", ".nas", "a b", "nas\n", "ä", "a/b", "a" * 64])
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_name(name)
    assert caught.value.field == "name"
