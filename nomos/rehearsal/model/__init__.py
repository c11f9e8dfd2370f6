"""The stand-in model: the Messages API over real HTTP and server-sent events, so that the real SDK is on the path.

``protocol`` writes answers and broken answers, ``lawful`` and ``shapes`` refuse requests as the cloud does, ``server``
joins them behind one port. ``history`` reads a request's messages, ``scenarios`` picks a story, and the ``*_story``
modules say what comes next in it, from nothing but that history: a restart changes nothing.

Uses only the standard library; it must not know how Nomos asks.
"""
