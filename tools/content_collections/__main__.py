"""The command line: `PYTHONPATH=tools python -m content_collections` (what `make collections` runs)."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from content_collections.install import Request, install
from content_collections.wanted import CollectionsError

ROOT = Path(__file__).parents[2]

_DESCRIPTION = """\
Installs the Ansible collections that requirements.yml pins: from Galaxy, else out of PyPI's
`ansible` package, which is pinned by hash. The result is put in place whole or not at all.
make collections calls it.
"""

_EPILOG = """\
examples:
  python -m content_collections
  python -m content_collections --no-galaxy --into /opt/collections

exit status:
  0  they are there
  1  neither source has them
  2  wrong usage
"""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m content_collections",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
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
