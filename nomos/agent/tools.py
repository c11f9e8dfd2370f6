"""What the model may call: one class a tool, from which its schema is made and by which its input is checked."""

from __future__ import annotations

import re
import shlex
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from nomos.errors import InvalidInput

HostName = Annotated[str, Field(min_length=1, max_length=64, description="Name of the host, as list_hosts gives it.")]
CommandText = Annotated[str, Field(min_length=1, max_length=8192)]
Reason = Annotated[str, Field(min_length=1, max_length=2000, description="Why, in one sentence for the operator.")]
Vmid = Annotated[int, Field(ge=100, le=999_999_999, description="Id of the container.")]
ExecutionId = Annotated[str, Field(pattern=r"^[0-9a-f-]{36}$")]
Word = Annotated[str, Field(min_length=1, max_length=400, pattern=r"^[^\s'\"\\`$;|&<>()]+$")]


class Tool(BaseModel):
    """The input of a tool. Its docstring is what the model reads about it."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=False)


class CommandTool(Tool, ABC):
    """A tool that stands for one command on one host."""

    host: HostName

    @abstractmethod
    def command_text(self) -> str:
        """The exact bytes that are classed, shown and run."""

    @property
    def why(self) -> str:
        """The model's reason."""
        return str(getattr(self, "reason", "look at the present state"))

    @property
    def asynchronous(self) -> bool:
        """Whether its result never comes in the same turn."""
        return bool(_PROVISIONING.match(self.command_text()))


# Work that takes as long as it takes: waiting for it in the turn would only hold the turn up.
_PROVISIONING = re.compile(
    r"(?:pct|qm) (?:create|restore|clone|migrate|move-volume|move_volume|move-disk|importdisk)\b|vzdump\b|qmrestore\b|"
    r"pveam download\b|(?:apt|apt-get)\b.*\b(?:install|upgrade|dist-upgrade|full-upgrade)\b|docker (?:pull|build)\b|"
    r"docker compose\b.*\b(?:pull|build|up)\b"
)


class Run(CommandTool):
    """Run one command on one host and get its output. What changes nothing runs at once; all else is asked about."""

    command: Annotated[CommandText, Field(description="The exact command. Plain single commands are best.")]
    reason: Reason

    def command_text(self) -> str:
        return self.command


class ListHosts(Tool):
    """List the operator's hosts: name, state, system."""


class GetExecutionStatus(Tool):
    """Look at one execution. You are told by yourself when it ends: do not call this to wait."""

    execution_id: ExecutionId


class ReadOutput(Tool):
    """Read more of the stored output of an execution, by bytes."""

    execution_id: ExecutionId
    offset: Annotated[int, Field(ge=0)] = 0
    limit: Annotated[int, Field(ge=1, le=16_000)] = 8000


class PlanStep(BaseModel):
    """One step of a plan."""

    model_config = ConfigDict(extra="forbid")

    host: HostName
    command: CommandText
    risk: Annotated[
        Literal["read", "change", "destroy"], Field(description="Your estimate; Nomos classes the command itself.")
    ] = "change"
    why: Annotated[str, Field(min_length=1, max_length=2000)]
    undo: Annotated[str | None, Field(max_length=2000, description="The command or way that undoes it.")] = None
    parallel: Annotated[bool, Field(description="May run beside other changes on the same host.")] = False


class ProposePlan(Tool):
    """Propose a plan: goal, exact commands in order, how you will verify. The operator answers once for all of it."""

    goal: Annotated[str, Field(min_length=1, max_length=500)]
    steps: Annotated[list[PlanStep], Field(min_length=1, max_length=50)]
    verify: Annotated[str, Field(min_length=1, max_length=2000, description="What you will look at to know it worked.")]


class Conclude(Tool):
    """Say that the goal is verified, or that the work is blocked. Ends your turn."""

    outcome: Literal["verified", "blocked"]
    evidence: Annotated[
        str, Field(min_length=1, max_length=4000, description="What you saw, or what stands in the way.")
    ]


