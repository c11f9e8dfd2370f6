"""One signed-in SSH connection: our own socket, the key exchange, the pinned host key, the sign-in; or a clear fault.

The socket is made here because paramiko's own neither sends at once (TCP_NODELAY: a request with stdin costs 40 ms
more without it) nor ever notices a dead peer (its keepalive counts no answers; TCP_USER_TIMEOUT does, in 15 s).
"""

from __future__ import annotations

import logging
import secrets
import socket
import threading
import time
from dataclasses import dataclass

import paramiko
from paramiko.ssh_exception import IncompatiblePeer

from nomos.errors import HostKeyChanged, HostKeyUnknown, HostRefused, HostUnreachable
from nomos.ssh.base import HostKey, Target
from nomos.ssh.keys import fingerprint, host_key

_LOG = "nomos.ssh.wire"
logging.getLogger(_LOG).addHandler(logging.NullHandler())

_CIPHERS = ("aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "aes128-ctr", "aes192-ctr", "aes256-ctr")
_RSA = ("rsa-sha2-512", "rsa-sha2-256")


@dataclass(frozen=True, slots=True)
class Deadlines:
    """How long to wait at most, in seconds.

    ``connect``: for TCP, and for the host's first line. ``sign_in``: for the key exchange and again for the sign-in.
    ``answer``: for a channel, and for the answer to a request. ``dead_peer``: until a silent network counts as cut.
    """

    connect: float = 10
    sign_in: float = 20
    answer: float = 20
    dead_peer: float = 15


def place(target: Target) -> str:
    """How a host is named in messages."""
    return f"{target.name} ({target.address}:{target.port})"


def connect(target: Target, key: paramiko.PKey, deadlines: Deadlines) -> paramiko.Transport:
    """A connection that is signed in, to the host with the trusted key. Raises a HostFault; then nothing was sent."""
    if target.host_key is None:
        raise HostKeyUnknown(f"{place(target)} has no trusted host key yet. Trust its fingerprint first.")
    transport = exchange_keys(target, deadlines)
    try:
        _check_host_key(target, host_key(transport.get_remote_server_key()))
        _sign_in(transport, target, key, deadlines)
    except BaseException:
        hang_up(transport)
        raise
    return transport


def exchange_keys(target: Target, deadlines: Deadlines) -> paramiko.Transport:
    """A connection after the key exchange, not signed in. A host that hangs up at once is tried again."""
    for attempt in range(3):
        try:
            return _exchange_keys(target, deadlines)
        except _HungUp:
            # OpenSSH drops connections at random when too many are signing in (MaxStartups).
            time.sleep((attempt + 1) * (0.2 + secrets.randbelow(200) / 1000))
    if _speaks_http(target):
        raise HostUnreachable(f"{place(target)} answers with HTTP, not SSH. Is it the right port?")
    raise HostUnreachable(
        f"{place(target)} accepts connections and closes them before it says anything. Is it an SSH server, "
        "does it block this address, or has it too many open sign-ins?"
    )


def hang_up(transport: paramiko.Transport) -> None:
    """Close a connection; also one that has ended already, whose socket paramiko leaves open."""
    transport.close()
    transport.sock.close()


class _HungUp(Exception):
    """The host closed the connection before its first line."""


def _exchange_keys(target: Target, deadlines: Deadlines) -> paramiko.Transport:
    transport = paramiko.Transport(_open_socket(target, deadlines))
    transport.daemon = True
    transport.set_log_channel(_LOG)
    transport.banner_timeout = deadlines.connect
    transport.auth_timeout = deadlines.sign_in
    options = transport.get_security_options()
    options.ciphers = _CIPHERS
    options.key_types = _pinned_first(target.host_key, tuple(options.key_types))
    done = threading.Event()
    try:
        transport.start_client(event=done)
        deadline = time.monotonic() + deadlines.connect + deadlines.sign_in
        while not done.wait(0.1) and transport.is_active() and time.monotonic() < deadline:
            pass
        if done.is_set() and transport.is_active():
            return transport
    except BaseException:
        hang_up(transport)
        raise
    error = transport.get_exception() or TimeoutError()
    hang_up(transport)
    raise _exchange_fault(target, error, deadlines) from error


def _open_socket(target: Target, deadlines: Deadlines) -> socket.socket:
    try:
        sock = socket.create_connection((target.address, target.port), timeout=deadlines.connect)
    except socket.gaierror as error:
        raise HostUnreachable(f"The address of {place(target)} cannot be found: {error.strerror}.") from error
    except ConnectionRefusedError as error:
        raise HostUnreachable(f"Nothing listens at {place(target)}: the connection was refused.") from error
    except TimeoutError as error:
        raise HostUnreachable(f"{place(target)} did not answer within {deadlines.connect:g} s.") from error
    except OSError as error:
        raise HostUnreachable(f"{place(target)} cannot be reached: {error.strerror or error}.") from error
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_USER_TIMEOUT", int(deadlines.dead_peer * 1000)),
        ("TCP_KEEPIDLE", max(1, int(deadlines.dead_peer / 3))),
        ("TCP_KEEPINTVL", max(1, int(deadlines.dead_peer / 3))),
        ("TCP_KEEPCNT", 3),
    ):
        option = getattr(socket, name, None)  # not every system that Nomos runs on has them all
        if option is not None:
            sock.setsockopt(socket.IPPROTO_TCP, option, value)
    return sock


