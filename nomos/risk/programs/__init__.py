"""Readers for the programs whose words a table cannot describe. Each judges one command's words; pure.

May import: ``nomos.domain``, ``nomos.risk`` beneath ``classify``.
"""

from collections.abc import Mapping

from nomos.risk.programs import files, network, queries, scripts, shells, versions
from nomos.risk.programs.base import SOME, Inside, Reader

READERS: Mapping[str, Reader] = {
    **dict.fromkeys(("sh", "bash", "dash", "ash", "zsh", "ksh", "rbash"), shells.shell),
    **dict.fromkeys(("test", "[", "[["), shells.test),
    **dict.fromkeys(("export", "readonly", "declare", "typeset", "local", "unset"), shells.declare),
    **dict.fromkeys((".", "source", "eval"), shells.runs_unseen),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), scripts.awk),
    **dict.fromkeys(
        ("ping", "ping6", "traceroute", "tracepath", "mtr", "nc", "ncat", "netcat", "nmap"), network.reaching
    ),
    **dict.fromkeys(("dig", "host", "nslookup", "drill", "whois", "getent"), network.lookup),
    **dict.fromkeys(("mysql", "mariadb"), queries.mysql),
    **dict.fromkeys(("redis-cli", "valkey-cli"), queries.redis),
    "printf": shells.printf,
    "read": shells.read,
    "set": shells.set_,
    "trap": shells.trap,
    "sed": scripts.sed,
    "find": files.find,
    **dict.fromkeys(("cp", "mv", "install"), files.copy),
    "xargs": files.xargs,
    "dd": files.dd,
    "tar": files.tar,
    "tee": files.tee,
    "truncate": files.truncate,
    "curl": network.curl,
    "wget": network.wget,
    "git": versions.git,
    "jq": queries.jq,
    "yq": queries.jq,
    "sqlite3": queries.sqlite,
    "psql": queries.psql,
}

__all__ = ["READERS", "SOME", "Inside", "Reader"]
