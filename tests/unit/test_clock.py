"""Clocks: wall time may jump, boot time does not."""

from __future__ import annotations

from datetime import UTC, timedelta

from nomos.clock import Clock, SettableClock, SystemClock


def test_the_machines_clock_goes_on_and_names_its_boot() -> None:
    clock: Clock = SystemClock()
    first, second = clock.moment(), clock.moment()
    assert first.ticks <= second.ticks
    assert first.boot == second.boot == SystemClock().boot()
    assert first.now.tzinfo is UTC


def test_a_step_moves_only_the_wall_clock() -> None:
    clock = SettableClock()
    before = clock.moment()
    clock.step(-3600)
    assert clock.moment().ticks == before.ticks
    assert clock.now() == before.now - timedelta(hours=1)


def test_time_passes_on_both() -> None:
    clock = SettableClock()
    before = clock.moment()
    clock.advance(2.5)
    after = clock.moment()
    assert (after.ticks - before.ticks, after.now - before.now) == (2.5, timedelta(seconds=2.5))


def test_another_boot_counts_anew() -> None:
    clock = SettableClock()
    before = clock.moment()
    clock.reboot()
    assert clock.boot() != before.boot
    assert clock.ticks() < before.ticks
