"""Joins everything: the only place that knows which model, which shell, which clock.

``core`` opens database and data folder for every process, ``web`` joins the web process, ``worker`` the worker; apart,
so that a process loads only what it uses.
"""
