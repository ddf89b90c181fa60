"""Holding the lease, on a thread and a connection of its own, so that neither plays nor a busy loop can starve it."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import uuid
from collections.abc import Mapping
from pathlib import Path

from ansible_operator.kube.client import Client, Observe
from ansible_operator.kube.connection import connect
from ansible_operator.kube.lease import Election, LeaderElector
from ansible_operator.model.errors import StartError
from ansible_operator.model.gvk import ObjectKey
from ansible_operator.model.settings import LeaderElection

_NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_REQUEST_TIMEOUT = 5.0


class Leadership:
    """Takes part in an election. ``elected`` and ``lost`` are set in the loop that made this object."""

    def __init__(self, election: Election, environment: Mapping[str, str], observe: Observe) -> None:
        self.elected = asyncio.Event()
        self.lost = asyncio.Event()
        self._election = election
        self._environment = environment
        self._observe = observe
        self._home = asyncio.get_running_loop()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._work: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="leader-election", daemon=True)

    def start(self) -> None:
        """Begin to try."""
        self._thread.start()

    async def stop(self) -> None:
        """Give the lease back and end the thread."""
        if self._loop is not None and self._work is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._work.cancel)
            await asyncio.to_thread(self._thread.join, _REQUEST_TIMEOUT * 2)

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        connection = await connect(self._environment)
        elector = LeaderElector(Client(connection, _REQUEST_TIMEOUT, self._observe), self._election)
        self._work = asyncio.create_task(self._campaign(elector))
        try:
            await self._work
        except asyncio.CancelledError:
            await elector.release()
        finally:
            await connection.close()

    async def _campaign(self, elector: LeaderElector) -> None:
        await elector.acquire()
        self._home.call_soon_threadsafe(self.elected.set)
        await elector.hold()
        self._home.call_soon_threadsafe(self.lost.set)


def election_of(settings: LeaderElection) -> Election:
    """The election that the settings ask for. Raises StartError where the lease has no name or no namespace."""
    if not settings.lease_name:
        raise StartError("leader election: the lease has no name; set --leader-election-id or OPERATOR_NAME")
    namespace = settings.namespace
    if not namespace and _NAMESPACE_FILE.exists():
        namespace = _NAMESPACE_FILE.read_text().strip()
    if not namespace:
        raise StartError("leader election: not in a pod, so no namespace is known; set --leader-election-namespace")
    return Election(
        key=ObjectKey(namespace, settings.lease_name),
        identity=f"{os.environ.get('HOSTNAME') or socket.gethostname()}_{uuid.uuid4()}",
        lease_duration=settings.lease_duration,
        renew_deadline=settings.renew_deadline,
    )
