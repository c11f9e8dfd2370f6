"""What can be run on the practice host itself: a closed table of stand-ins for a small Proxmox node."""

from __future__ import annotations

from .common import COMMON, files, fixed, systemctl, uptime
from .console import Commands, Console
from .pct import pct
from .state import NODE, TEMPLATES, Practice, State
from .ticker import ticker

_KERNEL = "6.17.13-2-pve"
_VERSION = f"pve-manager/9.2.4/5f1e0c2b9a7d4836 (running kernel: {_KERNEL})\n"
_UNITS = {
    **dict.fromkeys(("pveproxy", "pvedaemon", "pve-cluster", "pvestatd", "pvescheduler"), "active"),
    **dict.fromkeys(("ssh", "cron", "chrony"), "active"),
    "corosync": "inactive",
}
_LOCAL_KIB, _LOCAL_USED_KIB = 98_497_780, 61_068_624
_THIN_KIB, _THIN_USED_KIB = 356_540_416, 28_523_233
_OS_RELEASE = (
    'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nNAME="Debian GNU/Linux"\nVERSION_ID="13"\n'
    'VERSION="13 (trixie)"\nVERSION_CODENAME=trixie\nID=debian\n'
)
_STORAGE_CFG = (
    "dir: local\n\tpath /var/lib/vz\n\tcontent iso,vztmpl,backup\n\n"
    "lvmthin: local-lvm\n\tthinpool data\n\tvgname pve\n\tcontent rootdir,images\n"
)
_INTERFACES = (
    "auto lo\niface lo inet loopback\n\niface enp1s0 inet manual\n\nauto vmbr0\niface vmbr0 inet static\n"
    "\taddress 192.168.1.10/24\n\tgateway 192.168.1.1\n\tbridge-ports enp1s0\n\tbridge-stp off\n\tbridge-fd 0\n"
)
_ADDRESSES = (
    "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default qlen 1000\n"
    "    inet 127.0.0.1/8 scope host lo\n"
    "3: vmbr0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue state UP group default qlen 1000\n"
    "    inet 192.168.1.10/24 scope global vmbr0\n"
)
_DF = (
    "Filesystem            Size  Used Avail Use% Mounted on\n"
    "udev                  7.8G     0  7.8G   0% /dev\n"
    "tmpfs                 1.6G  1.3M  1.6G   1% /run\n"
    "/dev/mapper/pve-root   94G   59G   31G  66% /\n"
    "tmpfs                 7.8G   46M  7.7G   1% /dev/shm\n"
    "/dev/fuse             128M   20K  128M   1% /etc/pve\n"
)
_FREE = {
    "-m": "Mem:           15887        6120        1904          58        8231        9767\n"
    "Swap:           8191          12        8179\n",
    "-h": "Mem:            15Gi       6.0Gi       1.9Gi        58Mi       8.0Gi       9.5Gi\n"
    "Swap:          8.0Gi        12Mi       8.0Gi\n",
}


def host_commands(practice: Practice) -> Commands:
    """Every command of the practice host, by name."""
    state = practice.read()
    return {
        **COMMON,
        **files(_contents(state), _folders(state)),
        "df": fixed(_DF),
        "free": _free,
        "hostname": fixed(f"{NODE}\n"),
        "id": fixed("uid=0(root) gid=0(root) groups=0(root)\n"),
        "ip": fixed(_ADDRESSES),
        "pct": pct(practice),
        "pveam": _pveam,
        "pvesm": _pvesm,
        "pveversion": fixed(_VERSION),
        "qm": _qm,
        "systemctl": systemctl(_UNITS),
        "ticker": ticker,
        "uname": _uname,
        "uptime": uptime(state["booted"]),
        "whoami": fixed("root\n"),
    }


def _contents(state: State) -> dict[str, str]:
    contents = {
        "/etc/os-release": _OS_RELEASE,
        "/etc/hostname": f"{NODE}\n",
        "/etc/hosts": f"127.0.0.1 localhost\n192.168.1.10 {NODE}.lan {NODE}\n",
        "/etc/debian_version": "13.2\n",
        "/etc/network/interfaces": _INTERFACES,
        "/etc/pve/storage.cfg": _STORAGE_CFG,
        "/proc/mdstat": "Personalities : \nunused devices: <none>\n",
        "/proc/loadavg": "0.08 0.11 0.09 1/412 20231\n",
    }
    for vmid, guest in state["guests"].items():
        text = "".join(f"{key}: {guest['config'][key]}\n" for key in sorted(guest["config"]))
        contents[f"/etc/pve/lxc/{vmid}.conf"] = text
    return contents


