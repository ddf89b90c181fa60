"""Which versions of ansible-core are known from within. Importing this where it is another raises Unsupported."""

from __future__ import annotations

from ansible.release import __version__

SUPPORTED = ("2.19", "2.20")


class Unsupported(Exception):
    """This Ansible has other insides."""


def check_version(version: str) -> None:
    """Raises Unsupported."""
    if ".".join(version.split(".")[:2]) not in SUPPORTED:
        raise Unsupported(f"ansible-core {version}, where {' or '.join(SUPPORTED)} is supported")


check_version(__version__)  # before others import what another version may not have
