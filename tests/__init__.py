"""The tests. CONTRIBUTING.md says what belongs in which folder."""
