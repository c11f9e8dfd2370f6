"""The figures by name, and what a run found about each. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Figure:
    """What one figure means. ``bar``: the most it should be at p99, in ``unit``, where one is promised."""

    what: str
    unit: str = "ms"
    bar: float | None = None


FIGURES: Mapping[str, Figure] = {
    "placeholder": Figure("an operator's message is posted → its placeholder is in the feed", bar=100),
    "text": Figure("the model service sends a piece of text → it is in the feed"),
    "decision": Figure("a decision is sent → its execution is running, in the feed"),
    "line": Figure("a command on a host prints a line → it is in the feed", bar=250),
    "end": Figure("a command on a host prints its last line → its execution's end is in the feed"),
    "continuation": Figure("an execution's end is in the feed → so is the placeholder of its continuation"),
    "commit": Figure("another process begins to store a change → it is in the feed"),
    "fanout": Figure("the same, in the last one of all idle streams"),
    "stream_memory": Figure("memory of the web process for each idle stream", unit="KiB"),
    "idle_web": Figure("processor time of the web process while nothing happens", unit="%"),
    "idle_worker": Figure("processor time of the worker while nothing happens", unit="%"),
    "job_start": Figure("a job is started over a kept SSH connection"),
    "start_extra": Figure("a job is started on OpenSSH's server, beyond what a plain true takes there"),
    "output": Figure("200 MB of a job's output reach Nomos", unit="MB/s"),
    "output_openssh": Figure("the same by OpenSSH's own client", unit="MB/s"),
    "followed_nomos": Figure("processor time to follow 50 quiet jobs", unit="%"),
    "followed_host": Figure("the same on the host, by all that SSH started there", unit="%"),
    "followed_processes": Figure("processes on the host for each job followed", unit="each"),
    "classify": Figure("one command is classed"),
    "history": Figure("stored history of 1,000 messages → the model's request"),
    "snapshot": Figure("a session of 1,000 messages is opened: the newest 200, over HTTP"),
    "snapshot_whole": Figure("the same, all 1,000 messages"),
}


@dataclass(frozen=True, slots=True)
class Found:
    """The values that were measured of one figure, in its unit, in order of size."""

    name: str
    values: tuple[float, ...]

    @classmethod
    def of(cls, name: str, values: Sequence[float]) -> Found:
        """Values in any order; there must be one."""
        return cls(name, tuple(sorted(values)))

    def percentile(self, share: float) -> float:
        """The smallest value that ``share`` (0 to 1) of all values do not exceed."""
        return self.values[max(0, -int(-share * len(self.values) // 1) - 1)]

    def data(self) -> dict[str, Any]:
        """All that is said about it, for JSON."""
        figure = FIGURES[self.name]
        return {
            "figure": self.name,
            "what": figure.what,
            "unit": figure.unit,
            "n": len(self.values),
            "min": round(self.values[0], 3),
            "p50": round(self.percentile(0.5), 3),
            "p99": round(self.percentile(0.99), 3),
            "max": round(self.values[-1], 3),
            "bar": figure.bar,
        }


def table(found: Sequence[Found]) -> str:
    """The figures as lines for a person."""
    row = "{:<18} {:>9} {:>9} {:>9} {:>9} {:>5} {:>7}  {}".format
    lines = [row("figure", "min", "p50", "p99", "max", "n", "bar", "what")]
    for one in found:
        data = one.data()
        numbers = [_short(data[key], data["unit"]) for key in ("min", "p50", "p99", "max")]
        bar = "" if data["bar"] is None else f"{data['bar']:g} {data['unit']}"
        lines.append(row(one.name, *numbers, data["n"], bar, data["what"]))
    return "\n".join(line.rstrip() for line in lines)


def _short(value: float, unit: str) -> str:
    return f"{value:.1f} {unit}" if value >= 10 else f"{value:.3g} {unit}"