def _folders(state: State) -> dict[str, str]:
    configurations = "".join(f"{vmid}.conf\n" for vmid in sorted(state["guests"], key=int))
    return {
        "/": "bin\nboot\ndev\netc\nhome\nlib\nproc\nroot\nrun\nsbin\nsys\ntmp\nusr\nvar\n",
        "/root": "",
        "/etc/pve": "datacenter.cfg\nlxc\nnodes\nqemu-server\nstorage.cfg\nuser.cfg\n",
        "/etc/pve/lxc": configurations,
        f"/etc/pve/nodes/{NODE}/lxc": configurations,
        "/etc/pve/qemu-server": "",
        "/var/lib/vz": "dump\nimages\ntemplate\n",
        "/var/lib/vz/template/cache": "".join(f"{name}\n" for name in sorted(TEMPLATES)),
        "/var/lib/vz/dump": "",
    }


def _free(console: Console, words: list[str]) -> int:
    console.out("               total        used        free      shared  buff/cache   available\n")
    console.out(_FREE["-h" if "-h" in words else "-m"])
    return 0


def _uname(console: Console, words: list[str]) -> int:
    version = "#1 SMP PREEMPT_DYNAMIC PMX 6.17.13-2 (2026-09-14T08:12Z)"
    answers = {
        "-a": f"Linux {NODE} {_KERNEL} {version} x86_64 GNU/Linux",
        "-r": _KERNEL,
        "-n": NODE,
        "-m": "x86_64",
        "-srm": f"Linux {_KERNEL} x86_64",
    }
    console.out(answers.get(words[-1], "Linux") + "\n")
    return 0


def _pvesm(console: Console, words: list[str]) -> int:
    if words[1:2] == ["status"]:
        row = "{:<16s} {:>10s} {:>10s} {:>15s} {:>15s} {:>15s} {:>8s}\n".format
        console.out(row("Name", "Type", "Status", "Total (KiB)", "Used (KiB)", "Available (KiB)", "%"))
        for name, kind, total, used in (
            ("local", "dir", _LOCAL_KIB, _LOCAL_USED_KIB),
            ("local-lvm", "lvmthin", _THIN_KIB, _THIN_USED_KIB),
        ):
            console.out(row(name, kind, "active", str(total), str(used), str(total - used), f"{used / total:.2%}"))
        return 0
    if words[1:] == ["list", "local"]:
        row = "{:<55s} {:<7s} {:<9s} {:>10s} {:<5s}\n".format
        console.out(row("Volid", "Format", "Type", "Size", "VMID"))
        for name, size in sorted(TEMPLATES.items()):
            console.out(row(f"local:vztmpl/{name}", "t" + name.rpartition(".")[2], "vztmpl", str(size), ""))
        return 0
    console.err("ERROR: the practice host knows only: pvesm status, pvesm list local\n")
    return 255


def _pveam(console: Console, words: list[str]) -> int:
    if words[1:] == ["list", "local"]:
        console.out(f"{'NAME':<60s} {'SIZE':<6s}\n")
        for name, size in sorted(TEMPLATES.items()):
            console.out(f"{f'local:vztmpl/{name}':<60s} {size / 1_048_576:4.2f}MB\n")
        return 0
    if words[1:2] == ["list"] and len(words) == 3:
        known = words[2] == "local-lvm"
        console.err(f"storage '{words[2]}' does not {'support templates' if known else 'exist'}\n")
        return 255
    if words[1:2] == ["available"]:
        console.out("".join(f"{'system':<15s} {name}\n" for name in sorted(TEMPLATES)))
        return 0
    console.err("ERROR: the practice host knows only: pveam list STORAGE, pveam available\n")
    return 255


def _qm(console: Console, words: list[str]) -> int:
    if words[1:] == ["list"]:
        return 0
    if len(words) == 3 and words[1] in ("status", "config", "start", "destroy"):
        console.err(f"Configuration file 'nodes/{NODE}/qemu-server/{words[2]}.conf' does not exist\n")
        return 2
    console.err("ERROR: the practice host has no virtual machines; it knows only: qm list\n")
    return 255
