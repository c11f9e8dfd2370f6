"""Programs that talk to other machines: what they fetch, what they send, and whether it leaves the lab."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence

from nomos.risk.programs.base import Inside
from nomos.risk.verdict import READS, Verdict, change, destroy, sensitive, strictest
from nomos.risk.words import Word

_LAB = re.compile(
    r"(?:[\w-]+\.)*[\w-]+\.(?:local|lan|home|internal|localdomain|test|localhost|home\.arpa|in-addr\.arpa)\.?|[\w-]+"
)
_LAB_NETWORKS = tuple(
    ipaddress.ip_network(network)
    for network in """10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 ::1/128 fc00::/7
    fe80::/10""".split()
)
# Asked all over the world whether the net is there: the exact names, which carry nothing.
_WELL_KNOWN = frozenset(
    """google.com www.google.com cloudflare.com one.one.one.one dns.google debian.org example.com example.org
    example.net""".split()
)
LEAVES = "it reaches out of the lab, and could carry what was read"


def in_lab(host: str) -> bool:
    """Whether a name or address belongs to the lab: private, this machine, a name without a public ending."""
    host = host.strip("[]")
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return _LAB.fullmatch(host.casefold()) is not None and not host.isdigit()
    return any(address in network for network in _LAB_NETWORKS if network.version == address.version)


def destination(word: Word, *, carries: bool) -> Verdict:
    """What it means to reach the host that a word names.

    :param carries: the word itself can carry data (an address with a path, a name looked up in the DNS).
    """
    if not word.known:
        return sensitive("it reaches a host that is only known when it runs, and could carry what was read")
    text = re.sub(r"^[a-z][a-z0-9+.-]*://", "", word.text, flags=re.IGNORECASE)
    host = re.split(r"[/?#]", text, maxsplit=1)[0].rpartition("@")[2]
    if not re.fullmatch(r"\[.*\]|[^:]*:[^:]*:.*", host):
        host = host.partition(":")[0]
    if in_lab(host) or (not carries and _is_address(host)):
        return READS
    if not carries and host.casefold() in _WELL_KNOWN:
        return READS
    return sensitive(LEAVES)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


_CURL_FLAGS = frozenset("sSfLkIivgG46#N")
_CURL_VALUED = frozenset("mwHArex")
_CURL_LONG = frozenset(
    """
    --silent --show-error --fail --fail-with-body --location --insecure --head --include --verbose --globoff
    --get --ipv4 --ipv6 --no-progress-meter --progress-bar --compressed --http1.1 --http2 --no-buffer --version
    --help --tlsv1.2 --tlsv1.3 --path-as-is --retry-connrefused
    """.split()
)
_CURL_LONG_VALUED = frozenset(
    """
    --max-time --connect-timeout --write-out --header --user-agent --range --referer --retry --retry-delay
    --retry-max-time --url --cacert --resolve --interface --max-redirs --limit-rate
    """.split()
)


def curl(words: Sequence[Word], _inside: Inside) -> Verdict:
    """GET and HEAD to the output read; everything else sends or writes."""
    rest, verdicts, addresses = list(words[1:]), list[Verdict](), list[Word]()
    while rest:
        word = rest.pop(0)
        if not word.known and word.may_be_option:
            return change("a word of curl that is only known when it runs may be an option: write it out")
        text = word.text
        if not text.startswith("-") or text == "-":
            addresses.append(word)
        elif text.startswith("--"):
            name, _, _ = text.partition("=")
            if name in _CURL_LONG and name == text:
                continue
            if not rest:
                return change(f"Nomos does not know curl's option {text}")
            value = rest.pop(0)
            verdicts.append(_curl_value(name if name == text else "", value))
            if name == "--url":
                addresses.append(value)
        else:
            for at, letter in enumerate(text[1:], 1):
                if letter in _CURL_FLAGS:
                    continue
                value = Word(text[at + 1 :], word.known) if text[at + 1 :] or not rest else rest.pop(0)
                verdicts.append(_curl_value(f"-{letter}", value))
                break
    # A header or a name could carry data as well as an address.
    verdicts += [destination(address, carries=True) for address in addresses]
    if any(
        re.match(r"(?i)(file|scp|sftp|dict|gopher|telnet|ldaps?|smtps?|imaps?|smbs?):", address.text)
        for address in addresses
    ):
        verdicts.append(change("curl's address is not http: ask for it plainly"))
    return strictest(verdicts)


def _curl_value(name: str, value: Word) -> Verdict:
    if name in ("-o", "--output"):
        nowhere = value.known and value.text in ("/dev/null", "-", "/dev/stdout")
        return READS if nowhere else change("curl writes a file")
    if name in ("-X", "--request"):
        reads = value.known and value.text in ("GET", "HEAD", "OPTIONS")
        return READS if reads else change(f"curl sends {value.text or 'a request that is only known when it runs'}")
    if name in ("-H", "--header", "-A", "-e", "-w", "--write-out", "--user-agent", "--referer") and (
        not value.known or value.text.startswith("@") or "%output{" in value.text or "%header" in value.text
    ):
        return change("curl sends or writes what the text does not show")
    if name in ("-K", "--config"):
        return destroy("curl's options are in a file that the text does not show")
    if name in _CURL_LONG_VALUED or (len(name) == len("-x") and name[1:] in _CURL_VALUED):
        return READS if name != "-x" else change("curl goes through a proxy")
    return change(f"curl's option {name or '?'} sends or writes")


_WGET_OUT = re.compile(r"-(?:[qS]*O|qO|nvO)-|-(?:[qS]*O|nvO)|--output-document=-")


def wget(words: Sequence[Word], _inside: Inside) -> Verdict:
    """It writes a file, unless it is told to print or only to look."""
    rest, prints, addresses = list(words[1:]), False, list[Word]()
    while rest:
        word = rest.pop(0)
        text = word.text
        if not word.known and word.may_be_option:
            return change("a word of wget that is only known when it runs may be an option: write it out")
        if _WGET_OUT.fullmatch(text):
            if not text.endswith("-"):
                target = rest.pop(0) if rest else Word("", known=False)
                if not target.known or target.text not in ("-", "/dev/null"):
                    return change("wget writes a file")
            prints = True
        elif text in ("--spider", "--version", "--help"):
            prints = True
        elif text in ("-T", "-t", "--timeout", "--tries") and rest:
            rest.pop(0)
        elif text in (
            "-q",
            "-S",
            "-nv",
            "--quiet",
            "--no-verbose",
            "--server-response",
            "--no-check-certificate",
            "-4",
            "-6",
        ) or re.fullmatch(r"--(?:timeout|tries|user-agent|connect-timeout)=.*|-[Tt]\d+", text):
            continue
        elif re.match(r"--(?:use-askpass|config|exec)|-e", text):
            return destroy("wget runs a program, or takes options that the text does not show")
        elif text.startswith("-"):
            return change(f"wget's option {text} sends or writes")
        else:
            addresses.append(word)
    if not prints:
        return change("wget writes a file")
    return strictest(destination(address, carries=True) for address in addresses)


def reaching(words: Sequence[Word], inside: Inside) -> Verdict:
    """ping, traceroute and the like: an address carries nothing; a public name could."""
    verdict = inside.table(words)
    if verdict.risk.rank:
        return verdict
    hosts = [word for word in words[1:] if not word.may_be_option and "." in word.text and "/" not in word.text]
    return strictest([verdict, *(destination(host, carries=False) for host in hosts)])


def lookup(words: Sequence[Word], inside: Inside) -> Verdict:
    """dig, host, nslookup: the name that is looked up is itself what is sent."""
    verdict = inside.table(words)
    if verdict.risk.rank:
        return verdict
    names = [word for word in words[1:] if not word.text.startswith(("-", "+", "@")) or not word.known]
    return strictest([verdict, *(destination(name, carries=False) for name in names)])
