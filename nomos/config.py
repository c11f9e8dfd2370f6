"""The settings: one declaration each, read from the environment once, frozen afterwards.

Secrets may also come from a file: ``NAME_FILE`` holds its path. A value that cannot be used is a ``SettingError``
that names the variable.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from nomos.errors import SettingError


def _text(value: str) -> str:
    return value


def _key(value: str) -> str:
    # A pasted key with a line break would travel as an illegal header and look like a network fault.
    if re.search(r"[^\x21-\x7e]", value):
        raise ValueError("holds a blank, a line break or a character that cannot stand in a header")
    return value


def _path(value: str) -> Path:
    return Path(value).expanduser().absolute()


def _between(low: float, high: float, kind: type[int] | type[float]) -> Callable[[str], Any]:
    def cast(value: str) -> Any:
        number = kind(value)
        if not low <= number <= high:
            raise ValueError(f"must lie between {low:g} and {high:g}")
        return number

    return cast


def _one_of(*words: str) -> Callable[[str], str]:
    def cast(value: str) -> str:
        if value not in words:
            raise ValueError(f"must be one of {', '.join(words)}")
        return value

    return cast


def _url(value: str) -> str:
    if not re.fullmatch(r"https?://[^\s/]+(/\S*)?", value):
        raise ValueError("must be an address such as http://host:port")
    return value.rstrip("/")


def _database(value: str) -> str:
    if not re.match(r"(sqlite:///|postgresql(\+psycopg)?://)", value):
        raise ValueError("must begin with sqlite:/// or postgresql://")
    if re.fullmatch(r"sqlite:///(:memory:)?(\?.*)?", value):
        raise ValueError("must name a file: a database in memory would be another one for each connection")
    return re.sub(r"^postgresql://", "postgresql+psycopg://", value)


def _bind(value: str) -> str:
    if not re.fullmatch(r"(\[[0-9a-fA-F:]+\]|[^\s:]+):[0-9]{1,5}", value) or int(value.rpartition(":")[2]) > 65535:
        raise ValueError("must look like 127.0.0.1:7070")
    return value


def _setting(
    variable: str, default: Any, cast: Callable[[str], Any], sentence: str, *, secret: bool = False, shown: str = ""
) -> Any:
    """Declare one setting. ``shown`` is the default in words, where the value alone would not tell."""
    return field(
        default=default,
        metadata={"variable": variable, "cast": cast, "sentence": sentence, "secret": secret, "shown": shown},
        repr=not secret,
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of one process."""

    home: Path = _setting(
        "NOMOS_HOME", Path("~/.local/share/nomos").expanduser(), _path, "The data folder: database, keys, secret.",
        shown="~/.local/share/nomos",
    )  # fmt: skip
    database_url: str = _setting(
        "DATABASE_URL", "", _database, "Where the database is: sqlite:///… or postgresql://….",
        secret=True, shown="SQLite in NOMOS_HOME",
    )  # fmt: skip
    bind: str = _setting("NOMOS_BIND", "127.0.0.1:7070", _bind, "Address and port that the web process listens on.")
    api_key: str = _setting("ANTHROPIC_API_KEY", "", _key, "Key of the model service.", secret=True, shown="none")
    base_url: str = _setting("ANTHROPIC_BASE_URL", "", _url, "Address of the model service.", shown="the SDK's own")
    model: str = _setting("NOMOS_MODEL", "claude-opus-5-5", _text, "Name of the model.")
    rehearsal: str = _setting(
        "NOMOS_REHEARSAL", "auto", _one_of("auto", "on", "off"),
        "Stand-in model and practice host: auto uses them where no key is set.",
    )  # fmt: skip
    rehearsal_speed: float = _setting(
        "NOMOS_REHEARSAL_SPEED", 45.0, _between(0, 10_000, float),
        "Tokens a second of the stand-in model; 0 for all at once.",
    )  # fmt: skip
    practice_pace: float = _setting(
        "NOMOS_PRACTICE_PACE", 1.0, _between(0, 10, float),
        "Factor on the time that the practice host pretends to work; 0 for at once.",
    )  # fmt: skip
    assent_minutes: int = _setting(
        "NOMOS_ASSENT_MINUTES", 30, _between(1, 1440, int), "Minutes that an assent window stays open after a decision."
    )
    sync_seconds: float = _setting(
        "NOMOS_SYNC_SECONDS", 10.0, _between(0, 600, float),
        "Seconds that a turn waits for a command before it becomes asynchronous.",
    )  # fmt: skip
    execution_timeout: int = _setting(
        "NOMOS_EXECUTION_TIMEOUT", 3600, _between(1, 604800, int), "Seconds of run time after which a command is ended."
    )
    execution_silence: int = _setting(
        "NOMOS_EXECUTION_SILENCE", 0, _between(0, 604800, int),
        "Seconds without output after which a command is ended; 0 for never.",
    )  # fmt: skip
    snapshots: str = _setting(
        "NOMOS_SNAPSHOTS", "offer", _one_of("offer", "always", "off"),
        "A snapshot of a Proxmox guest before a step changes it: chosen on the card, taken always, or never.",
    )  # fmt: skip
    guard_seconds: int = _setting(
        "NOMOS_GUARD_SECONDS", 120, _between(5, 3600, int),
        "Seconds after which a host undoes a step by itself that may have locked Nomos out.",
    )  # fmt: skip
    workers: int = _setting("NOMOS_WORKERS", 8, _between(1, 64, int), "Turns that one worker runs side by side.")
    max_continuations: int = _setting(
        "NOMOS_MAX_CONTINUATIONS", 50, _between(1, 1000, int), "Continuations allowed in one assent window."
    )
    max_steps: int = _setting(
        "NOMOS_MAX_STEPS", 60, _between(1, 1000, int), "Answers of the model allowed in one turn."
    )
    retry_seconds: float = _setting(
        "NOMOS_RETRY_SECONDS", 2.0, _between(0, 300, float),
        "Seconds before the model is asked again after a fault; grows with each fault in a row.",
    )  # fmt: skip
    model_timeout: float = _setting(
        "NOMOS_MODEL_TIMEOUT", 600.0, _between(1, 7200, float), "Seconds that one answer of the model may take in all."
    )
    output_kept: int = _setting(
        "NOMOS_OUTPUT_KEPT", 10 * 1024 * 1024, _between(4096, 2**30, int),
        "Bytes of one command's output that Nomos stores.",
    )  # fmt: skip
    log_level: str = _setting(
        "NOMOS_LOG_LEVEL", "info", _one_of("debug", "info", "warning", "error"), "How much is written to the log."
    )

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Read all settings.

        :raises SettingError: names the variable, the value (unless secret) and what would be right.
        """
        environ = os.environ if environ is None else environ
        values: dict[str, Any] = {}
        for spec in fields(cls):
            variable = spec.metadata["variable"]
            raw = _read(environ, variable)
            if raw is None:
                continue
            try:
                values[spec.name] = spec.metadata["cast"](raw)
            except ValueError as error:
                shown = "" if spec.metadata["secret"] else f" is {raw!r}"
                raise SettingError(f"{variable}{shown}: {error}. Nothing was started.") from error
        return cls(**values)

    @property
    def database(self) -> str:
        """The database's address, with the default filled in."""
        return self.database_url or f"sqlite:///{self.home / 'nomos.db'}"

    @property
    def rehearses(self) -> bool:
        """Whether the stand-in model answers instead of a real one."""
        return self.rehearsal == "on" or (self.rehearsal == "auto" and not self.api_key and not self.base_url)


def _read(environ: Mapping[str, str], variable: str) -> str | None:
    """The variable's value, or what the file named by ``<variable>_FILE`` holds; blank counts as not set."""
    if (value := environ.get(variable, "").strip()) != "":
        return value
    path = environ.get(f"{variable}_FILE", "").strip()
    if not path:
        return None
    try:
        return Path(path).read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "is not text"
        raise SettingError(f"{variable}_FILE is {path!r}: {reason}. Nothing was started.") from error
