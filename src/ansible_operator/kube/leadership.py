"""Holding the lease, on a thread and a connection of its own, so that neither plays nor a busy loop can starve it."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ansible_operator.kube.client import Client, Observe
from ansible_operator.kube.connection import connect
from ansible_operator.kube.lease import Election, LeaderElector
from ansible_operator.model.errors import StartError
from ansible_operator.model.gvk import ObjectKey
from ansible_operator.model.settings import LeaderElection
from ansible_operator.telemetry.logs import get_logger

log = get_logger("leader-election")

_NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_REQUEST_TIMEOUT = 5.0


class Leadership:
    """Takes part in an election. ``elected`` and ``lost`` are set in the loop that made this object.

    ``lost`` is set however the election ends: who does not renew the lease must not go on.
    """

    def __init__(self, election: Election, environment: Mapping[str, str], observe: Observe) -> None:
        self.elected = asyncio.Event()
        self.lost = asyncio.Event()
        self._election = election
        self._environment = environment
        self._observe = observe
        self._home = asyncio.get_running_loop()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._work: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._take_part, name="leader-election", daemon=True)

    def start(self) -> None:
        """Begin to try."""
        self._thread.start()

    async def won(self) -> None:
        """Wait until elected. Raises StartError where the election has ended before."""
        waiting = [asyncio.create_task(event.wait()) for event in (self.elected, self.lost)]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
        if not self.elected.is_set():
            raise StartError("leader election has ended before there was a leader; the log says why")

    async def stop(self) -> None:
        """Give the lease back and end the thread."""
        if self._loop is not None and self._work is not None and self._thread.is_alive():
            with suppress(RuntimeError):  # the thread is about to end by itself
                self._loop.call_soon_threadsafe(self._work.cancel)
            await asyncio.to_thread(self._thread.join, _REQUEST_TIMEOUT * 2)

    def _take_part(self) -> None:
        try:
            asyncio.run(self._run())
        except Exception:
            log.exception("leader election has ended by a fault of the operator")
        finally:
            with suppress(RuntimeError):  # the operator's loop may be closed by now
                self._home.call_soon_threadsafe(self.lost.set)

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
