"""Runs a case through a runner, in a loop of its own thread, so that one warm parent serves a whole test session."""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from ansible_operator.model.gvk import GVK, ObjectKey
from ansible_operator.model.owner import Owner
from ansible_operator.model.watch import Content
from ansible_operator.runner.cold import ColdRunner
from ansible_operator.runner.interface import Access, RunRequest
from ansible_operator.runner.parents import Limits
from tests.warm.cases import Case
from tests.warm.compare import by_host, shown, without_last_words

T = TypeVar("T")
OWNER = Owner(GVK("test.example.com", "v1", "Thing"), ObjectKey("default", "x"), "uid")
NO_CLUSTER = Access("https://127.0.0.1:1", Path("/nonexistent/ca.crt"), "token", "default")
PATIENT = Limits(answer=60.0)
"""A busy machine may keep a parent from its answer for more than the second after which it is replaced."""

_PATIENCE = 600.0
IDENTS = map(str, itertools.count(os.getpid() * 100_000))
"""Names of runs. Strays are found by them on the whole machine, so no two test sessions at once may share one."""


class Loop:
    """An event loop in a thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def __call__(self, coroutine: Coroutine[Any, Any, T]) -> T:
        future: Future[T] = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        return future.result(_PATIENCE)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Bench:
    """Where a case is run, always in the same place, so that paths are the same too."""

    def __init__(self, root: Path, case: Case, access: Access = NO_CLUSTER) -> None:
        self._content = root / "content"
        self._run = root / "run"
        self._access = access
        self._case = case
        self.patience = 1.0
        """So many times longer than the case says may a run take that is to be ended in its middle."""
        self.environment = environment(**{name: self._filled(value) for name, value in case.environment.items()})
        self.arguments = self._filled(case.arguments)

    def _filled(self, text: str) -> str:
        return text.replace("CONTENT", str(self._content))

    def prepare(self) -> None:
        """Write the files of the case. What is there already and right is left alone, as it may be in memory."""
        wanted = {
            Path(os.path.normpath(self._content / path)): text.encode() for path, text in _files(self._case).items()
        }
        for path in sorted(self._content.rglob("*"), reverse=True):
            if "__pycache__" not in path.parts and (path.is_symlink() or not _is_right(path, wanted)):
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        for path, data in wanted.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                path.write_bytes(data)
                path.chmod(0o755 if data.startswith(b"#!") else 0o644)

    async def run(self, runner: ColdRunner) -> dict[str, Any]:
        """Run it. What it showed."""
        self.prepare()
        shutil.rmtree(self._run, ignore_errors=True)
        events: list[Any] = []
        ident = next(IDENTS)
        case = self._case
        request = RunRequest(
            self._run,
            ident,
            OWNER,
            self._to_run(),
            case.variables,
            self._access,
            verbosity=case.verbosity,
            timeout=case.timeout * self.patience,
        )
        end = await runner.run(request, events.append)
        result = shown(self._run, ident, events, end.exit_code)
        if case.timeout:
            result = without_last_words(result)
        return by_host(result) if case.several_hosts else result

    def _to_run(self) -> Content:
        if self._case.role:
            return Content(role=self._content / "roles" / self._case.role)
        return Content(playbook=self._content / "playbook.yml")


def _is_right(path: Path, wanted: dict[Path, bytes]) -> bool:
    if path.is_dir():
        return any(path in file.parents for file in wanted)
    return wanted.get(path) == path.read_bytes()


def _files(case: Case) -> dict[str, str]:
    return case.files if case.role else {**case.files, "playbook.yml": case.playbook}


def environment(**more: str) -> dict[str, str]:
    """This process's environment, without any access to a cluster."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("KUBE", "K8S"))} | more
