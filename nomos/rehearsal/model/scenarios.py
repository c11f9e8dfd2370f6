"""Which story a request belongs to, and what the rehearsal model says next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nomos.rehearsal.model import container_story, destroy_story, small_stories
from nomos.rehearsal.model.history import History
from nomos.rehearsal.model.protocol import Response, Say, Streamed, answer_moves
from nomos.rehearsal.model.server import ModelServer
from nomos.rehearsal.model.story import Story, say
from nomos.rehearsal.model.wishes import Wish, wish_of

MODEL_NAME = "nomos-rehearsal"
_STORIES: Mapping[Wish, Callable[[Story], Say]] = {
    Wish.CONTAINER: container_story.play,
    Wish.DESTROY: destroy_story.play,
    Wish.UPDATE: small_stories.update,
    Wish.ATTENTION: small_stories.attention,
}
_HELP = (
    "I am the rehearsal model: a stand-in that knows a few stories, so that you can see how Nomos works without a key "
    "or a server. I understand sentences like these:\n\n"
    "- give me a small Debian container called web, and check that it runs\n"
    "- destroy it\n"
    "- update the container\n"
    "- what needs attention?\n\n"
    "With a key set (ANTHROPIC_API_KEY), a real model takes my place."
)


class RehearsalModel(ModelServer):
    """The stand-in model as a server: ``start()``, ``stop()``, ``url``."""

    def __init__(self, *, tokens_per_second: float = 45.0, api_key: str | None = None, port: int = 0) -> None:
        """:param tokens_per_second: how fast it speaks; 0 for all at once."""
        pace = 1.0 / tokens_per_second if tokens_per_second else 0.0

        def respond(request: Mapping[str, Any]) -> Response:
            return Streamed(answer_moves(next_words(request), request, pace))

        super().__init__(respond, api_key=api_key, port=port)


def next_words(request: Mapping[str, Any]) -> Say:
    """Return the model's answer to a lawful request. Decided from its messages alone."""
    history = History(request["messages"])
    asked = [(words, wish) for words in history.said(by_operator=True) if (wish := wish_of(words.text)) is not None]
    if not asked:
        return say(_HELP)
    words, wish = asked[-1]
    tools = {tool["name"]: tool["input_schema"] for tool in request.get("tools", ())}
    story = Story(history, tools, words.place, words.text)
    ended = story.last("conclude")
    if ended is not None and ended.is_error and not history.told("execution_ended", after=ended.place):
        return say("Something in this session still runs. I conclude once it has ended; you need not do anything.")
    if ended is None or ended.is_error:
        return _STORIES[wish](story)
    if history.said(by_operator=True, after=ended.place):
        return say(_HELP)
    return say("Noted. What you asked for was settled already, so there is nothing left to do.")
