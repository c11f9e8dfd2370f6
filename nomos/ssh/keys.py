"""Keys: Nomos's own key pair, reading private keys, fingerprints and the pinned form of host keys."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import secrets
from pathlib import Path

import paramiko
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from nomos.errors import HostRefused, InvalidInput
from nomos.ssh.base import HostKey

KEY_NAME = "id_ed25519"


def ensure_key(folder: Path) -> str:
    """Make Nomos's own ed25519 key in ``folder`` if there is none (key 0600, folder 0700).

    Returns the public line for ``authorized_keys``. Safe when two processes do it at once: the first one's key stays.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.chmod(0o700)
    path = folder / KEY_NAME
    if not path.exists():
        _write_new_key(path)
    private = serialization.load_ssh_private_key(path.read_bytes(), password=None)
    public = private.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    line = f"{public.decode()} nomos"
    path.with_suffix(".pub").write_text(line + "\n")
    return line


def _write_new_key(path: Path) -> None:
    text = Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)  # unlike a rename, it never replaces the key of a faster process
    except FileExistsError:
        pass
    finally:
        draft.unlink()


def load_key(path: Path) -> paramiko.PKey:
    """The private key in a file. Raises HostRefused, with what to do, when it cannot be used without asking anybody."""
    try:
        return paramiko.PKey.from_path(path)
    except FileNotFoundError:
        raise HostRefused(f"The key file {path} does not exist.") from None
    except PermissionError:
        raise HostRefused(f"Nomos may not read the key file {path}.") from None
    except IsADirectoryError:
        raise HostRefused(f"{path} is a folder, not a key file.") from None
    except (paramiko.PasswordRequiredException, TypeError):
        # cryptography says TypeError when a key is encrypted and no passphrase was given
        raise HostRefused(
            f"The key file {path} is encrypted. Nomos cannot ask for its passphrase: use a key without one."
        ) from None
    except (paramiko.SSHException, ValueError, OSError) as error:
        raise HostRefused(f"The file {path} holds no private key that Nomos can read: {error}") from error


def host_key(key: paramiko.PKey) -> HostKey:
    """A key that a host showed, in the form that is pinned."""
    line = f"{key.get_name()} {key.get_base64()}"
    return HostKey(line=line, fingerprint=fingerprint(line))


def fingerprint(line: str) -> str:
    """The SHA-256 fingerprint of a public key line, as OpenSSH prints it. Raises InvalidInput when it is none."""
    try:
        blob = base64.b64decode(line.split()[1], validate=True)
    except (IndexError, binascii.Error):
        raise InvalidInput(f"{line!r} is not a public key line.") from None
    digest = base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
    return f"SHA256:{digest}"
