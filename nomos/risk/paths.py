"""Paths that hold secrets, and targets of redirections."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from nomos.risk.verdict import READS, Verdict, change, destroy
from nomos.risk.words import Word

_SECRET = re.compile(
    r"""(?x)
    (^|/)(g?shadow|master\.passwd|sudoers)(-|\.bak|\.old)?$
    | (^|/)etc/(shadow|gshadow|security/opasswd|krb5\.keytab|ppp/(chap|pap)-secrets|ipsec\.secrets|rndc\.key)
    | (^|/)etc/(wireguard/|NetworkManager/system-connections)
    | (^|/)\.ssh/(?!(known_hosts|authorized_keys|config)(\.old)?$|[^/]*\.pub$)
    | (^|/)(id_(rsa|dsa|ecdsa|ed25519)(_sk)?|ssh_host_\w+_key)$
    | \.(key|p12|pfx|jks|kdbx|ppk|keytab|ovpn|age|credentials|passwd|secret|token)$
    | (^|/)(privkey|private|server-key|.*[-_]key)\w*\.pem$
    | (^|/)(ssl|tls|pki)/private(/|$) | (^|/)letsencrypt/(archive|accounts)(/|$)
    | (^|/)\.(netrc|pgpass|my\.cnf|mylogin\.cnf|git-credentials|npmrc|pypirc|smbcredentials|s3cfg|boto|vault-token)$
    | (^|/)\.(htpasswd|env|envrc)(\.[\w.-]+)?$ | (^|/)[\w-]+\.env$
    | (^|/)\.(aws|gnupg|kube|docker|azure|config/gcloud|password-store)(/|$) | (^|/)\.storage/auth
    | (^|/)(kubeconfig|k3s\.yaml|rclone\.conf|wp-config\.php|credentials(\.\w+)?)$
    | (^|/)secrets?\.(ya?ml|json|toml|env|txt|ini|conf)$ | (^|/)wpa_supplicant[\w.-]*\.conf$
    | (^|/)(secrets?|credentials|passwords?|passwd\.bak)(/|$) | (^|/)\.?(smb|cifs)[._-]?cred\w*$
    | (^|/)pve/(priv|local/pve-ssl\.key|nodes/[^/]+/(priv|pve-ssl\.key)) | (^|/)run/secrets(/|$)
    | (^|/)proc/[^/]+/(environ|mem|maps|task/[^/]+/environ)$ | (^|/)dev/(k?mem|port)$
    | (^|/)\.(bash|zsh|ash|mysql|psql|python|rediscli)_history$
    """
)
# Where they lie: a pattern or a folder that reaches one of these may show secrets, too.
_SAMPLES = (
    "/etc/shadow", "/etc/gshadow", "/etc/ssl/private/x.key", "/etc/ssh/ssh_host_rsa_key", "/etc/wireguard/wg0.conf",
    "/etc/pve/priv/authkey.key", "/etc/letsencrypt/archive/x/privkey1.pem", "/etc/NetworkManager/system-connections/x",
    "/root/.ssh/id_rsa", "/root/.ssh/id_ed25519", "/root/.bash_history", "/root/.pgpass", "/home/x/.ssh/id_rsa",
    "/home/x/.bash_history", "~/.ssh/id_rsa", "~/.ssh/id_ed25519", "~/.pgpass", "/proc/1/environ", "/proc/self/environ",
    "/run/secrets/x", ".env", "./.env", ".ssh/id_rsa", "id_rsa", "/var/lib/rancher/k3s/server/token",
)  # fmt: skip

_NOWHERE = frozenset("/dev/null /dev/stdout /dev/stderr /dev/tty /dev/fd/1 /dev/fd/2".split())
_TOUCHY = re.compile(r"/proc/sysrq-trigger|/proc/acpi/.*|/sys/.*/(delete|remove|unbind|reset|power_off|rescan_force)")


def _plain(path: str) -> str:
    """The path without doubled slashes and dots that lead nowhere."""
    path = re.sub(r"/(\./)*/*", "/", path)
    while (shorter := re.sub(r"(^|/)(?!\.\./)[^/]+/\.\./", r"\1", path, count=1)) != path:
        path = shorter
    return path


def shows_secrets(word: Word) -> bool:
    """Whether the word names, or may come to name, a file with secrets; a folder counts with what lies in it."""
    texts = [word.text] if "=" not in word.text else [word.text, word.text.partition("=")[2]]
    return any(_may_be_secret(_plain(text), word) for text in texts)


def _may_be_secret(path: str, word: Word) -> bool:
    if word.known and not path:
        return False
    if _SECRET.search(path):
        return True
    if word.known:
        folder = path.rstrip("/") + "/"
        return path.startswith(("/", "~")) and any(sample.startswith(folder) for sample in _SAMPLES)
    if word.number:
        return False
    if word.pattern and not word.splits and any(letter in word.pattern for letter in "*?["):
        pattern = _plain(word.pattern)
        parts = pattern.count("/")
        reach = ("/".join(sample.split("/")[: parts + 1]) for sample in _SAMPLES if sample.count("/") >= parts)
        hidden = not pattern.rpartition("/")[2].startswith(("*", "?"))
        return any(
            fnmatchcase(short, pattern) and (hidden or not short.rpartition("/")[2].startswith("."))
            for short in reach
        )  # fmt: skip
    return not path or any(sample.startswith(path) for sample in _SAMPLES)


def written(word: Word | None, operator: str, *, empties: bool) -> Verdict:
    """What writing to a redirection's target does. ``empties``: nothing is written, so the file ends up empty."""
    if word is None or word.splits or not word.known:
        prefix = "" if word is None else _plain(word.text)
        if not prefix.startswith("/") or prefix.startswith(("/dev", "/proc", "/sys")) or prefix == "/":
            return destroy("it writes to a file whose name is only known when it runs: write the name out")
        return change(f"it writes to a file under {prefix}")
    path = _plain(word.text)
    if path in _NOWHERE:
        return READS
    if path.startswith(("/dev/tcp/", "/dev/udp/")):
        return change("it opens a network connection and sends")
    if path.startswith("/dev/") or _TOUCHY.fullmatch(path):
        return destroy(f"it writes to the device {path}")
    if empties and operator not in (">>", "&>>"):
        return destroy(f"it empties the file {path}")
    return change(f"it writes to the file {path}")
