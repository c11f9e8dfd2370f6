"""The ladder from whatever the SDK can raise to one ``ModelFault`` with a sentence the operator can act on.

What SDK 2.15 raises for a broken stream was measured: after the first byte of a 200 almost nothing is an
``anthropic.APIError``, and the SDK retries none of it.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

import anthropic
import httpx2

from nomos.errors import FaultKind, ModelFault
from nomos.llm.wire import retry_after

_PERMANENT_TYPES = frozenset(
    {
        "invalid_request_error",
        "authentication_error",
        "billing_error",
        "permission_error",
        "not_found_error",
        "request_too_large",
    }
)
_TRANSIENT_TYPES = frozenset(
    {"overloaded_error", "api_error", "rate_limit_error", "timeout_error", "conflict_error", "server_error"}
)
# The cloud, llama.cpp and vLLM each say it in their own words, all with status 400.
_TOO_LONG = re.compile(
    r"prompt is too long|context (limit|window)|maximum context length|context size|input length and .?max_tokens",
    re.IGNORECASE,
)
_SPENT = re.compile(r"spend(ing)? (limit|cap)|usage limits?|credit balance|monthly limit", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Where a call was when it failed. ``answering``: the 200 had come. ``in_tool_call``: half a call was received."""

    model: str
    url: str
    answering: bool = False
    in_tool_call: bool = False


def fault(error: BaseException, at: Circumstances) -> ModelFault:
    """Return the fault that ``error`` stands for. Total: there is an answer for every exception."""
    if isinstance(error, ModelFault):
        return error
    if isinstance(error, anthropic.APIStatusError):
        return _status(error, at)
    if isinstance(error, UnicodeEncodeError):
        return ModelFault(
            FaultKind.PERMANENT,
            "The history holds a broken character that cannot be sent. Nothing was sent.",
        )
    if isinstance(error, anthropic.APIConnectionError | httpx2.TransportError) and not at.answering:
        return _no_connection(error, at)
    if isinstance(error, httpx2.TimeoutException | anthropic.APITimeoutError):
        return ModelFault(FaultKind.TRANSIENT, "The model's answer stopped coming, and nothing more arrived in time.")
    if isinstance(error, httpx2.TransportError | anthropic.APIConnectionError):
        return ModelFault(FaultKind.BROKEN, "The connection to the model broke in the middle of its answer.")
    if at.answering:
        return _unreadable(error, at)
    return ModelFault(
        FaultKind.PERMANENT,
        f"The request could not be built ({type(error).__name__}: {_line(str(error))}). Nothing was sent.",
    )


def cannot_be_set_up(error: Exception) -> ModelFault:
    """Return the fault of a client that could not even be built."""
    if isinstance(error, ModelFault):
        return error
    said = f"{type(error).__name__}: {_line(str(error))}"
    return ModelFault(
        FaultKind.PERMANENT,
        f"The model cannot be asked with these settings ({said}). Check ANTHROPIC_BASE_URL and SSL_CERT_FILE.",
    )


def _status(error: anthropic.APIStatusError, at: Circumstances) -> ModelFault:
    said = _line(error.api_message or _plain(error.body) or "")
    kind, detail = _meaning(error, said, at)
    # A status of 200 is an error event in the middle of a stream; its type alone says what it is.
    status = error.status_code if error.status_code != 200 else None
    return ModelFault(
        kind, detail, status=status, error_type=error.type, retry_after=retry_after(error.response.headers)
    )


