"""How ``pct`` checks its words: the exact complaints of Proxmox's argument layer (pve-common; ``ssh.md`` 3)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

Values = dict[str, str]


class Refused(Exception):
    """``pct`` ends with a message on standard error: before its work (a check) or during it (a failed task)."""

    def __init__(self, text: str, code: int = 255) -> None:
        self.text = text
        self.code = code
        super().__init__(text)


class BadUse(Exception):
    """The words do not fit; ``str()`` is what stands before the usage line."""


class Kind(NamedTuple):
    """What a value must look like: ``check`` returns complaints about it, as the text behind ``name: ``."""

    check: Callable[[str], str | None]
    flag: bool = False


def _pattern(pattern: str, complaint: str) -> Kind:
    return Kind(lambda value: None if re.fullmatch(pattern, value, re.ASCII) else f"invalid format - {complaint}")


def _integer(low: int, high: int | None = None) -> Kind:
    def check(value: str) -> str | None:
        if not re.fullmatch(r"-?\d+", value, re.ASCII):
            return f"type check ('integer') failed - got '{value}'"
        if int(value[:12]) < low:
            return f"value must have a minimum value of {low}"
        if high is not None and int(value[:12]) > high:
            return f"value must have a maximum value of {high}"
        return None

    return Kind(check)


def _one_of(*values: str) -> Kind:
    listed = f"value '{{}}' does not have a value in the enumeration '{', '.join(values)}'"
    return Kind(lambda value: None if value in values else listed.format(value))


def _vmid(value: str) -> str | None:
    if not re.fullmatch(r"-?\d+", value, re.ASCII):
        return f"type check ('integer') failed - got '{value}'"
    valid = re.fullmatch(r"[1-9]\d{2,8}", value, re.ASCII)
    return None if valid else "invalid format - value does not look like a valid VM ID"


def _switch(value: str) -> str | None:
    known = value.lower() in ("0", "1", "on", "off", "yes", "no", "true", "false")
    return None if known else f"type check ('boolean') failed - got '{value}'"


def _ipv4_network(value: str) -> str | None:
    if value in ("dhcp", "manual"):
        return None
    address, _, bits = value.partition("/")
    fits = re.fullmatch(r"\d{1,2}", bits, re.ASCII) and int(bits) <= 32 and _is_ipv4(address)
    return None if fits else "invalid format - value does not look like a valid ipv4 network configuration"


def _is_ipv4(value: str) -> bool:
    return bool(re.fullmatch(r"\d{1,3}(\.\d{1,3}){3}", value, re.ASCII)) and all(int(n) < 256 for n in value.split("."))


def _ipv4(value: str) -> str | None:
    return None if _is_ipv4(value) else "invalid format - value does not look like a valid ipv4 address"


TEXT = Kind(lambda _value: None)
SWITCH = Kind(_switch, flag=True)
VMID = Kind(_vmid)
HOSTNAME = _pattern(
    r"(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*",
    "value does not look like a valid DNS name",
)
SECONDS = _integer(0)
PASSWORD = Kind(lambda value: None if len(value) >= 5 else "value must be at least 5 characters long")
SNAPSHOT = Kind(
    lambda value: (
        None
        if re.fullmatch(r"[A-Za-z][\w-]{1,39}", value, re.ASCII)
        else f"invalid format - invalid configuration ID '{value}'"
    )
)
SIZE = _pattern(r"\+?\d{1,6}(\.\d+)?[KMGT]?", "value does not match the regex pattern")
LOCK = _one_of(
    "backup", "create", "destroyed", "disk", "fstrim", "migrate", "mounted", "rollback", "snapshot", "snapshot-delete"
)

_NET = {
    "name": TEXT,
    "bridge": TEXT,
    "hwaddr": _pattern(
        r"(?i:[0-9a-f][02468ace](:[0-9a-f]{2}){5})", "value does not look like a valid unicast MAC address"
    ),
    "mtu": _integer(64, 65535),
    "ip": Kind(_ipv4_network),
    "gw": Kind(_ipv4),
    "ip6": _pattern(
        r"auto|dhcp|manual|[0-9A-Fa-f:]+/\d{1,3}", "value does not look like a valid ipv6 network configuration"
    ),
    "gw6": _pattern(r"[0-9A-Fa-f:]+", "value does not look like a valid ipv6 address"),
    "firewall": SWITCH,
    "tag": _integer(1, 4094),
    "trunks": TEXT,
    "rate": TEXT,
    "link_down": SWITCH,
    "host-managed": SWITCH,
    "type": _one_of("veth"),
}
_DISK = {
    "volume": TEXT,
    "size": _pattern(r"\d+(\.\d+)?[KMGT]?", "value does not look like a valid disk size"),
    "acl": SWITCH,
    "mountoptions": TEXT,
    "quota": SWITCH,
    "replicate": SWITCH,
    "ro": SWITCH,
    "shared": SWITCH,
}

CONFIG: dict[str, Kind] = {
    "arch": _one_of("amd64", "i386", "arm64", "armhf", "riscv32", "riscv64"),
    "cmode": _one_of("shell", "console", "tty"),
    "console": SWITCH,
    "cores": _integer(1, 8192),
    "cpulimit": _integer(0, 8192),
    "cpuunits": _integer(0, 500_000),
    "description": TEXT,
    "features": TEXT,
    "hookscript": TEXT,
    "hostname": HOSTNAME,
    "lock": LOCK,
    "memory": _integer(16),
    "nameserver": TEXT,
    "onboot": SWITCH,
    "ostype": _one_of(
        "debian",
        "devuan",
        "ubuntu",
        "centos",
        "fedora",
        "opensuse",
        "archlinux",
        "alpine",
        "gentoo",
        "nixos",
        "unmanaged",
    ),
    "protection": SWITCH,
    "rootfs": TEXT,
    "searchdomain": TEXT,
    "startup": TEXT,
    "swap": _integer(0),
    "tags": TEXT,
    "template": SWITCH,
    "timezone": TEXT,
    "tty": _integer(0, 6),
    "unprivileged": SWITCH,
}
"""What a container's configuration may hold, besides ``net0`` … and ``mp0`` …"""

