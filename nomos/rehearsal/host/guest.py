"""What can be run inside a practice container: a closed table of stand-ins over its configuration."""

from __future__ import annotations

import re

from .common import COMMON, files, fixed, systemctl, uptime
from .console import Commands, Console
from .interpreter import interpret
from .pct_options import parts
from .state import Guest, Practice

_OS = {
    "debian": (
        'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nNAME="Debian GNU/Linux"\nVERSION_ID="12"\n'
        'VERSION="12 (bookworm)"\nVERSION_CODENAME=bookworm\nID=debian\n'
    ),
    "alpine": 'NAME="Alpine Linux"\nID=alpine\nVERSION_ID=3.22.0\nPRETTY_NAME="Alpine Linux v3.22"\n',
}
_UNITS = {"ssh": "active", "cron": "active", "systemd-networkd": "active", "postfix": "active"}
_PACKAGES = {
    "libc6": "2.36-9+deb12u13",
    "libssl3": "3.0.18-1~deb12u1",
    "openssl": "3.0.18-1~deb12u1",
    "libsystemd0": "252.39-1~deb12u1",
    "systemd": "252.39-1~deb12u1",
    "udev": "252.39-1~deb12u1",
    "perl-base": "5.36.0-7+deb12u3",
    "openssh-server": "1:9.2p1-2+deb12u7",
    "libxml2": "2.9.14+dfsg-1.3~deb12u4",
    "tzdata": "2025b-0+deb12u2",
    "base-files": "12.4+deb12u12",
    "bash": "5.2.15-2+b9",
    "login": "1:4.13+dfsg1-1+deb12u1",
    "passwd": "1:4.13+dfsg1-1+deb12u1",
}
_SECONDS_PER_PACKAGE = 0.7


def run_inside(practice: Practice, vmid: str, console: Console, words: list[str]) -> int:
    """Run one command in container ``vmid``, as lxc-attach does: 127 when there is no such program there."""
    commands = _commands(practice, vmid)
    name, *rest = words
    if name in ("sh", "bash", "/bin/sh", "/bin/bash"):
        if len(rest) >= 2 and rest[0] in ("-c", "-lc", "-ec"):
            return interpret(rest[1], commands, console, where="the practice container's shell")
        console.err(f"{name}: the practice container knows only the form: {name} -c 'command'\n")
        return 2
    command = commands.get(name.rpartition("/")[2])
    if command is None:
        console.err(
            f"lxc-attach: {vmid}: ../src/lxc/attach.c: lxc_attach_run_command: 1841 "
            f'No such file or directory - Failed to exec "{name}"\n'
        )
        return 127
    return command(console, words)


def _commands(practice: Practice, vmid: str) -> Commands:
    guest = practice.read()["guests"][vmid]
    config = guest["config"]
    hostname = config["hostname"]
    release = _OS.get(config["ostype"], _OS["debian"])
    contents = {
        "/etc/os-release": release,
        "/etc/hostname": f"{hostname}\n",
        "/etc/debian_version": "12.12\n",
        "/etc/resolv.conf": "nameserver 192.168.1.1\n",
    }
    folders = {
        "/": "bin\netc\nhome\nroot\ntmp\nusr\nvar\n",
        "/root": "",
        "/etc": "debian_version\nhostname\nos-release\n",
    }
    address = _address(config, vmid)

    def apt_get(console: Console, words: list[str]) -> int:
        return _apt_get(practice, vmid, console, words)

    def ip(console: Console, words: list[str]) -> int:
        console.out(_brief(address) if "-br" in words or "-brief" in words else _long(config, address))
        return 0

    def uname(console: Console, words: list[str]) -> int:
        long = f"Linux {hostname} 6.17.13-2-pve #1 SMP PREEMPT_DYNAMIC PMX 6.17.13-2 x86_64 GNU/Linux"
        console.out({"-r": "6.17.13-2-pve", "-a": long, "-n": hostname, "-m": "x86_64"}.get(words[-1], "Linux") + "\n")
        return 0

    def print_hostname(console: Console, words: list[str]) -> int:
        console.out(f"{address.partition('/')[0]} \n" if "-I" in words else f"{hostname}\n")
        return 0

    memory, swap = int(config["memory"]), int(config.get("swap", "0"))
    return {
        **COMMON,
        **files(contents, folders),
        "apt-get": apt_get,
        "apt": apt_get,
        "df": fixed(_disks(config)),
        "free": fixed(
            "               total        used        free      shared  buff/cache   available\n"
            f"Mem:    {memory:12d}{38:12d}{memory - 87:12d}{0:12d}{49:12d}{memory - 38:12d}\n"
            f"Swap:   {swap:12d}{0:12d}{swap:12d}\n"
        ),
        "hostname": print_hostname,
        "id": fixed("uid=0(root) gid=0(root) groups=0(root)\n"),
        "ip": ip,
        "systemctl": systemctl(_UNITS),
        "uname": uname,
        "uptime": uptime(guest["started"]),
        "whoami": fixed("root\n"),
    }


