"""HTTP in and out: ``pages``, one module an API resource, ``streams`` for the feed.

A view parses (``parsing``), calls one action or reads the store, and presents (``domain.shapes``). ``security`` says
who may, ``problems`` gives errors their HTTP meaning. Never reaches ``agent``, ``llm``, ``ssh``: what only the worker
can do is asked for by a row.
"""
