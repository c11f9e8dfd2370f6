"""Which requests the practice host serves: Nomos's own job script, in this very version, and nothing else."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from nomos.errors import InvalidInput
from nomos.ssh.request import Request, read_wire

MAX_BYTES = 1024 * 1024
"""More than any request of Nomos has."""

_ID, _NUMBER = r"[A-Za-z0-9_-]{1,64}", r"\d{1,18}"
_FORMS = tuple(
    re.compile(form, re.ASCII)
    for form in (
        "probe",
        f"status {_ID}",
        f"start {_ID} {_NUMBER} {_NUMBER} {_NUMBER}( stdin)?",
        f"follow {_ID} {_NUMBER} {_NUMBER}",
        f"cancel {_ID} (TERM|KILL)",
        f"input {_ID}",
    )
)


class NotServed(Exception):
    """The request is refused; ``str()`` is the sentence for whoever sent it."""


def recognise(exec_text: str, data: bytes, *, base: Path, interpreter: Path) -> tuple[Request, bytes] | None:
    """Read a request from its exec text and what has come on its standard input.

    :param base: the folder for jobs, whatever the request names. :param interpreter: what will run command texts,
        whatever the request names.
    :returns: the request as it will be run, and the bytes behind it; None while more has to come.
    :raises NotServed: this is not, or can no longer become, a request of this Nomos.
    """
    try:
        found = read_wire(exec_text, data)
    except InvalidInput as reason:
        raise NotServed(f"The practice host serves only Nomos's own job requests. {reason.detail}") from None
    if found is None:
        if len(data) > MAX_BYTES:
            raise NotServed(f"The practice host takes requests of at most {MAX_BYTES} bytes.")
        return None
    request, used = found
    words = " ".join(request.words)
    if not any(form.fullmatch(words) for form in _FORMS):
        raise NotServed(f"The practice host knows no job request of the form {words!r}.")
    return replace(request, base=str(base), interpreter=str(interpreter)), data[used:]
