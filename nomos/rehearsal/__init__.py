"""The rehearsal: a stand-in model and a practice host, so that Nomos can be tried with no key and no server.

Reached only from ``nomos.cli`` and ``nomos.bootstrap``. May import what ``nomos.ssh`` and ``nomos.llm`` offer, and
everything below them. ``host`` is a real SSH server, ``model`` a real HTTP server: what Nomos runs against them is
the code that it runs against the real ones.
"""