class _Pct(CommandTool):
    """A verb of Proxmox's ``pct``."""

    vmid: Vmid
    reason: Reason

    def command_text(self) -> str:
        return f"pct {type(self).__name__.removeprefix('Pct').lower()} {self.vmid}"


class PctCreate(_Pct):
    """Create a container (`pct create`). Always asynchronous: end your turn afterwards, you are told the result."""

    ostemplate: Annotated[Word, Field(description="For example local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst")]
    hostname: Word | None = None
    memory: Annotated[int | None, Field(ge=16, description="MiB")] = None
    cores: Annotated[int | None, Field(ge=1, le=8192)] = None
    rootfs: Annotated[Word | None, Field(description="For example local-lvm:4 (4 GiB)")] = None
    storage: Word | None = None
    net0: Annotated[Word | None, Field(description="For example name=eth0,bridge=vmbr0,ip=dhcp")] = None
    unprivileged: Literal[0, 1] | None = None

    def command_text(self) -> str:
        words = ["pct", "create", str(self.vmid), self.ostemplate]
        for option in ("hostname", "memory", "cores", "rootfs", "storage", "net0", "unprivileged"):
            value = getattr(self, option)
            if value is not None:
                words += [f"--{option}", str(value)]
        return shlex.join(words)

    @property
    def asynchronous(self) -> bool:
        return True


class PctStart(_Pct):
    """Start a container (`pct start`)."""


class PctStop(_Pct):
    """Stop a container at once (`pct stop`)."""


class PctDestroy(_Pct):
    """Destroy a container and its disks (`pct destroy`). It must be stopped. Cannot be undone."""


class PctSnapshot(_Pct):
    """Take a snapshot of a container (`pct snapshot`)."""

    snapname: Word

    def command_text(self) -> str:
        return shlex.join(["pct", "snapshot", str(self.vmid), self.snapname])


class PctRollback(_Pct):
    """Roll a container back to a snapshot (`pct rollback`). What changed since is lost."""

    snapname: Word

    def command_text(self) -> str:
        return shlex.join(["pct", "rollback", str(self.vmid), self.snapname])


class PctList(CommandTool):
    """List the containers of a node (`pct list`)."""

    def command_text(self) -> str:
        return "pct list"


class PctConfig(CommandTool):
    """Show a container's configuration (`pct config`)."""

    vmid: Vmid

    def command_text(self) -> str:
        return f"pct config {self.vmid}"


TOOLS: Mapping[str, type[Tool]] = {
    "run": Run,
    "list_hosts": ListHosts,
    "get_execution_status": GetExecutionStatus,
    "read_output": ReadOutput,
    "propose_plan": ProposePlan,
    "conclude": Conclude,
    "pct_create": PctCreate,
    "pct_start": PctStart,
    "pct_stop": PctStop,
    "pct_destroy": PctDestroy,
    "pct_snapshot": PctSnapshot,
    "pct_rollback": PctRollback,
    "pct_list": PctList,
    "pct_config": PctConfig,
}


@cache
def definitions() -> tuple[Mapping[str, Any], ...]:
    """The tools in the Messages API's shape, always in the same order and bytes."""
    return tuple(
        {"name": name, "description": (tool.__doc__ or "").strip(), "input_schema": _schema(tool)}
        for name, tool in TOOLS.items()
    )


def _schema(tool: type[Tool]) -> dict[str, Any]:
    schema = tool.model_json_schema()
    schema.pop("title", None)
    schema.pop("description", None)
    return schema


def parse(name: str, given: Mapping[str, Any]) -> Tool:
    """Check a call against its tool.

    :raises InvalidInput: there is no such tool, or its input does not fit; the words are for the model.
    """
    tool = TOOLS.get(name)
    if tool is None:
        raise InvalidInput(f"There is no tool called {name!r}. Tools: {', '.join(TOOLS)}. Nothing was run.")
    try:
        return tool.model_validate(dict(given))
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(str(part) for part in fault['loc']) or 'input'}: {fault['msg']}" for fault in error.errors()
        )
        raise InvalidInput(f"The input of {name} does not fit: {faults}. Nothing was run.") from error
