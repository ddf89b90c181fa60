"""Writes docs/reference.md from what is true by itself: the CRDs, the table of flags, the registry of metrics.

What belongs here: turning each of them into a table. What does not: any word about a field, a flag or a metric; those
stand where they are declared, and `kubectl explain`, `--help` and `/metrics` say the same.
"""
