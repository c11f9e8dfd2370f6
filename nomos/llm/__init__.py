"""Asking the model: the only home of the Anthropic SDK.

``base`` is the Model protocol. ``anthropic_model`` honours it with the real SDK: ``answer`` puts the pieces of a stream
together, ``faults`` turns whatever goes wrong into a ``ModelFault``, ``wire`` lets another thread end a call.
``scripted`` honours it from a list, for tests and tools.

May import ``nomos.domain``, ``nomos.errors`` and, alone in Nomos, anthropic with its HTTP library.
"""
