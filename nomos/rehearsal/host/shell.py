"""The practice host's shell: ``python -m nomos.rehearsal.host.shell -c COMMAND``.

It stands where a real host has ``sh`` and is given command texts by the job wrapper. It knows a closed table of
stand-ins and starts no program, so no text can do anything to the machine that it runs on.

Environment: ``NOMOS_PRACTICE_FOLDER`` is the practice folder, ``NOMOS_PRACTICE_PACE`` the factor on pretended work (1
is lifelike, 0 is at once). The practice host's server sets both.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from .commands import host_commands
from .console import Terminal
from .interpreter import interpret
from .state import Practice


def main(arguments: list[str]) -> int:
    """Run ``-c COMMAND`` and return its exit code, 2 for any other use."""
    folder = os.environ.get("NOMOS_PRACTICE_FOLDER", "")
    if len(arguments) != 2 or arguments[0] != "-c" or not folder:
        sys.stderr.write("usage: NOMOS_PRACTICE_FOLDER=… python -m nomos.rehearsal.host.shell -c COMMAND\n")
        return 2
    # a reader that is gone ends the command, as it ends one on a real host
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    console = Terminal(float(os.environ.get("NOMOS_PRACTICE_PACE", "1")))
    commands = host_commands(Practice(Path(folder)))
    return interpret(arguments[1], commands, console, where="the practice host")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
