"""The practice host: a real SSH server whose commands are harmless stand-ins.

``server`` speaks SSH on a loopback port and runs nothing but Nomos's own job wrapper (``wrapper`` recognises it).
The wrapper hands every command text to ``shell``, a program of its own that knows a closed table of stand-ins
(``commands``, ``pct``, ``guest``) and never starts another program. ``state`` keeps what they change.

May import ``nomos.ssh``, ``nomos.errors``, ``nomos.clock`` and, alone beside ``nomos.ssh``, paramiko (``server`` only).
``shell`` is started once for each command, so it imports only the standard library and its neighbours here.
"""
