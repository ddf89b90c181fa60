"""What a case is, and three ways to write one down."""

from __future__ import annotations

from dataclasses import dataclass, field
from textwrap import dedent, indent
from typing import Any


@dataclass(frozen=True)
class Case:
    """``files`` by path beside ``playbook.yml``; a case with a ``role`` runs that role instead.

    ``environment`` is the operator's, ``arguments`` its ``--ansible-args``: both may say ``CONTENT`` for the directory
    of the files. ``timeout`` is the run's, in seconds. ``several_hosts`` work on a task at the same time, so that it is
    chance which of them is ready first.
    """

    playbook: str = ""
    files: dict[str, str] = field(default_factory=dict)
    variables: dict[str, Any] = field(default_factory=dict)
    role: str = ""
    verbosity: int = 0
    arguments: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    timeout: float = 0.0
    several_hosts: bool = False


CASES: dict[str, Case] = {}


def play(name: str, tasks: str, head: str = "", files: dict[str, str] | None = None, **more: Any) -> None:
    """A case of one play on localhost without facts."""
    text = "- hosts: localhost\n  gather_facts: false\n" + indent(dedent(head).strip(), "  ") + "\n  tasks:\n"
    add(name, Case(text + indent(dedent(tasks).strip(), "    ") + "\n", _files(files), **more))


def book(name: str, text: str, files: dict[str, str] | None = None, **more: Any) -> None:
    """A case of a whole playbook."""
    add(name, Case(dedent(text).lstrip(), _files(files), **more))


def role(name: str, files: dict[str, str], **more: Any) -> None:
    """A case of a role of that name."""
    beside = {f"roles/{name}/{path}": dedent(text) for path, text in files.items()}
    add(name, Case(files=beside, role=name, **more))


def add(name: str, case: Case) -> None:
    """A case. Two of one name are a mistake."""
    assert name not in CASES, name
    CASES[name] = case


def _files(files: dict[str, str] | None) -> dict[str, str]:
    return {path: dedent(text).lstrip("\n") for path, text in (files or {}).items()}
