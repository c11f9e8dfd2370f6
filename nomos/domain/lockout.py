"""Which commands can cut off the operator or Nomos, and what undoes them from the host's side. Pure, table-driven.

Such a step runs with a guard: a job of its own on the host, started before it, that undoes the step after a while
unless Nomos has signed in afresh and called it off. The guard follows from the command alone, so what binds the
command binds the guard too. Its texts keep what they save in the folder ``$G``.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

_START_SSH = "systemctl start ssh || systemctl start sshd || service ssh start"
_RELOAD_SSH = "systemctl reload ssh || systemctl reload sshd || service ssh reload"
_ROUTES = 'ip route save >"$G/routes"'
_ROUTES_BACK = 'ip route restore <"$G/routes"'


@dataclass(frozen=True, slots=True)
class Guard:
    """``revert`` undoes a step; ``prepare`` saves before it what ``revert`` needs."""

    revert: str
    prepare: str = "true"

    def job(self, seconds: int, *, sudo: bool = False) -> str:
        """The guard's own job. It says ``armed`` once it stands and ``reverted`` when it has undone the step.

        TERM calls it off, but not once it undoes: half an undoing would be worse than either.
        """
        prepare, revert = (_as_root(text) if sudo else f"{{ {text}\n}}" for text in (self.prepare, self.revert))
        return (
            "umask 077; G=$(mktemp -d) || exit 3\n"
            "trap 'rm -rf \"$G\"; exit 143' TERM\n"
            f'{prepare} || {{ rm -rf "$G"; exit 3; }}\n'
            "echo armed\n"
            f'sleep {seconds} || {{ rm -rf "$G"; exit 143; }}\n'
            "trap '' TERM\n"
            "echo reverting\n"
            f"{revert}\n"
            'echo "reverted, exit $?"\n'
            'rm -rf "$G"'
        )


@dataclass(frozen=True, slots=True)
class Danger:
    """What a command may do to the way in. ``guard`` is None where nothing is known that undoes it: then ``warning``
    says so. ``sudo``: the command gains its rights by sudo, so its undoing has to as well.
    """

    guard: Guard | None
    warning: str | None
    sudo: bool = False


def _as_root(text: str) -> str:
    return f'sudo -n env G="$G" sh -c {shlex.quote(text)}'


WARNING = "This can lock you or Nomos out, and nothing is known that would undo it by itself."

Rule = Callable[[Sequence[str]], "Guard | str | None"]  # a guard, a warning, or nothing to fear


def _ip(words: Sequence[str]) -> Guard | str | None:
    while words and words[0].startswith("-"):
        words = words[1:]
    if len(words) < 2:
        return None
    noun, verb, rest = words[0], words[1], [word for word in words[2:] if word != "dev"]
    if "link".startswith(noun) and verb == "set" and rest:
        if "down" in rest[1:]:
            return Guard(f"ip link set dev {shlex.quote(rest[0])} up; {_ROUTES_BACK}", _ROUTES)
        return None if rest[1:] == ["up"] else WARNING
    change = shlex.join(words[2:])
    if "address".startswith(noun):
        if verb == "add":
            return Guard(f"ip address del {change}")
        if verb in {"del", "delete", "flush", "change", "replace"}:
            back = 'ip address restore <"$G/addresses"; ' + _ROUTES_BACK
            return Guard(back, 'ip address save >"$G/addresses" && ' + _ROUTES)
    if "route".startswith(noun):
        if verb in {"add", "append", "prepend", "replace", "change"}:
            return Guard(f"ip route del {change}; {_ROUTES_BACK}", _ROUTES)
        if verb in {"del", "delete", "flush"}:
            return Guard(_ROUTES_BACK, _ROUTES)
    return None if verb in {"show", "list", "get", "s", "sh", "ls"} else WARNING


def _systemctl(words: Sequence[str]) -> Guard | str | None:
    verbs = [word for word in words if not word.startswith("-")]
    if not verbs:
        return None
    verb, units = verbs[0], [re.sub(r"\.(service|socket)$", "", unit) for unit in verbs[1:]]
    ssh = [unit for unit in units if unit in {"ssh", "sshd"}]
    net = [unit for unit in units if unit in {"networking", "systemd-networkd", "NetworkManager"}]
    wall = [unit for unit in units if unit in {"nftables", "ufw", "firewalld", "pve-firewall", "netfilter-persistent"}]
    back = {"stop": "start", "disable": "enable --now", "kill": "restart"}
    if ssh or net:
        names = shlex.join(ssh or net)
        if verb in back:
            return Guard(f"systemctl {back[verb]} {names}")
        if verb == "mask":
            return Guard(f"systemctl unmask {names}; systemctl start {names}")
        if verb in {"restart", "reload", "try-restart", "reload-or-restart"}:
            return Guard(f"systemctl start {names}") if ssh else WARNING
    if wall and verb in {"start", "restart", "reload", "enable"}:
        return Guard(f"systemctl stop {shlex.join(wall)}")
    return None


def _service(words: Sequence[str]) -> Guard | str | None:
    if len(words) < 2:
        return None
    return _systemctl([words[1], words[0]])


def _ufw(words: Sequence[str]) -> Guard | str | None:
    verbs = [word for word in words if not word.startswith("-")]
    if not verbs or verbs[0] in {"status", "version", "show", "disable", "allow", "app", "logging"}:
        return None
    if verbs[0] == "enable":
        return Guard("ufw disable")
    return Guard(
        'cp -a "$G/ufw/." /etc/ufw/ && cp -a "$G/default" /etc/default/ufw && ufw reload',
        'cp -a /etc/ufw "$G/ufw" && cp -a /etc/default/ufw "$G/default"',
    )


def _iptables(words: Sequence[str]) -> Guard | str | None:
    if any(re.fullmatch(r"-[LS].*|--list(-rules)?|-C|--check|-V|-h|--help", word) for word in words):
        return None
    return Guard(
        'iptables-restore <"$G/four"; ip6tables-restore <"$G/six"',
        'iptables-save >"$G/four" && ip6tables-save >"$G/six"',
    )


def _nft(words: Sequence[str]) -> Guard | str | None:
    verbs = [word for word in words if not word.startswith("-")]
    if verbs[:1] in (["list"], ["monitor"], ["describe"]):
        return None
    return Guard('nft flush ruleset; nft -f "$G/rules"', 'nft list ruleset >"$G/rules"')


def _firewall_cmd(words: Sequence[str]) -> Guard | str | None:
    if all(re.match(r"--(list|get|query|info|state|version|help)", word) for word in words):
        return None
    if "--panic-on" in words:
        return Guard("firewall-cmd --panic-off")
    if any(word in {"--reload", "--complete-reload", "--runtime-to-permanent"} for word in words):
        return WARNING
    return None if "--permanent" in words else Guard("firewall-cmd --reload")


def _pve_firewall(words: Sequence[str]) -> Guard | str | None:
    return Guard("pve-firewall stop") if words[:1] in (["start"], ["restart"]) else None


def _nmcli(words: Sequence[str]) -> Guard | str | None:
    words = [word for word in words if not word.startswith("-")]
    if len(words) < 2:
        return None
    noun, verb, rest = words[0], words[1], shlex.join(words[2:])
    if "connection".startswith(noun):
        if verb in {"down", "up"}:
            return Guard(f"nmcli connection up {rest}") if verb == "down" else WARNING
        return WARNING if verb in {"modify", "delete", "edit", "reload", "load", "import"} else None
    if "device".startswith(noun):
        if verb == "disconnect":
            return Guard(f"nmcli device connect {rest}")
        return WARNING if verb in {"delete", "modify", "reapply", "set", "connect"} else None
    if (noun, verb) == ("networking", "off"):
        return Guard("nmcli networking on")
    if noun == "radio" and words[-1] == "off":
        return Guard(f"nmcli radio {shlex.join(words[1:-1])} on")
    return None


def _accounts(_: Sequence[str]) -> Guard | str | None:
    files = "passwd shadow group gshadow"
    return Guard(
        f'for f in {files}; do cp -a "$G/$f" "/etc/$f"; done', f'for f in {files}; do cp -a "/etc/$f" "$G/$f"; done'
    )


def _warns(_: Sequence[str]) -> Guard | str | None:
    return WARNING


_RULES: dict[str, Rule] = {
    "ip": _ip,
    "ifdown": lambda words: Guard(f"ifup {shlex.join(words)}"),
    "ifconfig": lambda words: _warns(words) if len(words) > 1 else None,
    "ifreload": _warns,
    "netplan": lambda words: WARNING if words[:1] in (["apply"], ["try"]) else None,
    "route": lambda words: WARNING if words[:1] in (["add"], ["del"]) else None,
    "nmcli": _nmcli,
    "systemctl": _systemctl,
    "service": _service,
    "ufw": _ufw,
    "iptables": _iptables,
    "ip6tables": _iptables,
    "iptables-restore": _iptables,
    "ip6tables-restore": _iptables,
    "nft": _nft,
    "firewall-cmd": _firewall_cmd,
    "pve-firewall": _pve_firewall,
    "pkill": lambda words: Guard(_START_SSH) if "sshd" in words else None,
    "killall": lambda words: Guard(_START_SSH) if "sshd" in words else None,
    "passwd": _accounts,
    "usermod": _accounts,
    "chpasswd": _accounts,
    "chage": _accounts,
    "chsh": _accounts,
    "userdel": _warns,
    "deluser": _warns,
}

# Files that say who gets in: whatever changes one, it is put back, and what reads it is told.
_FILES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"/etc/ssh/sshd_config(?:\.d/[\w.-]+)?"), _RELOAD_SSH),
    (re.compile(r"(?:/root|/home/[\w.-]+|~)/\.ssh/authorized_keys"), "true"),
    (re.compile(r"/etc/network/interfaces(?:\.d/[\w.-]+)?"), "ifreload -a || systemctl restart networking"),
    (re.compile(r"/etc/netplan/[\w.-]+\.yaml"), "netplan apply"),
    (re.compile(r"/etc/pve/firewall/[\w.-]+\.fw|/etc/pve/nodes/[\w.-]+/host\.fw"), "pve-firewall restart"),
)


_PREFIX = re.compile(r"sudo|-n|command|env|nohup|[A-Za-z_]\w*=.*", re.DOTALL)


@lru_cache(maxsize=1024)  # asked whenever a card is drawn
def look(command: str) -> Danger | None:
    """What a command that changes something may do to the way in; None where nothing is to be feared."""
    guards: list[Guard] = []
    warned = sudo = False
    for whole in _simple_commands(command):
        own = whole[:1] == ["sudo"]
        words = list(itertools.dropwhile(_PREFIX.fullmatch, whole))
        rule = _RULES.get(words[0].rpartition("/")[2]) if words else None
        found = None if rule is None else rule(words[1:])
        if isinstance(found, Guard):
            guards.append(found)
            sudo = sudo or own
        elif found is not None:
            warned = True
    for pattern, reload in _FILES:
        for path in dict.fromkeys(match[0] for match in pattern.finditer(command)):
            kept = path.replace("/", "_").replace("~", "home")
            back = f'if [ -e "$G/{kept}" ]; then cp -a "$G/{kept}" {path}; else rm -f {path}; fi; {reload}'
            guards.append(Guard(back, f'if [ -e {path} ]; then cp -a {path} "$G/{kept}"; fi'))
            sudo = sudo or "sudo" in command
    if not guards and not warned:
        return None
    guard = Guard(
        "; ".join(dict.fromkeys(guard.revert for guard in reversed(guards))),
        " && ".join(f"{{ {text}; }}" for text in dict.fromkeys(guard.prepare for guard in guards)),
    )
    return Danger(guard if guards else None, WARNING if warned else None, sudo)


def _simple_commands(command: str) -> list[list[str]]:
    """The words of each simple command; of what cannot be taken apart, the words that blanks separate."""
    lexer = shlex.shlex(command.replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.commenters = ""
    try:
        tokens = list(lexer)
    except ValueError:
        tokens = command.split()
    found: list[list[str]] = [[]]
    for token in tokens:
        if token and set(token) <= set("();&|"):
            found.append([])
        else:
            found[-1].append(token)
    return [words for words in found if words]
