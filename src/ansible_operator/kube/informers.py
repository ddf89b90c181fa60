"""The informers of the operator: one for each kind, namespace and selector, shared by all who ask for it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ansible_operator.kube.client import Client
from ansible_operator.kube.informer import Handler, Informer
from ansible_operator.model.errors import StartError
from ansible_operator.model.gvk import GVK, Resource


class Informers:
    """Starts informers and keeps them running. ``namespaces`` are the watched ones; none means all."""

    def __init__(self, client: Client, namespaces: Sequence[str]) -> None:
        self._client = client
        self._namespaces = tuple(namespaces) or ("",)
        self._running: dict[tuple[GVK, str, str], tuple[Informer, asyncio.Task[None]]] = {}

    def watches(self, namespace: str) -> bool:
        """Whether objects in this namespace (empty: cluster-scoped) are watched."""
        return "" in self._namespaces or namespace in self._namespaces

    def ensure(self, resource: Resource, handler: Handler, label_selector: str = "") -> list[Informer]:
        """Report the changes of a kind, in all watched namespaces, to ``handler``."""
        namespaces = self._namespaces if resource.namespaced else ("",)
        return [self._ensure(resource, namespace, label_selector, handler) for namespace in namespaces]

    def _ensure(self, resource: Resource, namespace: str, label_selector: str, handler: Handler) -> Informer:
        key = (resource.gvk, namespace, label_selector)
        if key not in self._running:
            informer = Informer(self._client, resource, namespace, label_selector)
            task = asyncio.create_task(informer.run(), name=f"informer {resource.gvk} {namespace}")
            self._running[key] = (informer, task)
        informer = self._running[key][0]
        informer.add_handler(handler)
        return informer

    def unsynced(self) -> list[Informer]:
        """Informers that have not read their first list yet."""
        return [informer for informer, _ in self._running.values() if not informer.synced.is_set()]

    def dead(self) -> list[str]:
        """Informers whose task has ended, which only a fault of ours can bring about."""
        return [task.get_name() for _, task in self._running.values() if task.done()]

    async def wait_for_sync(self, seconds: float) -> None:
        """Wait for the first lists. Raises StartError, with the reason and the cure, after that many seconds."""
        waiting = asyncio.gather(*(informer.synced.wait() for informer in self.unsynced()))
        try:
            await asyncio.wait_for(waiting, seconds)
        except TimeoutError:
            late = self.unsynced()[0]
            raise StartError(
                f"cannot list {late.resource.plural}.{late.resource.gvk.group} in "
                f"{late.namespace or 'all namespaces'} within {seconds:g} s: {late.last_error or 'no answer'}; "
                "check the RBAC of the operator, and WATCH_NAMESPACE if it may only see some namespaces"
            ) from late.last_error

    async def stop(self) -> None:
        """End all informers."""
        tasks = [task for _, task in self._running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
