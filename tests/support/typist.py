"""Types the commands of a page, one after another, and sees that none was left out."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.support.documents import ROOT, blocks, commands, sections


class Typist:
    """Somebody who reads ``page``, or the section of it with that heading, and types what it says, in ``directory``.

    ``environment`` is what the page has told to export. Commands come in the order of the page: ``upto`` types all that
    stand before one, ``skip`` passes over one that something else does.
    """

    def __init__(self, page: str, directory: Path, environment: Mapping[str, str], section: str = "") -> None:
        text = dict(sections((ROOT / page).read_text())).get(section, "")
        shown = [block for block in blocks(ROOT / page, "console") if not section or block.text in text]
        self._left = [command for block in shown for command in commands(block)]
        self._directory = directory
        self._environment = {**os.environ, **environment}

    def skip(self, beginning: str) -> str:
        """The next command, which must begin so; it is not typed."""
        command = self._left.pop(0)
        assert command.startswith(beginning), f"the next command of the page is {command!r}, not {beginning!r}"
        return command

    def type(self, beginning: str, status: int = 0) -> str:
        """Type the next command, which must begin so, and end with that status; what it printed."""
        command = self.skip(beginning)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=self._directory,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == status, f"{command}\nstatus {done.returncode}:\n{done.stdout}"
        return done.stdout.strip()

    def upto(self, beginning: str) -> str:
        """Type all commands before the one that begins so, and it; what the last printed."""
        while not self._left[0].startswith(beginning):
            self.type("")
        return self.type(beginning)

    def done(self) -> None:
        """Nothing of the page is left."""
        assert self._left == [], "the page has commands that nobody has typed"
