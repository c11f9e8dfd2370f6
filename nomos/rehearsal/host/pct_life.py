"""``pct`` from start to destroy, and changes of a configuration (facts: ``ssh.md`` 3.3, 3.4)."""

from __future__ import annotations

import re
import time
from itertools import count

from .pct_create import create, missing_bridge
from .pct_options import BadUse, Refused, Values, joined, on, parts
from .pct_work import Call, check_lock, check_storage, created, find, removed, volumes
from .state import NODE, Guest

_NEVER_DELETED = frozenset({"rootfs", "memory", "ostype", "arch", "hostname"})
_UNITS = {"K": 1 / 1_048_576, "M": 1 / 1024, "G": 1.0, "T": 1024.0}


def create_and_start(call: Call) -> None:
    """``pct create``, with ``--start``."""
    # checked before anything else is looked at, as the real one does
    if call.vmid in call.practice.read()["guests"]:
        raise Refused(f"CT {call.vmid} already exists on node '{NODE}'")
    create(call)
    if on(call.options, "start"):
        start(call)


def start(call: Call) -> None:
    """``pct start``: what is missing is only found out inside the task."""
    with call.task():
        guest = find(call.practice.read(), call.vmid)
        if guest["status"] == "running":
            raise Refused(f"CT {call.vmid} already running")
        check_lock(guest)
        if on(guest["config"], "template"):
            raise Refused("you can't start a CT if it's a template")
        call.console.work(1.2)
        if bridge := missing_bridge(guest["config"]):
            call.console.out(f"bridge '{bridge}' does not exist\n")
            raise Refused(f"startup for container '{call.vmid}' failed")
        _set_running(call, True)


def stop(call: Call) -> None:
    """``pct stop``."""
    _end(call, 0.8, f"CT {call.vmid} not running")


def shutdown(call: Call) -> None:
    """``pct shutdown``."""
    _end(call, 2.5, f"CT {call.vmid} not running")


def reboot(call: Call) -> None:
    """``pct reboot``. Proxmox says VM here, of a container too."""
    _end(call, 2.0, f"VM {call.vmid} not running")
    start(call)


def destroy(call: Call) -> None:
    """``pct destroy``: refuses a running container unless told to force."""
    guest = call.guest()
    check_lock(guest)
    if on(guest["config"], "protection"):
        raise Refused(f"can't remove CT {call.vmid} - protection mode enabled")
    if guest["status"] == "running":
        if not on(call.options, "force"):
            raise Refused(f"unable to destroy CT {call.vmid} - container is running")
        call.console.out(f"forced to stop CT {call.vmid} before destroying!\n")
        stop(call)
    with call.task():
        for name in volumes(guest):
            call.console.work(0.5)
            call.console.out(removed(name))
        with call.practice.changing() as state:
            del state["guests"][call.vmid]
    if on(call.options, "purge"):
        call.console.out(f"purging CT {call.vmid} from related configurations..\n")


def set_options(call: Call) -> None:
    """``pct set``."""
    options = {key: value for key, value in call.options.items() if key not in ("delete", "digest", "revert")}
    unwanted = [key for key in re.split(r"[,; ]+", call.options.get("delete", "")) if key]
    if not options and not unwanted:
        raise Refused("no options specified")
    with call.task(), call.changing() as guest:
        check_lock(guest)
        for key in [*options, *unwanted]:
            if key in ("unprivileged", "arch"):
                raise Refused(f"unable to modify read-only option: '{key}'")
        for key in unwanted:
            if key in _NEVER_DELETED:
                raise Refused(f"unable to delete required option '{key}'")
            guest["config"].pop(key, None)
        for key, value in options.items():
            guest["config"][key] = _kept(call, guest, key, value)


def _kept(call: Call, guest: Guest, key: str, value: str) -> str:
    """How the configuration keeps a new value; makes the volume if a new one is asked for."""
    if key == "rootfs" or re.fullmatch(r"mp\d+", key):
        given = parts(value, "volume")
        storage, _, volume = given["volume"].partition(":")
        check_storage(storage)
        if re.fullmatch(r"\d{1,6}", volume, re.ASCII):
            taken = volumes(guest)
            name = next(name for n in count() if (name := f"vm-{call.vmid}-disk-{n}") not in taken)
            call.console.out(created(name))
            return joined(given | {"volume": f"{storage}:{name}", "size": f"{volume}G"}, "volume")
        return joined(given, "volume")
    return joined(parts(value), "name") if re.fullmatch(r"net\d+", key) else value


