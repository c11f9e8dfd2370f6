"""Environment variables before a command, in ``env`` and in ``export``: which are harmless. The rest may run code."""

from __future__ import annotations

import re

from nomos.risk.verdict import READS, Verdict, change, destroy
from nomos.risk.words import Word

_HARMLESS = re.compile(
    r"LANG|LANGUAGE|LC_[A-Z]+|TZ|COLUMNS|LINES|NO_COLOR|CLICOLOR|TERM|DEBIAN_FRONTEND|NEEDRESTART_MODE|PS_FORMAT"
)
_ONLY = {
    "PAGER": ("cat", ""), "SYSTEMD_PAGER": ("cat", ""), "GIT_PAGER": ("cat", ""), "MANPAGER": ("cat", ""),
    "SYSTEMD_COLORS": ("0", "1"), "SYSTEMD_LESS": ("",), "LESSSECURE": ("1",), "GIT_TERMINAL_PROMPT": ("0",),
    "GIT_OPTIONAL_LOCKS": ("0",), "APT_LISTCHANGES_FRONTEND": ("none",), "DOCKER_CLI_HINTS": ("false",),
}  # fmt: skip
# They say where to, or with what secret: another target than the one shown, but no code.
_ELSEWHERE = re.compile(
    r"KUBECONFIG|DOCKER_(HOST|CONTEXT)|PG(HOST|PORT|USER|DATABASE|PASSWORD)|MYSQL_PWD|REDISCLI_AUTH|COMPOSE_(FILE|PROJECT_NAME)|"
    r"BORG_(REPO|PASSPHRASE)|RESTIC_(REPOSITORY|PASSWORD|PASSWORD_FILE)|PBS_(REPOSITORY|PASSWORD)|"
    r"(?:https?|no|all|ftp)_proxy|(?:HTTPS?|NO|ALL)_PROXY|DEBCONF_\w+|ACCEPT_EULA|UCF_FORCE_CONFFOLD"
)
# Variables that bash or its children act upon. A plain assignment to anything else stays within the shell.
_SHELLS_OWN = re.compile(
    r"PATH|IFS|ENV|HOME|USER|LOGNAME|TERM|SHELL|SHELLOPTS|CDPATH|GLOB\w*|EXECIGNORE|BASH\w*|LD_\w+|PS[0-9]|PROMPT_\w+|HIST\w*|"
    r"MAIL\w*|OPT\w+|TMOUT|TMPDIR|POSIXLY_CORRECT|FCEDIT|EDITOR|VISUAL|COMP_\w+|COMPREPLY|READLINE_\w+|FUNCNEST|FUNCNAME|INPUTRC|"
    r"TIMEFORMAT|DIRSTACK|HOST\w+|MACHTYPE|OSTYPE|CHILD_MAX|COPROC|E?UID|GROUPS|PPID|PWD|OLDPWD|RANDOM|SRANDOM|SECONDS|SHLVL|EPOCH\w+|"
    r"LINENO|MAPFILE|REPLY|PIPESTATUS|XDG_\w+|LESS\w*|\w*PAGER|GIT_\w+|SYSTEMD_\w+|NOMOS_\w+|DEBIAN_\w+|NEEDRESTART_\w+|APT_\w+|"
    r"auto_resume|histchars|PYTHON\w*|PERL\w*|RUBY\w*|NODE_\w+|SSH_\w+|TAR_OPTIONS|GREP_\w+|SUDO_\w+|DOCKER_\w+|KUBECONFIG"
)


def is_shells_own(name: str) -> bool:
    """Whether the shell, or what it starts, acts upon the variable without its being exported."""
    return _SHELLS_OWN.fullmatch(name) is not None


def given(name: str, value: Word) -> Verdict:
    """``NAME=value`` where programs will see it."""
    if _HARMLESS.fullmatch(name):
        return READS
    if name in _ONLY and value.known and value.text in _ONLY[name]:
        return READS
    if _ELSEWHERE.fullmatch(name):
        return change(f"{name} lets it act with another target or secret")
    return destroy(f"{name} in the environment may run code: leave it out")


def named(name: str) -> Verdict:
    """``export NAME``: the value was given before."""
    return READS if _HARMLESS.fullmatch(name) else given(name, Word("", known=False))


def kept(name: str, value: Word) -> Verdict:
    """``NAME=value`` as a command of its own: a variable of the shell."""
    return given(name, value) if is_shells_own(name) else READS
