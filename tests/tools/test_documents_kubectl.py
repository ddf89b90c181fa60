"""What the pages tell people to type at kubectl: the command, its flags and the files of this repository are there."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

from localcluster import Cluster
from tests.support.documents import PAGES, ROOT, blocks, commands, inline_commands, programs

pytestmark = pytest.mark.apiserver

TYPED = [
    (page, words)
    for page in PAGES
    for command in [*(one for block in blocks(page, "console") for one in commands(block)), *inline_commands(page)]
    for words in programs(command)
    if words[0] == "kubectl"
]
MANIFESTS = {"-f", "-k", "--filename", "--kustomize"}


@cache
def help_of(kubectl: Path, *command: str) -> str:
    """The page of a command with the flags that all have; empty where there is no such command."""
    done = subprocess.run([kubectl, *command, "--help"], text=True, capture_output=True, check=False)
    everywhere = subprocess.run([kubectl, "options"], text=True, capture_output=True, check=True).stdout
    usage = re.search(r"^Usage:\n  kubectl (.*)$", done.stdout, re.MULTILINE)
    return done.stdout + everywhere if usage and usage[1].startswith(" ".join(command)) else ""


def fault(kubectl: Path, words: list[str], where: Path) -> str | None:
    """What is wrong with a command; None where nothing is."""
    plain = [word for word in words[1:] if not word.startswith("-")]
    if words[1] == "-n":
        plain = plain[1:]
    page = next((found for length in (3, 2, 1) if (found := help_of(kubectl, *plain[:length]))), "")
    if not page:
        return f"kubectl has no command {plain[0]!r}"
    for word, value in zip(words[1:], [*words[2:], ""], strict=True):
        flag, _, given = word.partition("=")
        if re.match(r"--?\w", word) and not re.search(rf"(^|[\s,]){flag}[=:, ]", page, re.MULTILINE):
            return f"kubectl {plain[0]} has no flag {flag}"
        file = given or value
        ours = flag in MANIFESTS and file not in ("-", ".") and not file.startswith(("/", "https:"))
        if ours and not any((place / file).exists() for place in (ROOT, where)):
            return f"there is no {file}"
    return None


def where(page: Path) -> Path:
    """The directory that a page's files lie in, besides the repository."""
    return ROOT / "examples/website" if page.name == "tutorial.md" else page.parent


def test_what_the_pages_say_is_there(cluster: Cluster) -> None:
    found = {f"{page.name}: {' '.join(words)}": fault(cluster.kubectl, words, where(page)) for page, words in TYPED}
    assert {command: said for command, said in found.items() if said} == {}
    assert len(found) > 50


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("kubectl got at", "kubectl has no command 'got'"),
        ("kubectl get at --al-namespaces", "kubectl get has no flag --al-namespaces"),
        ("kubectl -n shop apply -k config/none", "there is no config/none"),
        ("kubectl rollout resume deployment/web", None),
        ("kubectl create rolebinding x --clusterrol=y", "kubectl create has no flag --clusterrol"),
    ],
)
def test_what_is_not_there_is_noticed(cluster: Cluster, command: str, complaint: str | None) -> None:
    assert fault(cluster.kubectl, command.split(), ROOT) == complaint
