"""`python -m scenarios [NAME ...]`: Molecule scenarios one after the other, with their seconds (`make molecule`).

Each is `molecule test -s NAME` with a directory of its own for what it writes. Exit status 1 where one failed, or left
a process behind. One that cannot run here says why, and the reason stands in the summary.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from shown import run_shown

ROOT = Path(__file__).parent.parent
_MARK = "AITASK_SCENARIO"
_SKIPPED = re.compile(r"SKIPPED [\w-]+: ([^\"\n]+)")


@dataclass(frozen=True)
class Outcome:
    """What became of a scenario."""

    name: str
    verdict: str
    """passed, failed or skipped."""
    seconds: float
    note: str = ""


def main(names: list[str]) -> int:
    """See the module."""
    known = scenarios()
    if unknown := sorted(set(names) - set(known)):
        print(f"no such scenario: {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    outcomes = [play(name) for name in names or known]
    print("\nscenario           seconds  outcome")
    for outcome in outcomes:
        print(f"{outcome.name:18} {outcome.seconds:7.0f}  {outcome.verdict}{outcome.note and f': {outcome.note}'}")
    return int(any(outcome.verdict == "failed" for outcome in outcomes))


def scenarios() -> list[str]:
    """Their names."""
    return sorted(file.parent.name for file in ROOT.glob("molecule/*/molecule.yml"))


def play(name: str) -> Outcome:
    """Run one, and look for what it has left."""
    print(f"\n== scenario {name} ==", flush=True)
    mark = f"{_MARK}={uuid.uuid4().hex}"
    directory = Path(tempfile.mkdtemp(prefix=f"molecule-{name}-"))
    environment = {**os.environ, "MOLECULE_EPHEMERAL_DIRECTORY": str(directory), _MARK: mark.partition("=")[2]}
    command = [str(Path(sys.executable).with_name("molecule")), "test", "-s", name]
    started = time.monotonic()
    try:
        status, said = run_shown(command, ROOT, environment)
    finally:
        shutil.rmtree(directory)
    seconds = time.monotonic() - started
    if left := _processes_with(mark):
        return Outcome(name, "failed", seconds, f"left processes behind: {', '.join(left)}")
    if status:
        return Outcome(name, "failed", seconds, "see above")
    reason = _SKIPPED.search(said)
    return Outcome(name, "skipped", seconds, reason[1]) if reason else Outcome(name, "passed", seconds)


def _processes_with(mark: str) -> list[str]:
    """Command lines of the processes that have inherited this; none where there is no /proc to tell."""
    found = []
    for file in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in file.read_bytes().split(b"\0"):
                found.append(
                    file.with_name("cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
                )
        except OSError:
            continue
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