CREATE: dict[str, Kind] = CONFIG | {
    "bwlimit": _integer(0),
    "force": SWITCH,
    "ignore-unpack-errors": SWITCH,
    "password": PASSWORD,
    "pool": TEXT,
    "ssh-public-keys": TEXT,
    "start": SWITCH,
    "storage": TEXT,
    "unique": SWITCH,
}


def read_words(words: list[str], known: dict[str, Kind], *, indexed: bool) -> tuple[list[str], Values, str]:
    """Split words into arguments and options, as Getopt::Long does.

    :param indexed: whether ``net[n]`` and ``mp[n]`` are known too. :returns: arguments, options, and Getopt's own
        complaints (``Unknown option: x``), each with its line end.
    """
    arguments, options, complaints = list[str](), Values(), ""
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--":
            arguments += rest
            break
        if not re.match(r"--?[A-Za-z]", word):
            arguments.append(word)
            continue
        name, equals, value = word.lstrip("-").partition("=")
        kind = known.get(name) or (TEXT if indexed and re.fullmatch(r"(net|mp)\d{1,3}", name, re.ASCII) else None)
        if kind is None:
            complaints += f"Unknown option: {name}\n"
        elif equals:
            options[name] = value
        elif kind.flag and not (rest and _switch(rest[0]) is None):
            options[name] = "1"
        elif rest:
            options[name] = rest.pop(0)
        else:
            complaints += f"Option {name} requires an argument\n"
    return arguments, options, complaints


def complaints_about(options: Values, known: dict[str, Kind]) -> str:
    """Every complaint about the options' values, in the words that follow ``400 Parameter verification failed.``"""
    found = ""
    for name, value in options.items():
        complaint = known[name].check(value) if name in known else None
        if complaint:
            found += f"{name}: {complaint}\n"
        elif name == "rootfs" or re.fullmatch(r"mp\d+", name):
            needed = ("volume",) if name == "rootfs" else ("mp", "volume")
            found += _complaints_about_parts(name, value, _DISK | {"mp": TEXT, "backup": SWITCH}, needed, "volume")
        elif re.fullmatch(r"net\d+", name):
            found += _complaints_about_parts(name, value, _NET, ("name",), None)
    return found


def parts(value: str, default: str | None = None) -> Values:
    """Read a property string, ``key=value,key=value``; a word alone belongs to ``default``."""
    read = Values()
    for part in value.split(","):
        key, equals, text = part.partition("=")
        if equals:
            read[key] = text
        elif default and part:
            read[default] = part
    return read


def joined(values: Values, first: str) -> str:
    """Write a property string as Proxmox keeps it: the key ``first``, then the others in alphabetical order."""
    rest = [f"{key}={values[key]}" for key in sorted(values) if key != first]
    head = values.get(first, "")
    return ",".join([head if first == "volume" else f"{first}={head}", *rest])


def on(options: Values, name: str, default: bool = False) -> bool:
    """Whether a switch is on."""
    return options[name].lower() in ("1", "on", "yes", "true") if name in options else default


def _complaints_about_parts(
    name: str, value: str, known: dict[str, Kind], needed: tuple[str, ...], default: str | None
) -> str:
    if default is None and any(part and "=" not in part for part in value.split(",")):
        return f"{name}: invalid format - value without key, but schema does not define a default key\n"
    given, found = parts(value, default), ""
    for key, text in given.items():
        if key not in known:
            found += (
                f"{name}.{key}: property is not defined in schema and the schema does not allow additional properties\n"
            )
        elif complaint := known[key].check(text):
            found += f"{name}.{key}: {complaint}\n"
    for key in needed:
        if key not in given:
            found += f"{name}.{key}: property is missing and it is not optional\n"
    # the inner message ends with a line end of its own, hence the empty line
    return f"{name}: invalid format - format error\n{found}\n" if found else ""