def unlock(call: Call) -> None:
    """``pct unlock``."""
    with call.changing() as guest:
        if guest["config"].pop("lock", None) is None:
            raise Refused("no lock found trying to remove any lock")


def template(call: Call) -> None:
    """``pct template``."""
    with call.task(), call.changing() as guest:
        if guest["status"] == "running":
            raise Refused("you can't convert a CT to template if the CT is running")
        check_lock(guest)
        guest["config"]["template"] = "1"


def resize(call: Call) -> None:
    """``pct resize VMID DISK SIZE``."""
    disk, wanted = call.arguments
    with call.task(), call.changing() as guest:
        check_lock(guest)
        if not (disk == "rootfs" or re.fullmatch(r"mp\d+", disk)) or disk not in guest["config"]:
            raise BadUse(
                f"400 Parameter verification failed.\ndisk: value '{disk}' does not have a value in the enumeration\n"
            )
        given = parts(guest["config"][disk], "volume")
        before = _gigabytes(given.get("size", "0G"))
        after = _gigabytes(wanted.lstrip("+")) + (before if wanted.startswith("+") else 0)
        if after < before:
            raise Refused("unable to shrink disk size")
        if after == before:
            raise Refused("disk is already at specified size")
        name = given["volume"].partition(":")[2]
        extents = [f"{size:.2f} GiB ({size * 256:.0f} extents)" for size in (before, after)]
        call.console.out(f"  Size of logical volume pve/{name} changed from {extents[0]} to {extents[1]}.\n")
        call.console.out(f"  Logical volume pve/{name} successfully resized.\n")
        guest["config"][disk] = joined(given | {"size": f"{after:g}G"}, "volume")


def clone(call: Call) -> None:
    """``pct clone VMID NEWID``: a full copy; linked only from a template."""
    new, guest = call.arguments[0], call.guest()
    linked = on(guest["config"], "template") and not on(call.options, "full")
    check_lock(guest)
    if new in call.practice.read()["guests"]:
        raise Refused(f"CT {new} already exists on node '{NODE}'")
    first = parts(guest["config"]["rootfs"], "volume")["volume"]
    if not linked and "full" in call.options and not on(call.options, "full"):
        raise Refused(f"Linked clone feature for '{first}' is not available")
    if linked and "storage" in call.options:
        raise Refused("parameter 'storage' not allowed for linked clones")
    if guest["status"] == "running" and "snapname" not in call.options:
        raise Refused("Full clone of a running container is only possible from a snapshot")
    with call.task():
        kind = "linked clone of mount point" if linked else "full clone of mountpoint"
        call.console.out(f"create {kind} rootfs ({first})\n")
        call.console.work(0.5)
        call.console.out(created(f"vm-{new}-disk-0"))
        call.console.work(3.0)
        config = _copied(guest["config"], new) | {"hostname": call.options.get("hostname", f"Copy-of-CT-{new}")}
        with call.practice.changing() as state:
            state["guests"][new] = guest | {"status": "stopped", "started": 0.0, "config": config, "snapshots": {}}


def _copied(config: Values, new: str) -> Values:
    dropped = ("template", "lock", "parent", "hostname")
    return {key: re.sub(r"vm-\d+-disk", f"vm-{new}-disk", value) for key, value in config.items() if key not in dropped}


def _end(call: Call, seconds: float, not_running: str) -> None:
    guest = call.practice.read()["guests"].get(call.vmid)
    if guest is None or guest["status"] != "running":
        raise Refused(not_running)
    with call.task():
        check_lock(guest)
        call.console.work(seconds)
        _set_running(call, False)


def _set_running(call: Call, running: bool) -> None:
    with call.changing() as guest:
        guest["status"] = "running" if running else "stopped"
        guest["started"] = time.time() if running else 0.0


def _gigabytes(size: str) -> float:
    return float(size.rstrip("KMGT")) * _UNITS[size[-1] if size[-1] in _UNITS else "G"]
