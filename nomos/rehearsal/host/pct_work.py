"""What every ``pct`` task shares: finding a container, the lock, and the lines that storage on LVM-thin prints."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from .console import Console
from .pct_options import Refused, Values, parts
from .state import NODE, STORAGES, Busy, Guest, Practice, State


class Call(NamedTuple):
    """One ``pct`` call whose words fit: its container's id, the further arguments, and the options."""

    practice: Practice
    console: Console
    vmid: str
    arguments: list[str]
    options: Values

    def guest(self) -> Guest:
        """The container as it is now. Refused with exit code 2 when there is none, as Proxmox does."""
        return find(self.practice.read(), self.vmid)

    @contextmanager
    def task(self) -> Iterator[None]:
        """Work on the container alone; refused when another task holds it for too long."""
        try:
            with self.practice.task(int(self.vmid)):
                yield
        except Busy:
            raise Refused(f"can't lock file '/run/lock/lxc/pve-config-{self.vmid}.lock' - got timeout") from None

    @contextmanager
    def changing(self) -> Iterator[Guest]:
        """Change the container; kept unless the block raises."""
        with self.practice.changing() as state:
            yield find(state, self.vmid)


def find(state: State, vmid: str) -> Guest:
    """A container of ``state``, or Proxmox's refusal."""
    if vmid not in state["guests"]:
        raise Refused(f"Configuration file 'nodes/{NODE}/lxc/{vmid}.conf' does not exist", 2)
    return state["guests"][vmid]


def check_lock(guest: Guest) -> None:
    """Refuse what a locked container refuses."""
    if "lock" in guest["config"]:
        raise Refused(f"CT is locked ({guest['config']['lock']})")


def check_storage(storage: str) -> None:
    """Refuse a storage that is not there, in the words of every command but ``create``."""
    if storage not in STORAGES:
        raise Refused(f"storage '{storage}' does not exist")
    if "rootdir" not in STORAGES[storage]:
        raise Refused(f"storage '{storage}' does not allow content type 'rootdir' (Container)")


def volumes(guest: Guest) -> list[str]:
    """The names of a container's disks on LVM, ``rootfs`` first."""
    keys = sorted((k for k in guest["config"] if k == "rootfs" or k.startswith("mp")), key=lambda k: k != "rootfs")
    return [parts(guest["config"][key], "volume")["volume"].partition(":")[2] for key in keys]


def created(name: str) -> str:
    """The line of lvcreate."""
    return f'  Logical volume "{name}" created.\n'


def removed(name: str) -> str:
    """The line of lvremove."""
    return f'  Logical volume "{name}" successfully removed.\n'
