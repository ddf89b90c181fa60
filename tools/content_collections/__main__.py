"""The command line: `PYTHONPATH=tools python -m content_collections` (what `make collections` runs)."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from content_collections.install import Request, install
from content_collections.wanted import CollectionsError

ROOT = Path(__file__).parents[2]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="content_collections", description=sys.modules["content_collections"].__doc__)
    parser.add_argument("--requirements", type=Path, default=ROOT / "requirements.yml", help="which collections")
    parser.add_argument(
        "--package",
        type=Path,
        default=ROOT / "requirements/collections.txt",
        help="the pinned PyPI package that has them",
    )
    parser.add_argument("--into", type=Path, default=ROOT / ".collections", help="a directory of the collections path")
    parser.add_argument("--no-galaxy", action="store_true", help="do not ask Galaxy first")
    options = parser.parse_args(arguments)
    request = Request(options.requirements, options.package, options.into.absolute(), use_galaxy=not options.no_galaxy)
    try:
        install(request, lambda line: print(line, flush=True))
    except (CollectionsError, OSError) as error:
        print(f"collections: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
