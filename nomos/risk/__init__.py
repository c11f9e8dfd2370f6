"""Command text → read, change or destroy, and why. Pure; imports nothing of Nomos but ``domain``."""

from nomos.risk.classify import Verdict, classify

__all__ = ["Verdict", "classify"]
