"""Every change: one function, one change, one transaction, its journal entries.

Nothing here reads a clock, waits on the network, or calls the model or a host. Imports ``store``, ``risk``,
``domain`` and below.
"""
