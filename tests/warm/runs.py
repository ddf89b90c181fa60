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
from tests.warm.cases import Case
from tests.warm.compare import shown

T = TypeVar("T")
OWNER = Owner(GVK("test.example.com", "v1", "Thing"), ObjectKey("default", "x"), "uid")
NO_CLUSTER = Access("https://127.0.0.1:1", Path("/nonexistent/ca.crt"), "token", "default")
_PATIENCE = 180.0


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
    """Where cases are run, always in the same place, so that paths are the same too."""

    def __init__(self, root: Path, access: Access = NO_CLUSTER) -> None:
        self._root = root
        self._access = access
        self._idents = itertools.count(1000)

    async def run(self, runner: ColdRunner, name: str, case: Case) -> dict[str, Any]:
        directory = self._root / name
        shutil.rmtree(directory, ignore_errors=True)
        content = write(directory / "content", case)
        events: list[Any] = []
        ident = str(next(self._idents))
        request = RunRequest(
            directory / "run", ident, OWNER, content, case.variables, self._access, verbosity=case.verbosity
        )
        end = await runner.run(request, events.append)
        return shown(directory / "run", ident, events, end.exit_code)


def write(directory: Path, case: Case) -> Content:
    """The files of a case."""
    files = case.files if case.role else {**case.files, "playbook.yml": case.playbook}
    for path, text in files.items():
        file = directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    return Content(role=directory / "roles" / case.role) if case.role else Content(playbook=directory / "playbook.yml")


def environment(**more: str) -> dict[str, str]:
    """This process's environment, without any access to a cluster."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("KUBE", "K8S"))} | more