def _pinned_first(pinned: str | None, known: tuple[str, ...]) -> tuple[str, ...]:
    """Ask for the trusted type first: a host with several keys would look changed otherwise."""
    if pinned is None:
        return known
    kind = pinned.split()[0]
    first = tuple(name for name in (_RSA if kind == "ssh-rsa" else (kind,)) if name in known)
    return first + tuple(name for name in known if name not in first)


def _exchange_fault(target: Target, error: Exception, deadlines: Deadlines) -> Exception:
    """What a failed key exchange means, in the operator's words."""
    where = place(target)
    if isinstance(error, IncompatiblePeer):
        if "host key" in str(error):
            return HostRefused(
                f"{where} offers only host keys of a kind that is no longer safe (ssh-rsa with SHA-1, or DSA). "
                "Give it an ed25519 host key (ssh-keygen -A) or update its SSH server."
            )
        return HostRefused(f"{where} and Nomos share no safe way to encrypt: update its SSH server ({error}).")
    if "banner" in str(error):
        if isinstance(error.__context__, TimeoutError):
            return HostUnreachable(f"{where} accepted the connection but said nothing for {deadlines.connect:g} s.")
        return _HungUp()
    if isinstance(error, TimeoutError):
        return HostUnreachable(f"{where} did not finish the key exchange in time.")
    if "protocol version" in str(error) or "SSH banner" in str(error):
        return _HungUp()
    reason = str(error) or type(error).__name__
    return HostUnreachable(f"{where} ended the connection during the key exchange: {reason}.")


def _speaks_http(target: Target) -> bool:
    """Whether a web server listens there; asked only to give a better message."""
    try:
        with socket.create_connection((target.address, target.port), timeout=2) as sock:
            sock.settimeout(2)
            sock.sendall(b"HEAD / HTTP/1.0\r\n\r\n")
            return sock.recv(5) == b"HTTP/"
    except OSError:
        return False


def _check_host_key(target: Target, shown: HostKey) -> None:
    assert target.host_key is not None
    trusted = " ".join(target.host_key.split()[:2])
    if shown.line != trusted:
        raise HostKeyChanged(
            f"{place(target)} shows another host key than the trusted one. Trusted: {fingerprint(trusted)} "
            f"({trusted.split()[0]}). Shown now: {shown.fingerprint} ({shown.line.split()[0]}). "
            "Either the host was set up anew, or somebody else answers in its place."
        )


def _sign_in(transport: paramiko.Transport, target: Target, key: paramiko.PKey, deadlines: Deadlines) -> None:
    where = place(target)
    try:
        further = transport.auth_publickey(target.user, key)
    except paramiko.BadAuthenticationType as error:
        ways = ", ".join(error.allowed_types)
        raise HostRefused(f"{where} lets {target.user} sign in only by {ways}, not by a key.") from error
    except paramiko.AuthenticationException as error:
        if not transport.is_active():
            raise HostUnreachable(f"{where} ended the connection during the sign-in.") from error
        if "timeout" in str(error).lower():
            raise HostUnreachable(f"{where} did not answer the sign-in within {deadlines.sign_in:g} s.") from error
        raise HostRefused(
            f"{where} refused the key {key.fingerprint} for {target.user}. This line belongs into the "
            f"authorized_keys file of {target.user} there: {key.get_name()} {key.get_base64()} nomos"
        ) from error
    except (paramiko.SSHException, EOFError, OSError) as error:
        raise HostUnreachable(f"{where} ended the connection during the sign-in: {error}.") from error
    if further:
        raise HostRefused(f"{where} wants more than a key from {target.user}: {', '.join(further)}.")
