"""Reading what the job script says: marked lines in, states and faults out."""

from __future__ import annotations

from datetime import UTC, datetime

from nomos.errors import HostUnusable
from nomos.ssh.base import HostFacts, JobState, JobStatus

_WHY = {
    "": "",
    "host_restarted": "the host restarted{at} while it ran, and its end was not recorded",
    "supervisor_died": "its supervisor, the process on the host that waits for the command's end, was killed",
    "claimed_only": "its start was interrupted on the host, and whether it ran cannot be known",
    "output_lost": "a part of the output is gone from the host",
    "signal_from_outside": (
        "ended by TERM, and not by Nomos: by somebody on the host, by a shutdown, or killed when the SSH session ended "
        "(then enable lingering there: loginctl enable-linger USER)"
    ),
}

_NOT_TAKEN = {
    "closed": "the command was started without a way to give it input",
    "full": "the command does not read its input",
}

_REFUSED = {
    "no_proc": "it has no /proc, which Nomos needs to recognise its jobs",
    "no_base": "no folder there can hold jobs",
    "base": "the folder for jobs cannot be used",
    "mkdir": "no folder can be made for the job",
    "prepare": "the files of the job cannot be made",
}


def marked_lines(data: bytes, mark: str) -> list[str]:
    """What follows our mark in the complete lines of ``data``; a login script may have left a line open before it."""
    parts = (line.partition(f"NOMOS1 {mark} ".encode()) for line in data.split(b"\n")[:-1])
    return [text.decode(errors="replace") for _, found, text in parts if found]


def read_status(line: str) -> JobStatus | None:
    """The state of a job from a line of the script; None for another kind of line."""
    if not line.startswith("state="):
        return None
    values = dict(word.split("=", 1) for word in line.split(" ") if "=" in word)
    why = _WHY[values["why"]].format(at=f" at {_utc(values['since'])}" if values.get("since") else "")
    took = values.get("took", "")
    return JobStatus(
        state=JobState(values["state"]),
        boot=values["boot"],
        exit_code=int(values["code"]) if values["code"] else None,
        size=int(values["size"]),
        truncated=values["cut"] == "1",
        timed_out=values["late"] == "1",
        why=_NOT_TAKEN.get(took) or why,
        taken=took == "yes",
    )


def _utc(seconds: str) -> str:
    return f"{datetime.fromtimestamp(int(seconds), UTC):%Y-%m-%d %H:%M UTC}"


def check_refusal(lines: list[str], where: str) -> None:
    """Raises HostUnusable when one of the lines says that the host cannot keep jobs."""
    for line in lines:
        if line.startswith("refused="):
            word, _, detail = line.removeprefix("refused=").partition(" detail=")
            tried = [text.removeprefix("base_refused ").strip() for text in lines if text.startswith("base_refused ")]
            rest = "; ".join([text for text in (detail.strip(), *tried) if text])
            raise HostUnusable(
                f"{where} cannot keep jobs: {_REFUSED[word]}{f' ({rest})' if rest else ''}. Nothing was started."
            )


def read_facts(lines: list[str], latency_ms: float) -> HostFacts | None:
    """What a probe found; None when its lines are not complete."""
    first = next((line for line in lines if line.startswith("boot=")), None)
    base = next((line.removeprefix("base ") for line in lines if line.startswith("base ")), None)
    system = next((line.removeprefix("system ") for line in lines if line.startswith("system ")), None)
    if first is None or base is None or system is None:
        return None
    boot, _, shell = first.removeprefix("boot=").partition(" shell=")
    return HostFacts(boot=boot, job_base=base, system=system, shell=shell, latency_ms=latency_ms)
