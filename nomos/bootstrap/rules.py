"""The operator's own rules of risk, out of the data folder."""

from __future__ import annotations

from pathlib import Path

from nomos.errors import SettingError
from nomos.risk import Rules, read_rules

FILE = "risk.toml"


def load_rules(home: Path) -> Rules:
    """The rules in ``risk.toml`` of the data folder; none where there is no such file.

    :raises SettingError: the file cannot be read, or a rule does not keep its own examples.
    """
    path = home / FILE
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return Rules()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(f"{path} cannot be read: {error}.") from None
    return read_rules(text, str(path))
