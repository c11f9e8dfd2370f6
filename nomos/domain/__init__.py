"""Frozen values and pure decisions. State, input and ``now`` in, decision out.

No I/O, no clock, no library; imports nothing but ``nomos.errors`` and the standard library.
"""
