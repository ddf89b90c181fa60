"""The base where no registry can be reached: a minimal Debian from its packages, as debian:*-slim is one."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from imagebuild.engines import environment, source_date
from imagebuild.errors import ImageError
from localcluster.layout import cache_directory

TAG = "localhost/aitask-operator-base:bookworm"
SUITE = "bookworm"
PACKAGES = "mmdebstrap buildah"
"""What a Debian needs for it."""

# What the slim images leave out as well.
_LEFT_OUT = ("doc", "man", "locale", "info")
# Without it the essential packages ask for usrmerge, and that for all of Perl (48 MB).
_MERGED_USR = ("--include=usr-is-merged", "--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr")
_CONTAINERFILE = 'FROM scratch\nADD base.tar /\nCMD ["bash"]\n'


def check_programs() -> None:
    """Raises ImageError with the packages to install."""
    missing = [name for name in PACKAGES.split() if shutil.which(name) is None]
    if missing:
        cure = f"apt-get install --no-install-recommends {PACKAGES}"
        raise ImageError(f"{' and '.join(missing)} not found; on Debian and Ubuntu: {cure}")


def make_base(fresh: bool = False) -> str:
    """The tag of the base in buildah's store, made from packages fetched once and kept (`fresh`: fetched again)."""
    archive = _archive()
    if fresh or not archive.exists():
        _bootstrap(archive)
    with tempfile.TemporaryDirectory(dir=archive.parent) as context:
        (Path(context) / "Containerfile").write_text(_CONTAINERFILE)
        (Path(context) / "base.tar").hardlink_to(archive)
        _call(["buildah", "build", "--layers", "--timestamp", str(source_date()), "--tag", TAG, context])
    return TAG


def _archive() -> Path:
    digest = hashlib.sha256(" ".join([*_command(Path("-")), str(source_date())]).encode()).hexdigest()[:16]
    return cache_directory() / "images" / f"base-{digest}.tar"


def _command(target: Path) -> list[str]:
    left_out = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in _LEFT_OUT]
    licences = "--dpkgopt=path-include=/usr/share/doc/*/copyright"
    mirror = [os.environ["DEBIAN_MIRROR"]] if os.environ.get("DEBIAN_MIRROR") else []
    kind = ["mmdebstrap", "--variant=minbase", "--format=tar"]
    return [*kind, *left_out, licences, *_MERGED_USR, SUITE, str(target), *mirror]


def _bootstrap(archive: Path) -> None:
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent) as directory:
        made = Path(directory) / "base.tar"
        _call(_command(made))
        made.replace(archive)


def _call(command: list[str]) -> None:
    done = subprocess.run(command, env=environment(command[0]), stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise ImageError(f"{command[0]} ended with status {done.returncode}; its output says why")
