"""One installation: nothing to do, or a whole new tree that takes the old one's place."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from content_collections import galaxy, pypi
from content_collections.wanted import CollectionsError, installed_version, read_package_pin, read_wanted

TREE = "ansible_collections"  # the name that Ansible looks for in each directory of its collections path


@dataclass(frozen=True)
class Request:
    """From which pins, into which directory."""

    requirements: Path
    package: Path
    target: Path
    use_galaxy: bool = True


def install(request: Request, say: Callable[[str], None]) -> None:
    """Bring the target to what the pins ask for. An interrupted call leaves the old tree or the new one."""
    wanted = read_wanted(request.requirements)
    if _is_current(request, wanted):
        say(f"Collections: {_listed(wanted)} (up to date)")
        return
    with _locked(request.target):
        if not _is_current(request, wanted):
            _install_anew(request, wanted, say)


def _install_anew(request: Request, wanted: dict[str, str], say: Callable[[str], None]) -> None:
    with tempfile.TemporaryDirectory(dir=request.target, prefix=".new-", ignore_cleanup_errors=True) as scratch:
        tree = Path(scratch) / TREE
        tree.mkdir()
        source = _fill(request, wanted, Path(scratch), say)
        _verify(tree, wanted, source)
        _swap(tree, request.target / TREE, Path(scratch) / "old")
    _stamp(request).write_text(_fingerprint(request))
    say(f"Collections: {_listed(wanted)} from {source}, in {request.target}")


def _fill(request: Request, wanted: dict[str, str], scratch: Path, say: Callable[[str], None]) -> str:
    """Fill the new tree from the first source that has everything, and name it."""
    if request.use_galaxy and wanted:
        say(f"Collections: asking Galaxy for {_listed(wanted)}")
        reason = galaxy.install_from_galaxy(request.requirements, scratch)
        if reason is None:
            return "Galaxy"
        say(f"Collections: not from Galaxy ({reason}); taking the same versions out of PyPI's package `ansible`")
        shutil.rmtree(scratch / TREE)
    pin = read_package_pin(request.package)
    pypi.extract(pypi.fetch_wheel(pin, request.package), wanted, scratch)
    return f"PyPI's ansible {pin.version}"


def _verify(tree: Path, wanted: dict[str, str], source: str) -> None:
    for name, version in wanted.items():
        found = installed_version(tree, name)
        if found != version:
            raise CollectionsError(
                f"{source} gave {name} {found}, requirements.yml asks for {version}; "
                "bring requirements.yml and requirements/collections.txt to the same version"
            )


def _swap(new: Path, current: Path, old: Path) -> None:
    if current.exists():
        current.rename(old)
    new.rename(current)


def _is_current(request: Request, wanted: dict[str, str]) -> bool:
    try:
        stamped = _stamp(request).read_text()
    except FileNotFoundError:
        return False
    tree = request.target / TREE
    return stamped == _fingerprint(request) and all(installed_version(tree, name) == wanted[name] for name in wanted)


def _stamp(request: Request) -> Path:
    return request.target / ".installed"


def _fingerprint(request: Request) -> str:
    content = request.requirements.read_bytes() + request.package.read_bytes()
    return hashlib.sha256(content).hexdigest() + "\n"


@contextlib.contextmanager
def _locked(target: Path) -> Iterator[None]:
    """Two calls at once: the second waits, and then finds the work done."""
    try:
        target.mkdir(parents=True, exist_ok=True)
        lock = (target / ".lock").open("w")
    except OSError as error:
        raise CollectionsError(
            f"{target}: cannot be written ({error.strerror}); choose another one with --into"
        ) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _listed(wanted: dict[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in wanted.items()) or "none"
