"""Arms the guard of a step that can lock Nomos out, and calls it off by signing in afresh."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable

from nomos.domain.executions import Execution, Risk
from nomos.domain.hosts import Host
from nomos.domain.lockout import Danger, look
from nomos.errors import HostFault
from nomos.ssh.base import ENDED, JobState, JobStatus, Limits, Shell, Target

SECONDS = 120  # see NOMOS_GUARD_SECONDS
_SPARE = 300  # seconds that the undoing itself may take
_OUTPUT = 64 * 1024
_ARMS_WITHIN = 20.0  # seconds
_UNDOES_WITHIN = 30.0  # seconds that one call waits for an undoing that has begun


class LockedOut(HostFault):
    """A step has ended and Nomos cannot sign in again: the host undoes it by itself, and then it can."""


def guard_id(execution_id: str) -> str:
    """The id of the guard's own job: always the same, so that it is found again after a crash."""
    return str(uuid.uuid5(uuid.UUID(execution_id), "guard"))


class Guards:
    """The guards of the steps that one worker starts. All that it needs to know lies on the host and in the store."""

    def __init__(self, shell: Shell, seconds: int = SECONDS, rules: Callable[[str], Danger | None] = look) -> None:
        """:param seconds: after which a host undoes a step by itself. :param rules: what may be feared of a command."""
        self._shell = shell
        self.seconds = seconds
        self._rules = rules

    def danger(self, host: Host, execution: Execution) -> Danger | None:
        """What has to be guarded against. On the practice host nothing is real, so nothing is guarded there."""
        return None if host.practice or execution.risk is Risk.READ else self._rules(execution.command)

    def arm(self, target: Target, execution_id: str, danger: Danger) -> str | None:
        """Make the host undo the step unless it is called off. Why it could not be made to; None where it stands."""
        if danger.guard is None:
            return None
        job = guard_id(execution_id)
        limits = Limits(timeout=self.seconds + _SPARE, output_cap=_OUTPUT)
        self._shell.start(target, job, danger.guard.job(self.seconds, sudo=danger.sudo), limits)
        deadline = time.monotonic() + _ARMS_WITHIN
        said = bytearray()
        status = self._shell.follow(
            target, job, 0, said.extend, lambda: b"armed\n" in said or time.monotonic() > deadline
        )
        if status.state is JobState.RUNNING and b"armed\n" in said:
            return None
        words = said.decode("utf-8", "replace").strip().splitlines()
        return f"its way back could not be prepared on the host{f' ({words[-1]})' if words else ''}"

    def settle(self, target: Target, execution: Execution) -> str | None:
        """The step has ended: sign in afresh and call its guard off. What became of it where it had undone the step.

        :raises LockedOut: Nomos cannot sign in. Ask again later: the host undoes the step, and then it can.
        """
        if execution.guard_seconds is None:
            return None
        job = guard_id(execution.id)
        try:
            status = self._shell.cancel(target, job)
        except HostFault as fault:
            raise LockedOut(
                f"Nomos cannot sign in again ({fault.detail.rstrip('.')}). The host undoes the step by itself within "
                f"{execution.guard_seconds} s: {execution.guard_revert}"
            ) from fault
        said = bytearray()
        if status.state is not JobState.MISSING:
            status = self._until_over(target, job, said)
        if b"reverting\n" not in said:
            return None if status.state is JobState.EXITED else "Its guard is gone: the host may have restarted"
        result = "" if b"reverted, exit 0\n" in said else ". The undoing itself failed, or did not end"
        return (
            f"Nomos could not sign in again within {execution.guard_seconds} s, so the host undid it: "
            f"{execution.guard_revert}{result}"
        )

    def _until_over(self, target: Target, job: str, said: bytearray) -> JobStatus:
        """Read what the guard said, to its end: an undoing that has begun is waited for."""
        deadline = time.monotonic() + _UNDOES_WITHIN
        status = self._shell.follow(target, job, 0, said.extend, lambda: time.monotonic() > deadline)
        if status.state not in ENDED:
            raise LockedOut("The host is undoing the step by itself just now")
        return status