def _meaning(error: anthropic.APIStatusError, said: str, at: Circumstances) -> tuple[FaultKind, str]:
    status, kind = error.status_code, str(error.type or "")
    quoted = f" It said: {said}" if said else ""
    if status == 413 or kind == "request_too_large" or (status in (200, 400, 422) and _TOO_LONG.search(said)):
        return FaultKind.TOO_LONG, f"The conversation is too long for {at.model}.{quoted}"
    if str(error.error_code or "").endswith("spend_limit_reached") or (
        status in (400, 403, 429) and _SPENT.search(said)
    ):
        return (
            FaultKind.PERMANENT,
            f"A spend limit of the model's account is reached. Raise it, or wait until it ends.{quoted}",
        )
    if status == 200:
        return _in_stream(kind, quoted)
    if status == 401:
        return FaultKind.PERMANENT, f"The model's service does not accept the API key. Check ANTHROPIC_API_KEY.{quoted}"
    if status == 402:
        return FaultKind.PERMANENT, f"The model's account has to be paid first.{quoted}"
    if status == 403:
        return FaultKind.PERMANENT, f"The API key may not use {at.model}.{quoted}"
    if status == 404:
        unknown = f"The model's service at {_place(at.url)} does not know {at.model}."
        return FaultKind.PERMANENT, f"{unknown} Check NOMOS_MODEL and ANTHROPIC_BASE_URL.{quoted}"
    if status == 429:
        return FaultKind.TRANSIENT, f"The model's service limits how often it may be asked.{quoted}"
    if status == 529 or kind == "overloaded_error":
        return FaultKind.TRANSIENT, f"The model's service is overloaded.{quoted}"
    if status in (408, 409) or status >= 500:
        return FaultKind.TRANSIENT, f"The model's service failed with status {status}.{quoted}"
    if status < 400:
        return FaultKind.BROKEN, f"The model's service answered with status {status}, which is no answer.{quoted}"
    return FaultKind.PERMANENT, f"The model's service refused the request with status {status}.{quoted}"


def _in_stream(kind: str, quoted: str) -> tuple[FaultKind, str]:
    if kind in _PERMANENT_TYPES:
        return FaultKind.PERMANENT, f"The model's service refused the request in the middle of the answer.{quoted}"
    if kind in _TRANSIENT_TYPES:
        return FaultKind.TRANSIENT, f"The model's service gave up in the middle of the answer ({kind}).{quoted}"
    return FaultKind.BROKEN, f"The model's answer ended with an error.{quoted}"


def _no_connection(error: BaseException, at: Circumstances) -> ModelFault:
    causes = list(_causes(error))
    place = _place(at.url)
    if any(isinstance(cause, httpx2.UnsupportedProtocol | httpx2.InvalidURL) for cause in causes):
        return ModelFault(FaultKind.PERMANENT, f"{place} is no address that can be asked. Check ANTHROPIC_BASE_URL.")
    if any(isinstance(cause, httpx2.LocalProtocolError) for cause in causes):
        return ModelFault(FaultKind.PERMANENT, "The request could not be sent as it is. Check ANTHROPIC_API_KEY.")
    if any(isinstance(cause, ssl.SSLCertVerificationError) or "CERTIFICATE_VERIFY" in str(cause) for cause in causes):
        return ModelFault(FaultKind.PERMANENT, f"The certificate of {place} is not trusted here. Nothing was sent.")
    if any(isinstance(cause, httpx2.ConnectTimeout | httpx2.ConnectError) for cause in causes):
        return ModelFault(
            FaultKind.TRANSIENT, f"No connection to the model's service at {place} ({_line(str(causes[-1]))})."
        )
    if any(isinstance(cause, httpx2.TimeoutException) for cause in causes):
        return ModelFault(FaultKind.TRANSIENT, f"The model's service at {place} did not answer in time.")
    return ModelFault(FaultKind.TRANSIENT, f"The model's service at {place} ended the connection without an answer.")


def _unreadable(error: BaseException, at: Circumstances) -> ModelFault:
    # ``JSONDecodeError`` is a ``ValueError`` too: it is a corrupt event, while the SDK's own plain ``ValueError``
    # is a tool call whose input is no JSON.
    if type(error) is ValueError and at.in_tool_call:
        return ModelFault(FaultKind.CUT, "The model wrote a tool call that cannot be read. It was not run.")
    return ModelFault(
        FaultKind.BROKEN, f"The model's answer came in a form that cannot be read ({type(error).__name__})."
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def _plain(body: object) -> str | None:
    if isinstance(body, dict):
        message = body.get("message") or body.get("detail") or body.get("error")
        return message if isinstance(message, str) else None
    if isinstance(body, str) and not body.lstrip().startswith("<"):
        return body
    return None


def _place(url: str) -> str:
    return urlsplit(url).netloc or url


def _line(text: str, limit: int = 300) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
