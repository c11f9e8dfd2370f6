"""``pct snapshot``, ``rollback``, ``delsnapshot`` and ``listsnapshot`` on LVM-thin (facts: ``ssh.md`` 3.3, 3.4)."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from .pct_options import Refused, on
from .pct_work import Call, check_lock, created, find, removed, volumes
from .state import Guest


def snapshot(call: Call) -> None:
    """``pct snapshot VMID NAME``."""
    name = call.arguments[0]
    if name in ("current", "vzdump", "pending"):
        raise Refused(f"unable to use snapshot name '{name}' (reserved name)")
    with call.task():
        guest = call.guest()
        if on(guest["config"], "template"):
            raise Refused("you can't take a snapshot if it's a template")
        check_lock(guest)
        if name in guest["snapshots"]:
            raise Refused(f"snapshot name '{name}' already used")
        for volume in volumes(guest):
            call.console.work(0.5)
            call.console.out(created(f"snap_{volume}_{name}"))
        with call.changing() as guest:
            note = call.options.get("description", "")
            guest["snapshots"][name] = {"config": dict(guest["config"]), "time": time.time(), "description": note}
            guest["config"]["parent"] = name


def rollback(call: Call) -> None:
    """``pct rollback VMID NAME``: a running container is killed first, and stays stopped."""
    name = call.arguments[0]
    with call.task():
        guest = _with_snapshot(call, name)
        if on(guest["config"], "template"):
            raise Refused("you can't rollback if vm is a template")
        check_lock(guest)
        for volume in volumes(guest):
            call.console.work(0.5)
            call.console.out(removed(volume) + created(volume))
        with call.changing() as guest:
            guest["config"] = dict(guest["snapshots"][name]["config"]) | {"parent": name}
            started = on(call.options, "start")
            guest["status"], guest["started"] = ("running", time.time()) if started else ("stopped", 0.0)


def delsnapshot(call: Call) -> None:
    """``pct delsnapshot VMID NAME``."""
    name = call.arguments[0]
    with call.task():
        guest = _with_snapshot(call, name)
        check_lock(guest)
        for volume in volumes(guest):
            call.console.work(0.4)
            call.console.out(removed(f"snap_{volume}_{name}"))
        with call.changing() as guest:
            parent = guest["snapshots"].pop(name)["config"].get("parent")
            for config in [guest["config"], *(other["config"] for other in guest["snapshots"].values())]:
                if config.get("parent") == name:
                    del config["parent"]
                    if parent:
                        config["parent"] = parent


def listsnapshot(call: Call) -> None:
    """``pct listsnapshot VMID``: a tree, ``current`` last."""
    guest = call.guest()
    chain, name = list[str](), guest["config"].get("parent")
    while name:
        chain.insert(0, name)
        name = guest["snapshots"][name]["config"].get("parent")
    others = [name for name in guest["snapshots"] if name not in chain]
    for depth, name in [*((0, other) for other in others), *enumerate(chain)]:
        taken = guest["snapshots"][name]
        when = datetime.fromtimestamp(taken["time"], UTC).strftime("%Y-%m-%d %H:%M:%S")
        call.console.out(_branch(depth, name, when, taken["description"] or "no-description"))
    call.console.out(_branch(len(chain), "current", "", "You are here!"))


def _branch(depth: int, name: str, when: str, note: str) -> str:
    head = " " * depth + "`-> "
    return f"{head}{name:<{max(0, 30 - len(head))}s} {when:<23s} {note}\n"


def _with_snapshot(call: Call, name: str) -> Guest:
    guest = find(call.practice.read(), call.vmid)
    if name not in guest["snapshots"]:
        raise Refused(f"snapshot '{name}' does not exist")
    return guest