def _address(config: dict[str, str], vmid: str) -> str:
    """The address of ``eth0`` with its mask: the one that is set, or what the practice network would lease."""
    if "net0" not in config:
        return ""
    wanted = parts(config["net0"]).get("ip", "manual")
    return f"192.168.1.{100 + int(vmid) % 150}/24" if wanted == "dhcp" else "" if wanted == "manual" else wanted


def _brief(address: str) -> str:
    eth0 = f"eth0@if7         UP             {address} \n" if address else ""
    return f"lo               UNKNOWN        127.0.0.1/8 ::1/128 \n{eth0}"


def _long(config: dict[str, str], address: str) -> str:
    text = (
        "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000\n"
        "    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00\n"
        "    inet 127.0.0.1/8 scope host lo\n       valid_lft forever preferred_lft forever\n"
    )
    if "net0" in config:
        text += (
            "2: eth0@if7: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP group default qlen 1000\n"
            f"    link/ether {parts(config['net0']).get('hwaddr', '').lower()} brd ff:ff:ff:ff:ff:ff link-netnsid 0\n"
        )
    if address:
        text += (
            f"    inet {address} brd 192.168.1.255 scope global eth0\n       valid_lft forever preferred_lft forever\n"
        )
    return text


def _disks(config: dict[str, str]) -> str:
    size = parts(config["rootfs"], "volume").get("size", "4G")
    volume = config["rootfs"].partition(":")[2].partition(",")[0].replace("-", "--")
    device = f"/dev/mapper/pve-{volume}"
    return f"{'Filesystem':<34s}Size  Used Avail Use% Mounted on\n{device:<34s}{size:>4s}  561M  3.2G  15% /\n"


def _apt_get(practice: Practice, vmid: str, console: Console, words: list[str]) -> int:
    verbs = [word for word in words[1:] if not word.startswith("-")]
    flags = "".join(re.findall(r"(?<= -)[a-z]+", " ".join(words)))
    waiting = practice.read()["guests"][vmid]["upgradable"]
    if verbs == ["update"]:
        for number, suite in enumerate(("bookworm", "bookworm-updates", "bookworm-security"), start=1):
            console.work(0.5)
            console.out(f"Hit:{number} http://mirror.lan/debian {suite} InRelease\n")
        console.out("Reading package lists...\n")
        return 0
    if verbs not in (["upgrade"], ["dist-upgrade"], ["full-upgrade"]):
        console.err(f"E: the practice container knows only: {words[0]} update, upgrade, dist-upgrade\n")
        return 100
    console.out("Reading package lists...\nBuilding dependency tree...\nReading state information...\n")
    console.out("Calculating upgrade...\n")
    names = list(_PACKAGES)[:waiting]
    if names:
        console.out(f"The following packages will be upgraded:\n  {' '.join(names)}\n")
    console.out(f"{len(names)} upgraded, 0 newly installed, 0 to remove and 0 not upgraded.\n")
    if names and "y" not in flags:
        console.out("Do you want to continue? [Y/n] ")
        answer = console.read_line()
        if answer is None or answer.strip().lower() not in ("", "y", "yes"):
            console.out("Abort.\n")
            return 1
    _replace(console, names)
    with practice.changing() as state:
        guest: Guest | None = state["guests"].get(vmid)
        if guest is not None:
            guest["upgradable"] = 0
    return 0


def _replace(console: Console, packages: list[str]) -> None:
    steps = (
        "Get:{number} http://mirror.lan/debian bookworm/main amd64 {name} amd64 {version}\n",
        "Unpacking {name} ({version}) ...\n",
        "Setting up {name} ({version}) ...\n",
    )
    for step in steps:
        for number, name in enumerate(packages, start=1):
            console.work(_SECONDS_PER_PACKAGE if step is not steps[0] else _SECONDS_PER_PACKAGE / 3)
            console.out(step.format(number=number, name=name, version=_PACKAGES[name]))
    if packages:
        console.out("Processing triggers for libc-bin (2.36-9+deb12u13) ...\n")
