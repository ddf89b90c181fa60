"""The command line. Exit codes: 0 done, 1 it failed (kind's own words say why), 2 wrong usage."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from imagebuild.engines import find_engine
from imagebuild.errors import ImageError
from localcluster import ClusterError
from localcluster.build import ensure_built

ENGINES = ("docker", "podman")
_READY_SECONDS = 180


class KindError(Exception):
    """Its text says what to do."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], None] = options.run
    try:
        command(options)
    except (KindError, ImageError, ClusterError, OSError) as error:
        print(f"kindcluster: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m kindcluster", description=sys.modules["kindcluster"].__doc__)
    parser.add_argument("--name", default="aitask", help="name of the cluster (aitask)")
    parser.add_argument("--tool", default="", help="docker or podman (the first that answers)")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    up = commands.add_parser("up", help="make the cluster; its context becomes the current one of your kubeconfig")
    up.add_argument("--image", default="", help="image of the nodes (kind names its own)")
    up.add_argument("--config", default="", help="configuration of kind")
    up.set_defaults(run=_up)
    load = commands.add_parser("load", help="bring an image of the engine to the nodes, or that of an archive")
    load.add_argument("image", help="its name, or the path of an OCI or docker archive (*.tar)")
    load.set_defaults(run=_load)
    down = commands.add_parser("down", help="remove the cluster")
    down.set_defaults(run=_down)
    return parser


def _up(options: argparse.Namespace) -> None:
    chosen = [f"--{name}={value}" for name in ("image", "config") if (value := getattr(options, name))]
    _kind(options, "create", "cluster", f"--wait={_READY_SECONDS}s", *chosen)


def _load(options: argparse.Namespace) -> None:
    if options.image.endswith(".tar"):
        _kind(options, "load", "image-archive", options.image)
        return
    # By an archive with both engines: `kind load docker-image` asks docker alone.
    with tempfile.TemporaryDirectory() as directory:
        archive = Path(directory) / "image.tar"
        _call([_engine(options), "save", "--output", str(archive), options.image])
        _kind(options, "load", "image-archive", str(archive))


def _down(options: argparse.Namespace) -> None:
    _kind(options, "delete", "cluster")


def _engine(options: argparse.Namespace) -> str:
    """Raises ImageError with the reason of each where none answers."""
    if options.tool and options.tool not in ENGINES:
        raise KindError(f"kind works with {' or '.join(ENGINES)}, not with {options.tool}")
    return find_engine(options.tool, ENGINES)


def _kind(options: argparse.Namespace, *arguments: str) -> None:
    program = shutil.which("kind") or str(ensure_built("kind", lambda text: print(text, file=sys.stderr, flush=True)))
    _call([program, *arguments, f"--name={options.name}"], KIND_EXPERIMENTAL_PROVIDER=_engine(options))


def _call(command: list[str], **environment: str) -> None:
    done = subprocess.run(command, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise KindError(f"{' '.join(command[:4])} … ended with status {done.returncode}; its output says why")
