"""``pct create``: six to eight seconds of work in pieces, on LVM-thin (facts: ``ssh.md`` 3.3, 3.4)."""

from __future__ import annotations

import base64
import os
import re
import uuid

from .pct_options import BadUse, Refused, Values, joined, on, parts
from .pct_work import Call, created, removed
from .state import BRIDGES, NODE, STORAGES, TEMPLATES, Guest

_ARCHIVE = re.compile(r"vztmpl/([^/\s]+\.tar\.(?:gz|xz|zst|bz2))")
_NOT_KEPT = frozenset(
    {"bwlimit", "force", "ignore-unpack-errors", "password", "pool", "ssh-public-keys", "start", "storage", "unique"}
)
_KEY_KINDS = ("rsa", "ecdsa", "ed25519")
_GROUP = 32_768  # blocks of 4 KiB in an ext4 block group
_BACKUP_GROUPS = sorted({1} | {b**n for b in (3, 5, 7) for n in range(1, 9)})


class CreateFailed(Refused):
    """The task failed after it had begun."""

    def __init__(self, vmid: str, text: str) -> None:
        super().__init__(f"unable to create CT {vmid} - {text}")


def create(call: Call) -> None:
    """Make a container; a failed or interrupted one leaves nothing."""
    vmid, console = call.vmid, call.console
    template = _template(call.arguments[0])
    disks = _disks(call.options)
    with call.task():
        with call.practice.changing() as state:
            if vmid in state["guests"]:
                raise Refused(f"CT {vmid} already exists on node '{NODE}'")
            state["guests"][vmid] = _guest(vmid, call.options, template, disks)
        try:
            for number, (_, gigabytes, _) in enumerate(disks):
                _make_disk(call, f"vm-{vmid}-disk-{number}", gigabytes)
            _unpack(call, template)
        except BaseException:
            with call.practice.changing() as state:
                state["guests"].pop(vmid, None)
            for number in range(len(disks)):
                console.out(removed(f"vm-{vmid}-disk-{number}"))
            raise
        with call.changing() as guest:
            del guest["config"]["lock"]


def _template(text: str) -> str:
    """The template's file name, or the refusal of a text that cannot name one."""
    if text.startswith("/"):
        return text
    storage, colon, name = text.partition(":")
    if not colon or not storage or not name:
        raise Refused(f"unable to parse volume ID '{text}'")
    if storage not in STORAGES:
        raise Refused(f"storage '{storage}' does not exist")
    if name.startswith("iso/"):
        raise Refused(f"unable to use volume {text} - content type needs to be 'vztmpl'")
    found = _ARCHIVE.fullmatch(name)
    if storage != "local" or found is None:
        raise Refused(f"unable to parse directory volume name '{name}'")
    return found.group(1)


def _disks(options: Values) -> list[tuple[str, float, Values]]:
    """The disks to make: key in the configuration, gigabytes, and the other parts of the property string."""
    wanted = {key: options[key] for key in options if key == "rootfs" or re.fullmatch(r"mp\d+", key)}
    if "rootfs" not in wanted:
        wanted = {"rootfs": f"{options.get('storage', 'local')}:4"} | wanted
    disks = []
    for key in sorted(wanted, key=lambda k: k != "rootfs"):
        given = parts(wanted[key], "volume")
        storage, colon, size = given.pop("volume", "").partition(":")
        if not colon:
            storage, size = options.get("storage", "local"), storage
        if storage not in STORAGES:
            raise Refused(f"storage '{storage}' does not exist")
        if "rootdir" not in STORAGES[storage]:
            raise BadUse(
                "400 Parameter verification failed.\n"
                f"storage: storage '{storage}' does not support container directories\n"
            )
        if not re.fullmatch(r"\d{1,6}(\.\d{1,3})?", size, re.ASCII):
            raise Refused(f"unable to parse lvm volume name '{size}'")
        disks.append((key, float(size), given | {"storage": storage}))
    return disks


def _guest(vmid: str, options: Values, template: str, disks: list[tuple[str, float, Values]]) -> Guest:
    system = next((name for name in ("debian", "ubuntu", "alpine") if name in template), "unmanaged")
    config = {
        "arch": "amd64",
        "hostname": f"CT{vmid}",
        "memory": "512",
        "ostype": system,
        "swap": "512",
        "lock": "create",
    }
    config |= {key: value for key, value in options.items() if key not in _NOT_KEPT}
    config["unprivileged"] = "1" if on(options, "unprivileged", default=True) else "0"
    for key in [key for key in options if re.fullmatch(r"net\d+", key)]:
        hwaddr = ":".join(f"{byte:02X}" for byte in os.urandom(3))
        config[key] = joined({"hwaddr": f"BC:24:11:{hwaddr}", "type": "veth"} | parts(options[key]), "name")
    for number, (key, gigabytes, given) in enumerate(disks):
        volume = {"volume": f"{given.pop('storage')}:vm-{vmid}-disk-{number}", "size": f"{gigabytes:g}G"}
        config[key] = joined(given | volume, "volume")
    return {"status": "stopped", "started": 0.0, "config": config, "snapshots": {}, "upgradable": 9}


def _make_disk(call: Call, name: str, gigabytes: float) -> None:
    console = call.console
    console.work(0.4)
    console.out(created(name))
    blocks = int(gigabytes * 262_144)
    console.work(0.5)
    console.out(f"Creating filesystem with {blocks} 4k blocks and {blocks // 4} inodes\n")
    console.out(f"Filesystem UUID: {uuid.uuid4()}\nSuperblock backups stored on blocks: \n")
    numbers = [str(group * _GROUP) for group in _BACKUP_GROUPS if group * _GROUP < blocks]
    console.out("\t" + ", ".join(numbers) + "\n\n")


def _unpack(call: Call, template: str) -> None:
    vmid, console = call.vmid, call.console
    if template.startswith("/"):
        raise CreateFailed(vmid, f"can't find file '{template}'")
    if template not in TEMPLATES:
        console.out(f"volume 'local:vztmpl/{template}' does not exist\n")
        raise CreateFailed(vmid, f"volume 'local:vztmpl/{template}' does not exist")
    console.out(f"extracting archive '/var/lib/vz/template/cache/{template}'\n")
    console.work(2.6)
    unpacked = TEMPLATES[template] * 4 // 10_240 * 10_240
    console.out(f"Total bytes read: {unpacked} ({unpacked >> 20}MiB, {(unpacked >> 20) / 2.6:.0f}MiB/s)\n")
    console.work(0.3)
    console.out("Detected container architecture: amd64\n")
    hostname = call.guest()["config"]["hostname"]
    for kind in _KEY_KINDS:
        console.out(f"Creating SSH host key 'ssh_host_{kind}_key' - this may take some time ...\n")
        console.work(0.9)
        digest = base64.b64encode(os.urandom(32)).decode().rstrip("=")
        console.out(f"done: SHA256:{digest} root@{hostname}\n")


def missing_bridge(config: dict[str, str]) -> str | None:
    """The first bridge that a container's network wants and this host has not."""
    wanted = [parts(config[key]).get("bridge") for key in sorted(config) if re.fullmatch(r"net\d+", key)]
    return next((bridge for bridge in wanted if bridge and bridge not in BRIDGES), None)
