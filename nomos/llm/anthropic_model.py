"""The model behind the Messages API, asked with the real SDK's streaming helper and never with its tool runner."""

from __future__ import annotations

import queue
import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import anthropic
import httpx2

from nomos.domain.replies import Reply
from nomos.errors import FaultKind, ModelFault
from nomos.llm.answer import Answer
from nomos.llm.base import ModelRequest, Piece
from nomos.llm.faults import Circumstances, cannot_be_set_up, fault
from nomos.llm.wire import CallCut, Wire, after_response, before_request

_LOOK = 0.2  # seconds between two questions to ``stopped``, also while pieces come
_PARTS = {"content_block_start": "content_block", "content_block_delta": "delta"}
_HERE = ("all://127.0.0.1", "all://localhost", "all://[::1]")
_CACHED = {"type": "ephemeral"}


class AnthropicModel:
    """Honours the ``Model`` protocol against the cloud or any server that speaks the Messages API.

    The network is only touched by a thread of its own for each call, so the caller's thread never waits for longer
    than ``_LOOK``; ``on_piece`` and ``stopped`` are called in the caller's thread.
    """

    def __init__(
        self,
        api_key: str,
        base_url: str | None,
        model: str,
        *,
        total_deadline: float = 600.0,
        silence_limit: float = 120.0,
    ) -> None:
        """Touch neither network nor environment yet: the client is built by the first call.

        :param base_url: None for the SDK's own default.
        :param total_deadline: seconds that one call may take in all.
        :param silence_limit: seconds in which at least one event has to come. Pings are none: they keep a dead
            stream alive for ever.
        """
        self._api_key = api_key
        self._base_url = base_url
        self._model = model
        self._total_deadline = total_deadline
        self._silence_limit = silence_limit
        self._building = threading.Lock()
        self._built: anthropic.Anthropic | None = None

    @property
    def name(self) -> str:
        return self._model

    def stream(
        self,
        request: ModelRequest,
        on_piece: Callable[[Piece], None],
        stopped: Callable[[], bool],
        *,
        first_try: bool = True,
    ) -> Reply:
        """See ``Model.stream``. What ``on_piece`` and ``stopped`` raise themselves goes through as it is."""
        if stopped():
            raise _stopped()
        # The SDK's retry covers what fails before the answer begins; after that it retries nothing.
        client = self._client().with_options(max_retries=1 if first_try else 0)
        call = _Call(client, _parameters(request, self._model))
        try:
            return self._receive(call, on_piece, stopped)
        finally:
            call.wire.cut()

    def _receive(self, call: _Call, on_piece: Callable[[Piece], None], stopped: Callable[[], bool]) -> Reply:
        answer = Answer()
        began = heard = looked = time.monotonic()
        call.begin()
        while not answer.complete:
            item = call.next(_LOOK)
            now = time.monotonic()
            if now - looked >= _LOOK:
                looked = now
                if stopped():
                    raise _stopped()
            if now - began > self._total_deadline:
                raise _too_slow(f"The model's answer took longer than {self._total_deadline:g} seconds.")
            if item is None:
                if now - heard > self._silence_limit:
                    raise _too_slow(f"The model said nothing for {self._silence_limit:g} seconds.")
                continue
            if isinstance(item, _Ended):
                return self._ended(call, item, answer)
            piece = answer.feed(item)
            if piece is not None:
                on_piece(piece)
            heard = time.monotonic()  # what on_piece took is not the model's silence
        return answer.reply()

    def _ended(self, call: _Call, end: _Ended, answer: Answer) -> Reply:
        if end.error is not None:
            at = Circumstances(
                self._model, str(call.client.base_url), call.content_type is not None, answer.in_tool_call
            )
            raise fault(end.error, at) from end.error
        if not answer.started:
            place = urlsplit(str(call.client.base_url)).netloc
            raise ModelFault(
                FaultKind.BROKEN,
                f"{place} answered with {call.content_type or 'nothing'}, not with a model's answer. "
                "Check ANTHROPIC_BASE_URL if this goes on.",
            )
        return answer.reply()

    def _client(self) -> anthropic.Anthropic:
        with self._building:
            if self._built is None:
                try:
                    self._built = self._build()
                except Exception as error:
                    raise cannot_be_set_up(error) from error
            return self._built

    def _build(self) -> anthropic.Anthropic:
        # A key like this travels as an illegal header, which the SDK reports as if the network had failed.
        if not self._api_key:
            raise ModelFault(FaultKind.PERMANENT, "There is no API key. Set ANTHROPIC_API_KEY.")
        if re.search(r"[^\x21-\x7e]", self._api_key):
            raise ModelFault(
                FaultKind.PERMANENT,
                "ANTHROPIC_API_KEY holds a blank, a line break or a character no key has. Paste it again.",
            )
        if self._base_url is not None and not re.match(r"https?://[^/\s]+", self._base_url):
            raise ModelFault(
                FaultKind.PERMANENT, "ANTHROPIC_BASE_URL has to begin with http:// or https:// and a host."
            )
        timeout = httpx2.Timeout(connect=10.0, read=self._silence_limit + 5.0, write=60.0, pool=10.0)
        return anthropic.Anthropic(
            api_key=self._api_key,
            base_url=self._base_url,
            timeout=timeout,
            max_retries=0,
            open_telemetry=False,
            http_client=anthropic.DefaultHttpxClient(
                timeout=timeout,
                # A kept connection that went stale fails the next call, and later tries have no retry to spare.
                limits=httpx2.Limits(max_connections=1000, max_keepalive_connections=0),
                # A proxy set for the world outside must not be asked for a model on this machine.
                mounts=dict.fromkeys(_HERE),
                event_hooks={"request": [before_request], "response": [after_response]},
            ),
        )


