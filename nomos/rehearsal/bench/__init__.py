"""``nomos bench``: how fast Nomos is on this machine, through real processes. It reports figures and judges none.

``figures`` names them, ``run`` measures them in their order, ``rounds`` bounds how often. ``stage`` is a whole Nomos on
a folder of its own with the rehearsal's parts around it, ``client`` speaks its HTTP; ``turns`` and ``feed`` measure
while it runs, ``pieces`` measures parts alone. Imports ``agent``, ``actions``, ``store``, ``ssh``, ``risk`` and below;
never ``web`` or ``worker``, which run as processes.
"""
