"""Leader election by a Lease, as client-go does it, but released on stop so that a successor need not wait it out.

A holder counts as alive for the lease's duration after *we* last saw it renew, by our own clock: the clocks of two
machines need not agree.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ansible_operator.kube.client import Client
from ansible_operator.model.errors import ApiError, Conflict, NotFound
from ansible_operator.model.gvk import GVK, ObjectKey, Resource
from ansible_operator.telemetry.logs import get_logger

log = get_logger("leader-election")

_LEASES = Resource(GVK("coordination.k8s.io", "v1", "Lease"), "leases", True, frozenset())


@dataclass(frozen=True)
class Election:
    """Which lease, who we are, and the times in seconds."""

    key: ObjectKey
    identity: str
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0


class LeaderElector:
    """Acquires and renews a lease."""

    def __init__(
        self,
        client: Client,
        election: Election,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._client = client
        self._election = election
        self._clock = clock
        self._sleep = sleep
        self._seen: tuple[str, str] = ("", "")
        self._seen_at = clock()

    async def acquire(self) -> None:
        """Wait until we are the leader."""
        while not await self._try():
            await self._sleep(self._election.retry_period)
        log.info("became leader", lease=str(self._election.key), identity=self._election.identity)

    async def hold(self) -> None:
        """Renew until that has failed for the renew deadline; then we are no longer the leader."""
        renewed = self._clock()
        while (left := renewed + self._election.renew_deadline - self._clock()) > 0:
            await self._sleep(min(self._election.retry_period, left))
            started = self._clock()  # others count from when a renewal was asked for, or later
            if await self._try_within(renewed + self._election.renew_deadline - started):
                renewed = started
        log.error("lost leadership", lease=str(self._election.key))

    async def _try_within(self, seconds: float) -> bool:
        """An attempt that hangs must not carry us beyond the time in which we are the leader for sure."""
        try:
            return await asyncio.wait_for(self._try(), seconds) if seconds > 0 else False
        except TimeoutError:
            return False

    async def release(self) -> None:
        """Give the lease back, if we hold it."""
        try:
            lease = await self._client.get(_LEASES, self._election.key)
            if lease["spec"].get("holderIdentity") == self._election.identity:
                await self._put(lease, {**lease["spec"], "holderIdentity": "", "leaseDurationSeconds": 1})
        except ApiError as error:
            log.warning("lease not released", error=str(error))

    async def _try(self) -> bool:
        """One attempt to acquire or renew."""
        try:
            return await self._attempt()
        except (Conflict, NotFound):
            return False  # another was faster
        except ApiError as error:
            log.warning("lease cannot be written", lease=str(self._election.key), error=str(error))
            return False

    async def _attempt(self) -> bool:
        try:
            lease = await self._client.get(_LEASES, self._election.key)
        except NotFound:
            await self._create()
            return True
        spec = lease.get("spec") or {}
        holder = spec.get("holderIdentity") or ""
        ours = holder == self._election.identity
        if holder and not ours and not self._expired(holder, spec):
            return False
        now = _micro_time()
        changed = (
            spec if ours else {**spec, "acquireTime": now, "leaseTransitions": spec.get("leaseTransitions", 0) + 1}
        )
        await self._put(lease, {**changed, **self._terms(), "renewTime": now})
        return True

    def _expired(self, holder: str, spec: dict[str, Any]) -> bool:
        seen = (holder, str(spec.get("renewTime")))
        if seen != self._seen:
            self._seen, self._seen_at = seen, self._clock()
        return self._clock() - self._seen_at > float(spec.get("leaseDurationSeconds") or self._election.lease_duration)

    def _terms(self) -> dict[str, Any]:
        return {
            "holderIdentity": self._election.identity,
            "leaseDurationSeconds": max(1, round(self._election.lease_duration)),
        }

    async def _create(self) -> None:
        now = _micro_time()
        spec = {**self._terms(), "acquireTime": now, "renewTime": now, "leaseTransitions": 0}
        key = self._election.key
        body = {
            "apiVersion": _LEASES.gvk.api_version,
            "kind": _LEASES.gvk.kind,
            "metadata": {"name": key.name, "namespace": key.namespace},
            "spec": spec,
        }
        await self._client.request("POST", _LEASES.path(key.namespace), body=body)

    async def _put(self, lease: dict[str, Any], spec: dict[str, Any]) -> None:
        """Guarded by the resource version in ``lease``."""
        key = self._election.key
        await self._client.request("PUT", _LEASES.path(key.namespace, key.name), body={**lease, "spec": spec})


def _micro_time() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
