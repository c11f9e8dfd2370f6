"""Every error Nomos raises on purpose, in one tree. The docstring of a class is its message.

    NomosError
    ├── SettingError            a setting is wrong: refuse to start
    ├── DatabaseTooNew          the database was written by a newer Nomos
    ├── StoreUnavailable        the database cannot be used now; it may pass by itself
    │   └── StoreFull           there is no room for another write
    ├── InvalidInput            what was sent cannot be read
    ├── TooLarge                what was sent is longer than can be taken
    ├── NotFound                the thing named does not exist
    ├── Conflict                the thing exists, but not in the state that this needs
    │   ├── AlreadyDecided      an approval has another answer
    │   ├── DigestMismatch      what was approved is not what was shown
    │   └── ClientIdReused      one client_id, two different texts
    ├── Withdrawn               the question is no longer asked
    ├── NotSignedIn             no session and no token
    ├── Forbidden               signed in, but without the scope
    ├── ClaimLost               another worker holds the claim: throw the work away
    ├── ModelFault              the model gave no usable answer
    └── HostFault               a host could not be reached or used
        ├── HostUnreachable     no connection; nothing was sent
        ├── HostKeyUnknown      the host has no trusted key yet
        ├── HostKeyChanged      the host shows another key than the trusted one
        ├── HostRefused         the host answered, but lets us not in
        ├── HostUnusable        connected, but jobs cannot be kept there
        └── ConnectionLost      the link ended while something was under way: the outcome is not known

HTTP meaning is given once, in ``nomos.web.problems``.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar


class NomosError(Exception):
    """Something in Nomos went wrong."""

    code: ClassVar[str] = "nomos_error"

    def __init__(self, detail: str | None = None) -> None:
        self.detail = detail or (type(self).__doc__ or "").strip()
        super().__init__(self.detail)


class SettingError(NomosError):
    """A setting has a value that Nomos cannot use."""

    code = "wrong_setting"


class DatabaseTooNew(NomosError):
    """The database was written by a newer Nomos than this one. Start that version, or restore a backup."""

    code = "database_too_new"


class StoreUnavailable(NomosError):
    """The database cannot be used now. Try again: what was done all the same is not done a second time."""

    code = "database_unavailable"


class StoreFull(StoreUnavailable):
    """The disk that holds the database is full. Nothing was changed. Nomos goes on by itself once there is room."""

    code = "disk_full"


class InvalidInput(NomosError):
    """What was sent cannot be read. Nothing was changed."""

    code = "invalid_input"

    def __init__(self, detail: str | None = None, *, field: str | None = None) -> None:
        super().__init__(detail)
        self.field = field


class TooLarge(NomosError):
    """What was sent is longer than Nomos takes. Nothing was changed."""

    code = "too_large"


class NotFound(NomosError):
    """There is no such thing. Nothing was changed."""

    code = "not_found"


class Conflict(NomosError):
    """This cannot be done in the present state. Nothing was changed."""

    code = "conflict"


class AlreadyDecided(Conflict):
    """This was decided already, with another answer."""

    code = "already_decided"


class DigestMismatch(Conflict):
    """What you answered is not what is asked now. Nothing ran. Look at the card again."""

    code = "digest_mismatch"


class ClientIdReused(Conflict):
    """This client_id was used for another text. The first one stands."""

    code = "client_id_reused"


class Withdrawn(NomosError):
    """The question was withdrawn. Nothing ran."""

    code = "withdrawn"


class NotSignedIn(NomosError):
    """Sign in first."""

    code = "not_signed_in"


class Forbidden(NomosError):
    """You may not do this. Nothing was changed."""

    code = "forbidden"


class ClaimLost(NomosError):
    """Another worker took this over. What was under way here is thrown away."""

    code = "claim_lost"


class FaultKind(StrEnum):
    """Why a model's answer cannot be used (facts: the table of broken streams in the SDK)."""

    EMPTY = "empty"  # nothing in it: no words, no tool call
    REFUSED = "refused"  # stop_reason refusal: the same history refuses again
    BROKEN = "broken"  # the stream broke or ended without message_stop or stop_reason
    CUT = "cut"  # max_tokens in the middle of a tool call, or a call whose input does not validate
    TRANSIENT = "transient"  # overloaded, rate limit, 5xx, no connection, read timeout: may pass by itself
    PERMANENT = "permanent"  # bad key, spend limit, wrong model name, bad request: needs the operator
    TOO_LONG = "too_long"  # the context window of the model is full
    STOPPED = "stopped"  # the operator pressed Stop


class ModelFault(NomosError):
    """The model gave no usable answer."""

    code = "model_fault"

    def __init__(
        self,
        kind: FaultKind,
        detail: str,
        *,
        status: int | None = None,
        error_type: str | None = None,
        retry_after: float | None = None,
    ) -> None:
        """:param detail: one sentence for the operator. :param retry_after: seconds the service asked for."""
        super().__init__(detail)
        self.kind = kind
        self.status = status
        self.error_type = error_type
        self.retry_after = retry_after


class HostFault(NomosError):
    """The host could not be used."""

    code = "host_fault"


class HostUnreachable(HostFault):
    """The host could not be reached. Nothing was started there."""

    code = "host_unreachable"


class HostKeyUnknown(HostFault):
    """The host has no trusted key yet. Nothing was started there. Trust its fingerprint first."""

    code = "host_key_unknown"


class HostKeyChanged(HostFault):
    """The host shows another key than the trusted one. Nothing was started there."""

    code = "host_key_changed"


class HostRefused(HostFault):
    """The host refused the sign-in. Nothing was started there."""

    code = "host_refused"


class HostUnusable(HostFault):
    """Nomos is connected, but the host cannot keep jobs. Nothing was started there."""

    code = "host_unusable"


class ConnectionLost(HostFault):
    """The connection to the host ended while a job was under way. The job may go on; its outcome is not known yet."""

    code = "connection_lost"
