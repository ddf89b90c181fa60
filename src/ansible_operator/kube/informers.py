"""The informers of the operator: one for each kind, namespace and selector, shared by all who ask for it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ansible_operator.kube.access import Permissions
from ansible_operator.kube.client import Client
from ansible_operator.kube.informer import Handler, Informer
from ansible_operator.model.errors import StartError
from ansible_operator.model.gvk import GVK, Resource
from ansible_operator.telemetry.logs import get_logger

log = get_logger("informer")


class Informers:
    """Starts informers and keeps them running. ``namespaces`` are the watched ones; none means all."""

    def __init__(self, client: Client, namespaces: Sequence[str]) -> None:
        self.permissions = Permissions(client)
        self._client = client
        self._namespaces = tuple(namespaces) or ("",)
        self._running: dict[tuple[GVK, str, str], tuple[Informer, asyncio.Task[None]]] = {}
        self._forbidden: set[Informer] = set()
        self._required: set[Informer] = set()

    def watches(self, namespace: str) -> bool:
        """Whether objects in this namespace (empty: cluster-scoped) are watched."""
        return "" in self._namespaces or namespace in self._namespaces

    def ensure(
        self, resource: Resource, handler: Handler, label_selector: str = "", *, required: bool = True
    ) -> list[Informer]:
        """Report the changes of a kind, in all watched namespaces, to ``handler``.

        What is not ``required`` is not watched as long as RBAC forbids it; that is said once.
        """
        namespaces = self._namespaces if resource.namespaced else ("",)
        return [self._ensure(resource, namespace, label_selector, handler, required) for namespace in namespaces]

    def whole(self, group: str, version: str, plural: str, namespace: str) -> Informer | None:
        """The informer that holds all objects of a kind in a namespace (empty: everywhere), if there is one."""
        for (gvk, where, label_selector), (informer, _) in self._running.items():
            if (
                informer.resource.plural == plural
                and (gvk.group, gvk.version) == (group, version)
                and where in ("", namespace)
                and not label_selector
            ):
                return informer
        return None

    def _ensure(
        self, resource: Resource, namespace: str, label_selector: str, handler: Handler, required: bool
    ) -> Informer:
        key = (resource.gvk, namespace, label_selector)
        if key not in self._running:
            informer = Informer(self._client, resource, namespace, label_selector)
            work = informer.run() if required else self._run_if_allowed(informer)
            task = asyncio.create_task(work, name=f"informer {resource.gvk} {namespace}".rstrip())
            task.add_done_callback(_tell)
            self._running[key] = (informer, task)
        informer = self._running[key][0]
        if required:
            self._required.add(informer)
        informer.add_handler(handler)
        return informer

    async def _run_if_allowed(self, informer: Informer) -> None:
        resource, namespace = informer.resource, informer.namespace
        where = {"kind": str(resource.gvk), "namespace": namespace or "all namespaces"}

        def refused() -> None:
            self._forbidden.add(informer)
            log.warning("not watched: the operator may not list and watch this kind; once it may, it will", **where)

        await self.permissions.wait_to_watch(resource, namespace, refused)
        if informer in self._forbidden:
            self._forbidden.discard(informer)
            log.info("watched at last: the operator may list and watch this kind now", **where)
        await informer.run()

    def unsynced(self) -> list[Informer]:
        """Informers that have not read their first list yet."""
        return [
            informer
            for informer, _ in self._running.values()
            if not informer.synced.is_set() and informer not in self._forbidden
        ]

    def behind(self) -> str | None:
        """Why the objects of a required kind may not be what the server has, if that is so for one of them."""
        return next((reason for informer in self._required if (reason := informer.behind())), None)

    def stuck(self) -> str | None:
        """What is wrong with an informer that has ended, or makes no progress, which only a fault of ours can cause."""
        for informer, task in self._running.values():
            if task.done():
                return f"{task.get_name()} has ended"
            if (reason := informer.late()) is not None:
                return reason
        return None

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


def _tell(task: asyncio.Task[None]) -> None:
    """Log by what an informer has ended, if not by being cancelled."""
    error = None if task.cancelled() else task.exception()
    if error is not None:
        log.error("informer has ended by a fault of the operator", informer=task.get_name(), exc_info=error)
