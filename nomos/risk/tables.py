"""What the classifier knows, as data an operator can read.

``READ`` holds patterns over the whole command: a command is ``read`` only if one of them matches all of it. They
allow no quote, no operator, no expansion: plain words with plain operands.
"""

from __future__ import annotations

_ID = r"[1-9]\d{2,8}"
_NAME = r"[A-Za-z0-9][A-Za-z0-9_.@-]*"
_PATH = r"(?:/[A-Za-z0-9_.-]+)+"

READ: tuple[str, ...] = (
    r"pct list",
    rf"pct (?:status|config|pending|listsnapshot) {_ID}",
    rf"pct status {_ID} --verbose",
    r"qm list",
    rf"qm (?:status|config|pending|listsnapshot) {_ID}",
    r"pveversion(?: -v| --verbose)?",
    r"pvesm status",
    rf"pvesm list {_NAME}",
    rf"pveam list {_NAME}",
    r"pveam available",
    r"uptime(?: -[ps])?",
    r"uname(?: -[asrvmnpio]+)?",
    r"hostname",
    r"whoami",
    r"id",
    r"date",
    r"nproc",
    r"df(?: -[hTi]+)*",
    r"free(?: -[bkmgh])?",
    r"lsblk(?: -f)?",
    r"ls(?: -[alhtr1]+)?(?: " + _PATH + r")?",
    r"cat /etc/(?:os-release|debian_version|hostname|hosts|fstab)",
    r"cat /proc/(?:mdstat|loadavg|meminfo|uptime|cpuinfo|version)",
    r"ip(?: -br)? (?:a|addr|address|link|route)",
    r"ss -tlnp?",
    rf"systemctl (?:status|is-active|is-enabled|is-failed) {_NAME}",
    r"systemctl --failed",
    r"systemctl list-units --failed",
    r"zpool (?:status|list)",
    r"docker (?:ps|ps -a|images|version|info)",
    r"true",
)

DESTROY_WORDS: frozenset[str] = frozenset(
    """rm rmdir unlink shred dd mkfs wipefs blkdiscard fdisk sfdisk parted sgdisk destroy purge prune delete
    del drop truncate format erase rollback delsnapshot poweroff halt reboot shutdown init telinit kexec
    lvremove vgremove pvremove umount userdel groupdel killall pkill kill mke2fs eval source python python3
    perl ruby node php sh bash dash zsh ash busybox curl wget nc ncat socat crontab""".split()
)
"""Words that, standing anywhere as a command or sub-command, make the whole command ``destroy``."""

# Characters after which another command, a file or an expansion may begin: with one of them nothing is plain text.
OPERATORS = frozenset(";|&<>()`$\\\n")