class _Ended:
    """The last thing a call's thread has to say."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error


class _Call:
    """One call: a thread that reads, a queue that it fills, and a wire to cut it by."""

    def __init__(self, client: anthropic.Anthropic, parameters: Mapping[str, Any]) -> None:
        self.client = client
        self.wire = Wire()
        self.content_type: str | None = None
        self._parameters = parameters
        self._items: queue.SimpleQueue[Mapping[str, Any] | _Ended] = queue.SimpleQueue()

    def begin(self) -> None:
        try:
            threading.Thread(target=self._run, name="model-call", daemon=True).start()
        except RuntimeError as error:
            raise ModelFault(FaultKind.TRANSIENT, "This machine has no room for another thread.") from error

    def next(self, timeout: float) -> Mapping[str, Any] | _Ended | None:
        """Return the next event, or how the call ended, or None when neither came within ``timeout`` seconds."""
        try:
            return self._items.get(timeout=timeout)
        except queue.Empty:
            return None

    def _run(self) -> None:
        self.wire.attach()
        try:
            with self.client.messages.stream(**self._parameters) as stream:
                self.content_type = stream.response.headers.get("content-type", "no content type")
                for event in stream:
                    plain = _plain(event)
                    if plain is not None:
                        self._items.put(plain)
        except CallCut:
            return
        except Exception as error:  # noqa: BLE001 - the ladder decides; a thread that dies silently would look like silence
            self._items.put(_Ended(error))
        else:
            self._items.put(_Ended(None))


def _plain(event: Any) -> Mapping[str, Any] | None:
    """Return an event of the helper as the dict that came over the wire, or None for what the helper derives."""
    kind = event.type
    if kind == "message_start":
        return {"type": kind, "message": _dict(event.message)}
    if kind in _PARTS:
        return {"type": kind, "index": event.index, _PARTS[kind]: _dict(getattr(event, _PARTS[kind]))}
    if kind == "content_block_stop":
        return {"type": kind, "index": event.index}
    if kind == "message_delta":
        return {"type": kind, "delta": _dict(event.delta), "usage": _dict(event.usage)}
    return {"type": kind} if kind == "message_stop" else None


def _dict(part: Any) -> Any:
    return part.to_dict(warnings=False) if hasattr(part, "to_dict") else part


def _parameters(request: ModelRequest, model: str) -> dict[str, Any]:
    """Return the arguments of the call. Two cache marks: after tools and system, and after the newest message."""
    parameters: dict[str, Any] = {
        "model": model,
        "max_tokens": request.max_tokens,
        "messages": list(request.messages),
        "cache_control": _CACHED,
    }
    if request.system:
        parameters["system"] = [{"type": "text", "text": request.system, "cache_control": _CACHED}]
    if request.tools:
        parameters["tools"] = list(request.tools)
    return parameters


def _stopped() -> ModelFault:
    return ModelFault(FaultKind.STOPPED, "The operator pressed Stop.")


def _too_slow(detail: str) -> ModelFault:
    return ModelFault(FaultKind.TRANSIENT, detail)
