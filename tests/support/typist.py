"""Types the commands of a page, one after another, and sees that none was left out."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.support.documents import ROOT, answers, blocks, commands, sections


class Typist:
    """Somebody who reads ``page``, or the section of it with that heading, and types what it says, in ``directory``.

    ``environment`` is what the page has told to export. Commands come in the order of the page: ``upto`` types all that
    stand before one, ``skip`` passes over one that something else does. Where the page shows an answer, each of its
    lines must come, but for the ages of objects and for words that are others here (``names``).
    """

    def __init__(
        self,
        page: str,
        directory: Path,
        environment: Mapping[str, str],
        section: str = "",
        names: Mapping[str, str] | None = None,
    ) -> None:
        text = dict(sections((ROOT / page).read_text())).get(section, "")
        shown = [block for block in blocks(ROOT / page, "console") if not section or block.text in text]
        self._left = [pair for block in shown for pair in zip(commands(block), answers(block), strict=True)]
        self._directory = directory
        self._environment = {**os.environ, **environment}
        self._names = names or {}

    def skip(self, beginning: str) -> tuple[str, str]:
        """The next command, which must begin so, and its answer; it is not typed."""
        command, answer = self._left.pop(0)
        assert command.startswith(beginning), f"the next command of the page is {command!r}, not {beginning!r}"
        return command, answer

    def type(self, beginning: str, status: int = 0) -> str:
        """Type the next command, which must begin so, and end with that status; what it printed."""
        command, answer = self.skip(beginning)
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
        for name, here in self._names.items():
            answer = re.sub(rf"\b{name}\b", here, answer)
        printed = [_plain(line) for line in done.stdout.splitlines()]
        missing = [line for line in answer.splitlines() if _plain(line) not in printed]
        assert missing == [], f"{command}\nthe page shows {missing}, and this came:\n{done.stdout}"
        return done.stdout.strip()

    def upto(self, beginning: str) -> str:
        """Type all commands before the one that begins so, and it; what the last printed."""
        while not self._left[0][0].startswith(beginning):
            self.type("")
        return self.type(beginning)

    def done(self) -> None:
        """Nothing of the page is left."""
        assert self._left == [], "the page has commands that nobody has typed"


def _plain(line: str) -> str:
    return " ".join(re.sub(r"\b(\d+m)?\d+s\b|\b\d+m\b", "AGE", line).split())
