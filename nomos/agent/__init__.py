"""The loop over the model: from stored history to a turn that has to wait, or is done.

``soul.md`` is the system prompt, ``transcript`` turns our messages into the API's (pure), ``tools`` says what the
model may call, ``calls`` answers a call, ``asking`` asks the model until there is a usable answer, ``turn`` is the
loop. The agent proposes; it never reaches a host. Imports ``actions``, ``store``, ``llm``, ``domain`` and below.
"""
