"""Where content lies: a role's directory, or the file of a playbook."""

from __future__ import annotations

from pathlib import Path


def roles_of(place: Path) -> list[Path]:
    """The directories of the roles of a place: itself, or those beside a playbook."""
    return [place] if place.is_dir() else sorted(place.parent.glob("roles/*"))
