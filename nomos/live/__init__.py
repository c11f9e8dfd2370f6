"""Journal → open streams: ``tailer`` reads, ``hub`` hands out, ``stream`` is one open answer, ``sse`` its bytes.

Imports ``store``, ``domain`` and below; never ``agent``, ``llm`` or ``ssh``. An open stream holds no database
connection.
"""
