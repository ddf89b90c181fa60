"""What ends the demo early."""

from __future__ import annotations


class DemoError(Exception):
    """The demo cannot go on. The text is for a person: what was waited for, and what was seen instead."""
