"""Settings: read once, and a wrong one names its variable."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any

import pytest

from nomos.config import Settings
from nomos.errors import SettingError

VARIABLES = [spec.metadata["variable"] for spec in fields(Settings)]
SECRETS = [spec.metadata["variable"] for spec in fields(Settings) if spec.metadata["secret"]]


def test_without_any_setting_there_are_defaults() -> None:
    settings = Settings.from_env({})
    assert settings == Settings()
    assert (settings.bind, settings.assent_minutes, settings.sync_seconds, settings.execution_timeout) == (
        "127.0.0.1:7070", 30, 10.0, 3600,
    )  # fmt: skip
    assert settings.database == f"sqlite:///{Path('~/.local/share/nomos').expanduser()}/nomos.db"


@pytest.mark.parametrize("variable", VARIABLES)
@pytest.mark.parametrize("blank", ["", "  ", "\n"])
def test_blank_counts_as_not_set(variable: str, blank: str) -> None:
    assert Settings.from_env({variable: blank}) == Settings()


@pytest.mark.parametrize(
    ("variable", "raw", "name", "value"),
    [
        ("NOMOS_HOME", "~/x", "home", Path("~/x").expanduser()),
        ("NOMOS_HOME", "x", "home", Path.cwd() / "x"),
        ("DATABASE_URL", "sqlite:////var/lib/x.db", "database_url", "sqlite:////var/lib/x.db"),
        ("DATABASE_URL", "postgresql://u@h/d", "database_url", "postgresql+psycopg://u@h/d"),
        ("DATABASE_URL", "postgresql+psycopg://u@h/d", "database_url", "postgresql+psycopg://u@h/d"),
        ("NOMOS_BIND", "[::1]:7070", "bind", "[::1]:7070"),
        ("ANTHROPIC_API_KEY", " sk-1 \n", "api_key", "sk-1"),
        ("ANTHROPIC_BASE_URL", "http://127.0.0.1:8080/", "base_url", "http://127.0.0.1:8080"),
        ("NOMOS_REHEARSAL", "off", "rehearsal", "off"),
        ("NOMOS_ASSENT_MINUTES", "45", "assent_minutes", 45),
        ("NOMOS_SYNC_SECONDS", "0.5", "sync_seconds", 0.5),
        ("NOMOS_LOG_LEVEL", "debug", "log_level", "debug"),
    ],
)
def test_what_is_set_is_taken(variable: str, raw: str, name: str, value: object) -> None:
    assert getattr(Settings.from_env({variable: raw}), name) == value


@pytest.mark.parametrize(
    ("variable", "raw"),
    [
        ("DATABASE_URL", "mysql://u@h/d"),
        ("DATABASE_URL", "nomos.db"),
        ("DATABASE_URL", "sqlite:///"),
        ("DATABASE_URL", "sqlite:///:memory:"),
        ("DATABASE_URL", "sqlite:///?x=1"),
        ("NOMOS_BIND", "7070"),
        ("NOMOS_BIND", "127.0.0.1"),
        ("NOMOS_BIND", "127.0.0.1:http"),
        ("NOMOS_BIND", "127.0.0.1:65536"),
        ("NOMOS_BIND", "::1:7070"),
        ("ANTHROPIC_API_KEY", "sk 1"),
        ("ANTHROPIC_API_KEY", "sk\n1"),
        ("ANTHROPIC_API_KEY", "schlüssel"),
        ("ANTHROPIC_BASE_URL", "127.0.0.1:8080"),
        ("ANTHROPIC_BASE_URL", "ftp://x"),
        ("NOMOS_REHEARSAL", "yes"),
        ("NOMOS_REHEARSAL", "ON"),
        ("NOMOS_REHEARSAL_SPEED", "-1"),
        ("NOMOS_PRACTICE_PACE", "11"),
        ("NOMOS_ASSENT_MINUTES", "0"),
        ("NOMOS_ASSENT_MINUTES", "1441"),
        ("NOMOS_ASSENT_MINUTES", "30.5"),
        ("NOMOS_ASSENT_MINUTES", "half an hour"),
        ("NOMOS_SYNC_SECONDS", "nan"),
        ("NOMOS_SYNC_SECONDS", "inf"),
        ("NOMOS_EXECUTION_TIMEOUT", "0"),
        ("NOMOS_WORKERS", "0"),
        ("NOMOS_WORKERS", "65"),
        ("NOMOS_MAX_CONTINUATIONS", "0"),
        ("NOMOS_MAX_STEPS", "-3"),
        ("NOMOS_RETRY_SECONDS", "301"),
        ("NOMOS_MODEL_TIMEOUT", "0"),
        ("NOMOS_OUTPUT_KEPT", "1"),
        ("NOMOS_LOG_LEVEL", "loud"),
    ],
)
def test_a_wrong_value_names_its_variable_and_what_happened(variable: str, raw: str) -> None:
    with pytest.raises(SettingError) as caught:
        Settings.from_env({variable: raw})
    sentence = caught.value.detail
    assert sentence.startswith(variable)
    assert sentence.endswith("Nothing was started.")
    assert (raw in sentence) is (variable not in SECRETS)


def test_every_bounded_setting_refuses_a_word() -> None:
    free = {"NOMOS_HOME", "NOMOS_MODEL"}
    for variable in set(VARIABLES) - free - {"ANTHROPIC_API_KEY"}:
        with pytest.raises(SettingError, match=f"^{variable}"):
            Settings.from_env({variable: "no such value"})


@pytest.mark.parametrize("variable", ["ANTHROPIC_API_KEY", "DATABASE_URL"])
def test_a_secret_may_come_from_a_file(tmp_path: Path, variable: str) -> None:
    file = tmp_path / "secret"
    file.write_text("sqlite:////x.db\n")
    settings = Settings.from_env({f"{variable}_FILE": str(file)})
    assert "sqlite:////x.db" in {settings.api_key, settings.database_url}


def test_the_variable_itself_wins_over_its_file(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("from-the-file")
    assert Settings.from_env({"ANTHROPIC_API_KEY": "direct", "ANTHROPIC_API_KEY_FILE": str(file)}).api_key == "direct"


def test_an_empty_file_counts_as_not_set(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("\n")
    assert Settings.from_env({"ANTHROPIC_API_KEY_FILE": str(file)}) == Settings()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"ANTHROPIC_API_KEY_FILE is .*gone.*No such file.*Nothing was started"):
        Settings.from_env({"ANTHROPIC_API_KEY_FILE": str(tmp_path / "gone")})


@pytest.mark.parametrize("content", [b"\xff\xfe", None])
def test_a_file_that_is_no_text_is_named(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "secret"
    if content is None:
        file.mkdir()
    else:
        file.write_bytes(content)
    with pytest.raises(SettingError, match="ANTHROPIC_API_KEY_FILE"):
        Settings.from_env({"ANTHROPIC_API_KEY_FILE": str(file)})


def test_a_wrong_value_in_a_file_is_not_printed(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("hidden words")
    with pytest.raises(SettingError) as caught:
        Settings.from_env({"ANTHROPIC_API_KEY_FILE": str(file)})
    assert "hidden" not in caught.value.detail


def test_secrets_are_not_in_the_words_of_the_settings() -> None:
    settings = Settings.from_env({"ANTHROPIC_API_KEY": "sk-hidden", "DATABASE_URL": "postgresql://u:hidden@h/d"})
    assert "hidden" not in repr(settings)


def test_settings_are_frozen() -> None:
    settings: Any = Settings()
    with pytest.raises(FrozenInstanceError):
        settings.bind = "0.0.0.0:80"


@pytest.mark.parametrize(
    ("environ", "rehearses"),
    [
        ({}, True),
        ({"ANTHROPIC_API_KEY": "sk-1"}, False),
        ({"ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}, False),
        ({"ANTHROPIC_API_KEY": "sk-1", "NOMOS_REHEARSAL": "on"}, True),
        ({"NOMOS_REHEARSAL": "off"}, False),
    ],
)
def test_when_the_stand_in_model_answers(environ: dict[str, str], rehearses: bool) -> None:
    assert Settings.from_env(environ).rehearses is rehearses
