"""Nomos: an agent that runs your machines, asks before it changes anything, and goes on by itself.

Where to look, from the outside in:

``web``        HTTP in and out: pages, the API, the feed
``worker``     the loops: continuations, executions, recovery
``rehearsal``  a stand-in model and a practice host, so that all of it can be seen without a key or a server
``agent``      the loop over the model: prompt, tools, transcript
``live``       journal → open streams
``actions``    every change: one function, one transaction, its journal entries
``store``      the only home of SQLAlchemy: rows in, values out
``llm``        the only home of the Anthropic SDK
``ssh``        the only home of paramiko: jobs on hosts
``risk``       command text → read, change or destroy
``domain``     frozen values and pure decisions

ARCHITECTURE.md draws it.
"""

__version__ = "0.1.0"
