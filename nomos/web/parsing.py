"""Requests → frozen forms, or an error that names the field. Anything but the listed words is refused."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, TypeVar

from flask import request
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nomos.domain.approvals import Verdict
from nomos.domain.windows import Scope
from nomos.errors import InvalidInput, TooLarge

LONGEST_MESSAGE = 100_000  # characters

Form = TypeVar("Form", bound="Body")


class Body(BaseModel):
    """A JSON body: only the fields listed, of exactly their type."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class NewSession(Body):
    """``POST /sessions``."""

    title: Annotated[str | None, Field(max_length=1000)] = None


class ChangedSession(Body):
    """``PATCH /sessions/{id}``."""

    title: Annotated[str | None, Field(max_length=1000)] = None
    archived: bool | None = None


class NewMessage(Body):
    """``POST /sessions/{id}/messages``."""

    client_id: Annotated[str, Field(min_length=1, max_length=64)]
    text: str


class StopTurn(Body):
    """``POST /sessions/{id}/stop``."""

    executions: bool = False


class WindowMinutes(Body):
    """``PUT /sessions/{id}/window``."""

    minutes: Annotated[int, Field(ge=1, le=1440)]


class NewDecision(Body):
    """``PUT /approvals/{id}/decision``."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=False)

    verdict: Verdict
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", strict=True)]
    scope: Scope | None = None
    note: Annotated[str | None, Field(max_length=4000, strict=True)] = None
    snapshot: Annotated[bool, Field(strict=True)] = False
    steps: Annotated[list[Annotated[int, Field(ge=0, strict=True)]] | None, Field(max_length=50, strict=True)] = None


class EditedCommand(Body):
    """``PUT /approvals/{id}/command`` and ``PUT /approvals/{id}/steps/{n}``."""

    command: Annotated[str, Field(min_length=1, max_length=8192)]
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class InputLine(Body):
    """``POST /executions/{id}/input``."""

    text: Annotated[str, Field(max_length=4000, pattern=r"^[^\n\r\x00]*$")]


class NewHost(Body):
    """``POST /hosts``."""

    name: Annotated[str, Field(min_length=1, max_length=64)]
    address: Annotated[str, Field(min_length=1, max_length=300)]


class TrustedKey(Body):
    """``POST /hosts/{id}/trust``."""

    fingerprint: Annotated[str, Field(min_length=1, max_length=100)]


def body(form: type[Form]) -> Form:
    """The request's JSON as ``form``.

    :raises InvalidInput: it is no JSON object, or a field does not fit; the error names the field.
    """
    if request.content_length in {None, 0} and not request.get_data():
        given: object = {}
    else:
        if not request.is_json:
            raise InvalidInput("Send JSON, with Content-Type: application/json. Nothing was changed.")
        try:
            given = request.get_json(silent=True)
        except RecursionError:
            given = None  # nested without end
    if not isinstance(given, dict):
        raise InvalidInput("The body is not a JSON object. Nothing was changed.")
    try:
        return form.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "body"
        raise InvalidInput(f"{field}: {first['msg']}. Nothing was changed.", field=field) from error


def message_text(text: str) -> str:
    """The words of a message, if they can be stored.

    :raises InvalidInput: there are none. :raises TooLarge: there are too many.
    """
    if not text.strip():
        raise InvalidInput("text: the message is empty. Nothing was sent.", field="text")
    if len(text) > LONGEST_MESSAGE:
        raise TooLarge(f"text: {len(text)} characters; {LONGEST_MESSAGE} is the most. Nothing was sent.")
    return text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def number(name: str, default: int | None = None, *, most: int | None = None) -> int | None:
    """A whole number from the query.

    :raises InvalidInput: it is none.
    """
    raw = request.args.get(name)
    if raw is None or raw == "":
        return default
    if not raw.isascii() or not raw.isdigit() or len(raw) > 18:
        raise InvalidInput(f"{name}: must be a whole number, 0 or more.", field=name)
    value = int(raw)
    return value if most is None else min(value, most)


def moment(name: str) -> datetime | None:
    """A point in time from the query, ISO 8601 with a zone.

    :raises InvalidInput: it is none.
    """
    raw = request.args.get(name)
    if not raw:
        return None
    try:
        value = datetime.fromisoformat(raw.replace(" ", "+"))
    except ValueError as error:
        raise InvalidInput(f"{name}: must be a time such as 2026-12-01T13:00:00Z.", field=name) from error
    if value.tzinfo is None:
        raise InvalidInput(f"{name}: the zone is missing; end it with Z for UTC.", field=name)
    return value
