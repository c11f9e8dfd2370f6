"""The loops of the worker process: ``continuations`` begins turns, ``executions`` starts and follows commands,

``housekeeping`` prunes, ``loop`` runs them all and ends the process if one of them dies. Real threads, unpatched.
Imports ``agent``, ``actions``, ``ssh``, ``store``, ``domain`` and below; never ``web`` or ``live``.
"""
