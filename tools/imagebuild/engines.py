"""The container engine: which one is there, and how a build is asked of it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from imagebuild.errors import ImageError

ENGINES = ("docker", "podman", "buildah")
"""In the order of preference."""

EPOCH = 1767225600
"""Time of every file of the image, in seconds since 1970 (the start of 2026), where SOURCE_DATE_EPOCH names none."""

CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
_ANSWER_SECONDS = 20


@dataclass(frozen=True)
class Build:
    """What is to be built: the Dockerfile's `target` as `tag`, on `base` (None: the Dockerfile's own)."""

    context: Path
    tag: str
    target: str = "operator"
    base: str | None = None
    fresh: bool = False


def source_date() -> int:
    """Seconds since 1970. Raises ImageError where SOURCE_DATE_EPOCH is no number."""
    text = os.environ.get("SOURCE_DATE_EPOCH") or str(EPOCH)
    if not text.isdecimal():
        raise ImageError(f"SOURCE_DATE_EPOCH={text!r} is no number of seconds since 1970")
    return int(text)


def find_engine(wanted: str = "", engines: Sequence[str] = ENGINES) -> str:
    """The one that is asked for, else the first that answers: a docker client without its daemon builds nothing.

    Raises ImageError with the reason of each where there is none.
    """
    reasons = []
    for engine in [wanted] if wanted else engines:
        reason = _why_not(engine)
        if reason is None:
            return engine
        reasons.append(f"{engine}: {reason}")
    cure = f"Install {', '.join(engines[:-1])} or {engines[-1]}; an image without a registry: make image-rootfs"
    raise ImageError(f"no container engine ({'; '.join(reasons)}). {cure}")


def _why_not(engine: str) -> str | None:
    if Path(engine).name not in ENGINES:
        return f"not one of {', '.join(ENGINES)}"
    if shutil.which(engine) is None:
        return "not found"
    try:
        done = subprocess.run(
            [engine, "info"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=_ANSWER_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {_ANSWER_SECONDS} s"
    return None if done.returncode == 0 else (done.stderr.strip().splitlines() or ["it gave no reason"])[-1]


def build_command(engine: str, build: Build) -> list[str]:
    """The command line, for the environment of the same engine."""
    date = source_date()
    command = [engine, "build", "--file", str(build.context / "Dockerfile"), "--target", build.target]
    command += ["--tag", build.tag, "--build-arg", f"SOURCE_DATE_EPOCH={date}"]
    if Path(engine).name != "docker":
        # The steps share the host's network, so that no network of containers has to be set up for a build.
        command += ["--layers", "--timestamp", str(date), "--network", "host"]
        command += ["--isolation", "chroot"] if os.geteuid() == 0 else []
    if build.base is not None:
        command += ["--build-arg", f"BASE={build.base}"]
    if index := os.environ.get("PIP_INDEX_URL"):
        command += ["--build-arg", f"PIP_INDEX_URL={index}"]
    if (certificates := _certificates()) is not None:
        command += ["--secret", f"id=ca,src={certificates}"]
    if build.fresh:
        command += ["--no-cache"]
    return [*command, str(build.context)]


def environment(program: str) -> dict[str, str]:
    """That of a program. Times of files are told to docker and mmdebstrap by SOURCE_DATE_EPOCH, to the others by an
    option, beside which newer ones refuse the variable.
    """
    kept = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    if Path(program).name in ("podman", "buildah"):
        return kept
    return {**kept, "SOURCE_DATE_EPOCH": str(source_date()), "DOCKER_BUILDKIT": "1"}


def _certificates() -> Path | None:
    """This machine's certificates, for an index behind a proxy that has its own; they stay out of the image."""
    chosen = os.environ.get("PIP_CERT")
    path = Path(chosen) if chosen else CERTIFICATES
    return path if path.is_file() else None


def build(engine: str, wanted: Build) -> None:
    """Raises ImageError where a step fails; what it said has been shown by then."""
    command = build_command(engine, wanted)
    done = subprocess.run(command, env=environment(engine), stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise ImageError(
            f"{engine} could not build {wanted.tag} (exit status {done.returncode}); its output says at which step"
        )
