"""Which program is used for what: the user's own first, then the pinned build.

The rules, per program, first found wins:

* `KUBEBUILDER_ASSETS`, then the store of setup-envtest (its newest version first), then the build.
* An API server of another minor than the pinned one is only taken when a controller-manager and a scheduler exist that
  are not newer than it and at most one minor older (Kubernetes' own version skew policy). envtest brings neither, so in
  practice its API server is taken at the pinned minor and one above; otherwise the build is used, and that is said.
* Never an API server before 1.32: custom resources need `selectableFields`.
* kubectl may also come from PATH; within one minor of the API server.

`choose` is pure; what touches the machine is in `candidates` and `resolve`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from localcluster.build import ensure_built, platform_name
from localcluster.pins import kubernetes_version, parse_version

Version = tuple[int, ...]

OLDEST_API_SERVER = (1, 32)
OLDEST_ETCD = (3, 5)
CONTROL_PLANE = ("kube-controller-manager", "kube-scheduler")


@dataclass(frozen=True)
class Candidate:
    """A program that the user has. Its version is empty when it cannot say one."""

    name: str
    path: Path
    version: Version
    source: str  # where it was found, in words for the user


@dataclass
class Choice:
    """`found` holds what the user has; every program missing from it is taken from the build. `notes` say why."""

    found: dict[str, Candidate] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def choose(candidates: Sequence[Candidate], pinned: Version) -> Choice:
    """Candidates come in order of preference; those of one folder belong together."""
    choice = Choice()
    for server in (candidate for candidate in candidates if candidate.name == "kube-apiserver"):
        companions = [c for c in candidates if c.name in CONTROL_PLANE and c.path.parent == server.path.parent]
        if reason := _refuse_server(server, companions, pinned):
            choice.notes.append(f"not used: kube-apiserver {_text(server.version)} of {server.source}: {reason}")
            continue
        choice.found["kube-apiserver"] = server
        choice.found.update({c.name: c for c in companions if _fits(c.version, server.version)})
        break
    served = choice.found["kube-apiserver"].version if "kube-apiserver" in choice.found else pinned
    for candidate in candidates:
        if candidate.name in choice.found:
            continue
        if candidate.name == "etcd" and candidate.version >= OLDEST_ETCD:
            choice.found["etcd"] = candidate
        elif candidate.name == "kubectl" and abs(_minor(candidate.version) - _minor(served)) <= 1:
            choice.found["kubectl"] = candidate
    return choice


def _refuse_server(server: Candidate, companions: Sequence[Candidate], pinned: Version) -> str:
    """Why this API server cannot be used; empty if it can."""
    if server.version < OLDEST_API_SERVER:
        return f"older than {_text(OLDEST_API_SERVER)}, which custom resources need for selectableFields"
    for name in CONTROL_PLANE:
        versions = [c.version for c in companions if c.name == name] + [pinned]
        if not any(_fits(version, server.version) for version in versions):
            relation = "newer" if _minor(pinned) > _minor(server.version) else "more than one minor older"
            return f"the pinned {name} {_text(pinned)} is {relation}"
    return ""


def _fits(component: Version, server: Version) -> bool:
    return 0 <= _minor(server) - _minor(component) <= 1


def _minor(version: Version) -> int:
    return version[1] if len(version) > 1 else -100  # no version: near to none


def _text(version: Version) -> str:
    return ".".join(map(str, version)) or "of unknown version"


def candidates(names: Iterable[str], environment: Mapping[str, str] = os.environ) -> list[Candidate]:
    """Everything the user has, in order of preference. Programs that cannot say their version count as too old."""
    wanted = tuple(names)
    found = []
    for directory, source in _directories(environment):
        found += [
            Candidate(name, path, program_version(path), source)
            for name in wanted
            if _runnable(path := directory / name)
        ]
    if "kubectl" in wanted and (path_kubectl := shutil.which("kubectl")):
        found.append(Candidate("kubectl", Path(path_kubectl), program_version(Path(path_kubectl)), "PATH"))
    return found


def _directories(environment: Mapping[str, str]) -> list[tuple[Path, str]]:
    result = []
    if assets := environment.get("KUBEBUILDER_ASSETS"):
        result.append((Path(assets), "KUBEBUILDER_ASSETS"))
    suffix = "-" + platform_name().replace("/", "-")
    versions = [path for path in _store(environment).glob("*" + suffix) if path.is_dir()]
    for path in sorted(versions, key=lambda path: parse_version(path.name), reverse=True):
        result.append((path, "the setup-envtest store"))
    return result


def _store(environment: Mapping[str, str]) -> Path:
    """Where setup-envtest keeps what it downloads."""
    home = Path(environment.get("HOME", "~")).expanduser()
    if data := environment.get("XDG_DATA_HOME"):
        return Path(data) / "kubebuilder-envtest" / "k8s"
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "io.kubebuilder.envtest" / "k8s"
    return home / ".local" / "share" / "kubebuilder-envtest" / "k8s"


def _runnable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def program_version(program: Path) -> Version:
    """What the program says of itself; empty when it cannot say."""
    arguments = ["version", "--client"] if program.name == "kubectl" else ["--version"]
    try:
        result = subprocess.run([program, *arguments], capture_output=True, text=True, check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    return parse_version(result.stdout)


def resolve(names: Sequence[str], progress: Callable[[str], None]) -> dict[str, Path]:
    """A path for each name, building what nobody has. Only says what was decided when it is not the plain build."""
    choice = choose(candidates(names), parse_version(kubernetes_version()))
    for note in choice.notes:
        progress(note)
    paths = {}
    for name in names:
        if candidate := choice.found.get(name):
            progress(f"{name} {_text(candidate.version)} of {candidate.source}: {candidate.path}")
            paths[name] = candidate.path
        else:
            paths[name] = ensure_built(name, progress)
    return paths
