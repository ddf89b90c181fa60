"""Differential tests: what runs warm must be indistinguishable from cold but for time."""
