"""The command line. Exit codes: 0 done, 1 it failed or differs, 2 wrong usage."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from localcluster.errors import ClusterError
from olmbundle import judges, make
from olmbundle.catalog import PATH, catalog
from olmbundle.errors import BundleError
from olmbundle.files import Files, differences, write
from olmbundle.release import ROOT


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = options.run
    try:
        return command(options)
    except (BundleError, ClusterError, OSError) as error:
        print(f"olmbundle: {error}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m olmbundle", description=sys.modules["olmbundle"].__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    made = commands.add_parser("bundle", help="write bundle/ and bundle.Dockerfile")
    made.set_defaults(run=_bundle)
    listed = commands.add_parser("catalog", help="write catalog/: this release, and the earlier ones that are in it")
    listed.add_argument("--bundle-image", default="", help="the bundle's image; releases without a real one go")
    listed.add_argument("--inline", action="store_true", help="last release and this one, with the manifests")
    listed.set_defaults(run=_catalog)
    judged = commands.add_parser("validate", help="have opm and operator-verify judge what is there (builds them once)")
    judged.set_defaults(run=_validate)
    for one in (made, listed):
        one.add_argument("--image", default="", help="the operator's image (default: by the version)")
        one.add_argument("--check", action="store_true", help="write nothing; say what differs, and exit with 1")
        one.add_argument("--directory", type=Path, default=ROOT, help="where to (default: the work tree)")
    return parser


def _bundle(options: argparse.Namespace) -> int:
    return _done(make.present_entry(image=options.image).files, options, "make bundle")


def _catalog(options: argparse.Namespace) -> int:
    if options.inline:
        return _done({PATH: catalog(make.entries(), inline=True)}, options, "make catalog")
    files = make.catalog_files(directory=options.directory, image=options.image, bundle_image=options.bundle_image)
    return _done(files, options, "make catalog")


def _validate(_options: argparse.Namespace) -> int:
    judges.judge_catalog(ROOT / "catalog", _say)
    print("opm validate: no fault")
    warnings = judges.judge_bundle(ROOT / "bundle", _say)
    print("operator-verify: no fault", warnings.strip(), sep="\n")
    return 0


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _done(files: Files, options: argparse.Namespace, cure: str) -> int:
    if not options.check:
        write(files, options.directory)
        print("\n".join(files))
        return 0
    found = differences(files, options.directory)
    if found:
        print(f"out of date, run `{cure}`:", *found, sep="\n  ", file=sys.stderr)
    return 1 if found else 0
