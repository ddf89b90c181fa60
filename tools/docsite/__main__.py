"""`python -m docsite`, which `make site` calls. Exit status: that of mkdocs, 1 where a link leads nowhere."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "README.zh-CN.md", "CHANGELOG.md", "LICENSE", "docs/**/*", "examples/*/README.md")
"""Patterns of what the site holds; what else a page links to is a broken link."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Gather the pages and build the site."""
    parser = argparse.ArgumentParser(prog="python -m docsite", description="Builds the site of the documentation.")
    parser.add_argument("--into", type=Path, default=ROOT / "build/site", help="where the site goes")
    into: Path = parser.parse_args(arguments).into.resolve()
    pages = into.with_name(f"{into.name}-pages")
    gather(pages)
    return build(pages, into)


def build(pages: Path, into: Path) -> int:
    """The exit status of mkdocs. A link that leads nowhere, and a page that the navigation lacks, is an error."""
    configuration = pages.with_suffix(".yml")
    configuration.write_text(f"INHERIT: {ROOT / 'mkdocs.yml'}\ndocs_dir: {pages}\nsite_dir: {into}\n")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(configuration)]
    # Without the variable each build tells of a successor of mkdocs.
    return subprocess.run(command, check=False, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}).returncode


def gather(into: Path) -> None:
    """Copy the pages, each to its own place below ``into``, which is made anew."""
    shutil.rmtree(into, ignore_errors=True)
    for pattern in PAGES:
        for file in ROOT.glob(pattern):
            if file.is_file():
                place = into / file.relative_to(ROOT)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, place)


if __name__ == "__main__":
    sys.exit(main())
