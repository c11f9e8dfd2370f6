"""Command text → read, change or destroy, and why. Pure but for the second parser, a program that is asked.

gate (text) → parse (the only home of tree-sitter) → words → tables, wrappers, programs → verdict; second (shfmt) must
agree. May import: ``domain``, ``errors``. Flow and tables: docs/risk.md.
"""

from nomos.risk.classify import classify
from nomos.risk.rules import Rule, Rules, read_rules
from nomos.risk.verdict import Verdict

__all__ = ["Rule", "Rules", "Verdict", "classify", "read_rules"]
