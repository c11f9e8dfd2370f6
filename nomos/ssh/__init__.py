"""Hosts over SSH: jobs that live on the host by themselves, host keys, connections. The only home of paramiko.

``base`` is the protocol that all others see; ``paramiko_shell`` is the real one and ``scripted`` the one for tests and
scenarios. ``job.sh`` runs on the hosts and ``request`` is how it gets there. Imports nothing of Nomos but ``errors``.
"""
