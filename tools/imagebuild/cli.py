"""The command line. Exit codes: 0 done, 1 it failed or a vulnerability is known, 2 wrong usage."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from imagebuild import base, engines
from imagebuild.archive import read_image, report, write_plain
from imagebuild.audit import audit
from imagebuild.errors import ImageError

ROOT = Path(__file__).parents[2]
_ARCHIVE = ROOT / "build" / "image" / "operator.tar"

_DESCRIPTION = """\
Builds the operator image from the Dockerfile: with the container engine that is there, or,
without engine and registry, with buildah on a base of Debian packages.
make docker-build and make image-rootfs call it.
"""

_EPILOG = """\
examples:
  python -m imagebuild engine --tag registry.example.com/aitask-operator:0.2.0
  python -m imagebuild engine --tag localhost/ansible-operator:dev --target runtime --tool podman
  python -m imagebuild rootfs --tag localhost/aitask-operator:dev

exit status:
  0  done
  1  it failed, or a locked package has a known vulnerability
  2  wrong usage
"""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = options.run
    try:
        return command(options)
    except (ImageError, OSError) as error:
        print(f"imagebuild: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m imagebuild",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    engine = _command(commands, _engine, "engine", "build with docker, podman or buildah, whichever is there")
    engine.add_argument("--tool", default="", help="take this one, not the first that answers")
    engine.add_argument("--base", help="the image to build on (the Dockerfile names its own)")
    rootfs = _command(
        commands, _rootfs, "rootfs", "build with buildah on a base of Debian packages: no registry, no engine"
    )
    rootfs.add_argument("--archive", type=Path, default=_ARCHIVE, help="where the image goes, as an OCI archive")
    for one in (engine, rootfs):
        one.add_argument("--tag", required=True, help="name of the image")
        one.add_argument(
            "--target", default="operator", choices=("runtime", "operator"), help="stage of the Dockerfile"
        )
        one.add_argument("--fresh", action="store_true", help="use nothing of an earlier build")
    shown = _command(commands, _report, "report", "size by layer and digest of an OCI archive")
    shown.add_argument("archive", type=Path)
    _command(commands, _audit, "audit", "look the locked requirements up in an advisory database")
    return parser


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    run: Callable[[argparse.Namespace], int],
    name: str,
    text: str,
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=text, description=text)
    parser.set_defaults(run=run)
    return parser


def _engine(options: argparse.Namespace) -> int:
    engine = engines.find_engine(options.tool)
    print(f"Building {options.tag} with {engine}", flush=True)
    engines.build(engine, engines.Build(ROOT, options.tag, options.target, options.base, options.fresh))
    return _audit(options)


def _rootfs(options: argparse.Namespace) -> int:
    base.check_programs()
    print(f"Building {options.tag} with buildah, on Debian packages", flush=True)
    wanted = engines.Build(ROOT, options.tag, options.target, base.make_base(options.fresh), options.fresh)
    engines.build("buildah", wanted)
    _write(options.tag, options.archive)
    print(report(read_image(options.archive)), f"archive {options.archive}", sep="\n", flush=True)
    return _audit(options)


def _write(tag: str, archive: Path) -> None:
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent) as directory:
        written, plain = Path(directory) / "written.tar", Path(directory) / "plain.tar"
        command = ["buildah", "push", "--quiet", tag, f"oci-archive:{written}:{tag}"]
        if subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode != 0:
            raise ImageError(f"buildah could not write {archive}; its output says why")
        write_plain(written, plain)
        plain.replace(archive)


def _report(options: argparse.Namespace) -> int:
    print(report(read_image(options.archive)))
    return 0


def _audit(_options: argparse.Namespace) -> int:
    outcome = audit(ROOT / "requirements" / "runtime.txt", ROOT / "requirements" / "audit.txt")
    print(outcome)
    return 1 if outcome.vulnerabilities else 0
