"""Notices when the API server begins to serve something else: watches CRDs and APIServices, as far as RBAC lets us.

Keeps nothing of them: a schema may be a megabyte, and that it has changed is all there is to know.
"""

from __future__ import annotations

import asyncio
import random
from functools import partial

from ansible_operator.kube.access import Permissions
from ansible_operator.kube.client import Client
from ansible_operator.kube.informer import SILENCE_SECONDS, WATCH_SECONDS
from ansible_operator.kube.served import Served
from ansible_operator.model.errors import ApiError
from ansible_operator.model.gvk import GVK, Resource
from ansible_operator.telemetry.logs import get_logger

log = get_logger("discovery")

_NO_VERBS: frozenset[str] = frozenset()
DEFINITIONS = (
    Resource(
        GVK("apiextensions.k8s.io", "v1", "CustomResourceDefinition"), "customresourcedefinitions", False, _NO_VERBS
    ),
    Resource(GVK("apiregistration.k8s.io", "v1", "APIService"), "apiservices", False, _NO_VERBS),
)
_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
_BACKOFF = (1.0, 60.0)
_PAUSE = 0.2
_ALIVE_SECONDS = 90.0


def is_definition(group: str, plural: str) -> bool:
    """Whether objects of this kind decide what is served."""
    return any((definition.gvk.group, definition.plural) == (group, plural) for definition in DEFINITIONS)


class DefinitionWatch:
    """Tells ``served`` of every change while ``run`` runs."""

    def __init__(self, client: Client, served: Served, permissions: Permissions) -> None:
        self._client = client
        self._served = served
        self._permissions = permissions
        self._heard: dict[Resource, float] = {}
        served.watched = self.watching

    def watching(self) -> bool:
        """Whether both kinds are watched, and their watches are alive: the API server says so once a minute."""
        heard = [self._heard.get(resource, float("-inf")) for resource in DEFINITIONS]
        return self._served.now() - min(heard) < _ALIVE_SECONDS

    async def run(self) -> None:
        """Watch until cancelled, as soon as RBAC lets us watch both kinds."""
        for resource in DEFINITIONS:
            await self._permissions.wait_to_watch(resource, "", partial(_say_forbidden, resource))
        await asyncio.gather(*(self._follow(resource) for resource in DEFINITIONS))

    async def _follow(self, resource: Resource) -> None:
        failures = 0
        version = ""
        while True:
            try:
                version = await self._watch(resource, version or await self._begin(resource))
                failures = 0
                await asyncio.sleep(_PAUSE)
            except (LookupError, TypeError, ValueError, ApiError) as error:  # or an answer that is none
                self._heard.pop(resource, None)
                version = ""
                failures += 1
                log.debug("changes of the API are not seen", resource=resource.plural, error=str(error))
                delay = min(_BACKOFF[0] * 2.0 ** (failures - 1), _BACKOFF[1]) * random.uniform(0.5, 1.0)  # noqa: S311
                await asyncio.sleep(max(delay, getattr(error, "retry_after", None) or 0.0))

    async def _begin(self, resource: Resource) -> str:
        """Where to watch from. What was kept before that is given up."""
        page = await self._client.request("GET", resource.path(), params={"limit": "1"})
        self._served.changed()
        self._heard[resource] = self._served.now()
        return str(page["metadata"]["resourceVersion"])

    async def _watch(self, resource: Resource, version: str) -> str:
        """Follow one watch to its end; returns where the next one begins."""
        params = {
            "resourceVersion": version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(WATCH_SECONDS),
        }
        async for event in self._client.watch(resource.path(), params, SILENCE_SECONDS, _METADATA):
            obj = event["object"]
            if event["type"] == "ERROR":
                raise ApiError.of(int(obj.get("code", 0)), obj.get("reason", ""), obj.get("message", "watch failed"))
            if event["type"] != "BOOKMARK":
                self._served.changed()
            self._heard[resource] = self._served.now()
            version = obj["metadata"]["resourceVersion"]
        return version


def _say_forbidden(resource: Resource) -> None:
    log.debug("changes of the API are looked for every few seconds", forbidden=resource.plural)
