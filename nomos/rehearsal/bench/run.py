"""One run: the measurements in their order, each only if one of its figures is wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nomos.clock import Clock
from nomos.rehearsal.bench import feed, jobs, pieces, turns
from nomos.rehearsal.bench.client import NothingCame
from nomos.rehearsal.bench.figures import FIGURES, Found
from nomos.rehearsal.bench.rounds import ROUNDS
from nomos.rehearsal.bench.stage import Stage
from nomos.store.engine import Store


@dataclass(frozen=True, slots=True)
class _Measurement:
    """``plays``: it needs web and worker. ``long``: it needs the long session."""

    figures: frozenset[str]
    measure: Callable[[Stage, int], Mapping[str, list[float]]]
    plays: bool = True
    long: bool = False


# First what needs no processes, then what needs them idle: later ones leave sessions and connections behind.
_MEASUREMENTS = (
    _Measurement(frozenset({"classify"}), pieces.classifications, plays=False),
    _Measurement(frozenset({"job_start"}), pieces.job_starts, plays=False),
    _Measurement(jobs.FIGURES, jobs.hosts, plays=False),
    _Measurement(frozenset({"history"}), pieces.histories, plays=False, long=True),
    _Measurement(frozenset({"idle_web", "idle_worker"}), feed.idle),
    _Measurement(frozenset({"placeholder"}), turns.placeholders),
    _Measurement(frozenset({"text"}), turns.texts),
    _Measurement(frozenset({"decision", "line", "end", "continuation"}), turns.executions),
    _Measurement(frozenset({"commit"}), feed.commits),
    _Measurement(frozenset({"stream_memory", "fanout"}), feed.streams),
    _Measurement(frozenset({"snapshot", "snapshot_whole"}), feed.snapshots, long=True),
)


def measure(
    store: Store, clock: Clock, settings: Mapping[str, str], folder: Path, *, only: Sequence[str] = (),
    rounds: int = ROUNDS,
) -> list[Found]:  # fmt: skip
    """Measure the figures ``only``, or all, and return them in the order of ``FIGURES``.

    :param store: the open database of the Nomos that ``settings`` (``stage.environment``) describe. :param folder:
        where else it may write. :param rounds: how often each is measured, see ``rounds``.
    :raises NomosError: something that was measured did not come.
    """
    wanted = frozenset(only or FIGURES)
    found: dict[str, Found] = {}
    chosen = [measurement for measurement in _MEASUREMENTS if measurement.figures & wanted]
    with Stage(store, clock, settings, folder) as stage:
        if any(measurement.long for measurement in chosen):
            stage.seed()
        playing = False
        for measurement in chosen:
            if measurement.plays and not playing:
                stage.play()
                playing = True
            found |= {name: Found.of(name, values) for name, values in measurement.measure(stage, rounds).items()}
    if missing := sorted(frozenset(only) - found.keys()):
        raise NothingCame(f"{', '.join(missing)}: this needs OpenSSH's sshd and ssh on this machine.")
    return [found[name] for name in FIGURES if name in wanted & found.keys()]
