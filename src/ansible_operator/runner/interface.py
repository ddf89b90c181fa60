"""The narrow waist between the operator and Ansible: whoever can run a RunRequest can be the runner."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ansible_operator.model.events import Event, RunEnd
from ansible_operator.model.owner import Owner
from ansible_operator.model.watch import Content

OnEvent = Callable[[Event], None]


@dataclass(frozen=True)
class Access:
    """How a run reaches the cluster: the proxy's URL and authority, the run's token, the default namespace."""

    url: str
    authority_file: Path
    token: str
    namespace: str


@dataclass(frozen=True)
class RunRequest:
    """One run.

    ``directory`` is the private data directory (one per object, so two runs of one object never overlap); ``ident``
    names the run; ``max_artifacts`` is the number of runs whose artifacts stay (0: all); ``timeout`` is in seconds
    (0: none). ``on_begin`` is called when the run's turn has come. ``on_over`` is called once, when the run and every
    background job it has started (``poll: 0``) are over. ``temporary`` is the run's own directory for temporary files,
    which the runner chooses, and removes when the run is over.
    """

    directory: Path
    ident: str
    owner: Owner
    content: Content
    variables: Mapping[str, Any]
    access: Access
    verbosity: int = 0
    max_artifacts: int = 20
    timeout: float = 0.0
    on_begin: Callable[[], None] = lambda: None
    on_over: Callable[[], None] = lambda: None
    temporary: Path | None = None


class Runner(Protocol):
    """Runs requests. ``run`` raises RunError where the run cannot be started; a play that fails is a RunEnd."""

    async def run(self, request: RunRequest, on_event: OnEvent) -> RunEnd:
        """Run to the end, reporting events in order as they happen."""
        ...

    async def stop(self) -> None:
        """End every run and whatever it has started."""
        ...
