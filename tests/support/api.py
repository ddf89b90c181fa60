"""A small client of the API server for tests, and conditions to wait for."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from localcluster import Cluster
from tests.support.kinds import Kind
from tests.support.waiting import Check, shown, until

Object = dict[str, Any]


class Refused(AssertionError):
    """The API server said no."""

    def __init__(self, method: str, path: str, status: int, body: str) -> None:
        super().__init__(f"{method} {path}: {status} {body[:1000]}")
        self.status = status


class Api:
    """Requests with one bearer token. ``checks`` are made while it waits: see ``waiting.until``."""

    def __init__(self, server: str, ca_file: Path, token: str) -> None:
        self.server = server
        self.checks: list[Check] = []
        self._token = token
        context = ssl.create_default_context(cafile=str(ca_file))
        handlers = urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        self._opener = urllib.request.build_opener(*handlers)

    @classmethod
    def of_administrator(cls, cluster: Cluster) -> Api:
        """A client with all rights."""
        return cls(cluster.server, cluster.ca_file, (cluster.directory / "admin.token").read_text())

    def raw(self, method: str, path: str, body: bytes | None = None, **headers: str) -> bytes:
        """The body of the answer. Raises Refused, with the status, for any that is no success."""
        sent = {"Content-Type": "application/json"} | {name.replace("_", "-"): text for name, text in headers.items()}
        if self._token:
            sent["Authorization"] = f"Bearer {self._token}"
        request = urllib.request.Request(self.server + path, data=body, headers=sent, method=method)
        try:
            with self._opener.open(request, timeout=90) as response:
                content: bytes = response.read()
                return content
        except urllib.error.HTTPError as error:
            with error:
                raise Refused(method, path, error.code, error.read().decode(errors="replace")) from None

    def request(self, method: str, path: str, body: Any = None, content_type: str = "application/json") -> Any:
        """JSON in, JSON out."""
        data = None if body is None else json.dumps(body).encode()
        return json.loads(self.raw(method, path, data, Content_Type=content_type))

    def serves(self, kind: Kind) -> bool:
        """Whether the kind can be listed; a fresh one answers 404 and 429 for a while."""
        try:
            self.list(kind)
        except Refused:
            return False
        return True

    def create(self, kind: Kind, obj: Object) -> Object:
        """Make an object and return it."""
        made: Object = self.request("POST", kind.path(obj["metadata"].get("namespace", "")), obj)
        return made

    def get(self, kind: Kind, name: str, namespace: str = "") -> Object | None:
        """The object, or None."""
        try:
            obj: Object = self.request("GET", kind.path(namespace, name))
        except Refused as error:
            if error.status == 404:
                return None
            raise
        return obj

    def list(self, kind: Kind, namespace: str = "") -> list[Object]:
        """All objects in a namespace."""
        items: list[Object] = self.request("GET", kind.path(namespace))["items"]
        return items

    def patch(self, kind: Kind, name: str, namespace: str, change: Any, subresource: str = "") -> Object:
        """A merge patch."""
        path = kind.path(namespace, name, subresource)
        changed: Object = self.request("PATCH", path, change, "application/merge-patch+json")
        return changed

    def delete(self, kind: Kind, name: str, namespace: str = "", **options: Any) -> None:
        """Ask for a deletion. It need not have happened when this returns."""
        self.request("DELETE", kind.path(namespace, name), options or None)

    def history(self, kind: Kind, name: str, namespace: str, since: Object) -> list[Object]:
        """Every state of an object after ``since``, which is an earlier state of it, up to now at least."""
        version = since["metadata"]["resourceVersion"]
        now = self.get(kind, name, namespace)
        assert now is not None
        if now["metadata"]["resourceVersion"] == version:
            return []
        query = f"?watch=1&timeoutSeconds=1&fieldSelector=metadata.name={name}&resourceVersion={version}"

        def states() -> list[Object]:
            """All of them, once the present one is among them: how much a watch tells in a second is chance."""
            lines = self.raw("GET", kind.path(namespace) + query).splitlines()
            told = [json.loads(line)["object"] for line in lines]
            versions = [state["metadata"]["resourceVersion"] for state in told]
            return told if now["metadata"]["resourceVersion"] in versions else []

        return until(states, f"the watch has told of {name} as it is")

    def changes(self, kind: Kind, name: str, namespace: str, version: str) -> Iterator[Object]:
        """The states of an object after that resource version, as they come, for a second."""
        query = f"?watch=1&timeoutSeconds=1&fieldSelector=metadata.name={name}&resourceVersion={version}"
        headers = {"Authorization": f"Bearer {self._token}"}
        request = urllib.request.Request(self.server + kind.path(namespace) + query, headers=headers)
        with self._opener.open(request, timeout=90) as response:
            for line in response:
                event = json.loads(line)
                if event["type"] == "ERROR":  # so long ago that the server no longer knows
                    present = self.get(kind, name, namespace)
                    yield from [present] if present is not None else []
                    return
                if event["type"] != "DELETED":
                    yield event["object"]

    def wait_for_state(
        self, kind: Kind, name: str, namespace: str, condition: Callable[[Object], Any], what: str, seconds: float
    ) -> Object:
        """Like ``wait``, but none of the states that the object goes through meanwhile is missed, however short."""
        last: Object | None = None

        def probe() -> Object | None:
            nonlocal last
            if last is None:
                last = self.get(kind, name, namespace)
                return last if last is not None and condition(last) else None
            for state in self.changes(kind, name, namespace, last["metadata"]["resourceVersion"]):
                last = state
                if condition(state):
                    return state
            return None

        try:
            return until(probe, f"{kind.kind} {namespace}/{name}: {what}", seconds, self.checks) or {}
        except AssertionError as error:
            raise AssertionError(f"{error}\nthe object: {shown(last)}") from None

    def wait(
        self,
        kind: Kind,
        name: str,
        namespace: str,
        condition: Callable[[Object], Any],
        what: str = "",
        seconds: float = 120.0,
    ) -> Object:
        """The object, once it is there and the condition holds."""
        last: Object | None = None

        def probe() -> Object | None:
            nonlocal last
            last = self.get(kind, name, namespace)
            return last if last is not None and condition(last) else None

        label = f"{kind.kind} {namespace}/{name}: {what or getattr(condition, '__doc__', '') or 'condition holds'}"
        try:
            return until(probe, label, seconds, self.checks) or {}
        except AssertionError as error:
            raise AssertionError(f"{error}\nthe object: {shown(last)}") from None

    def wait_gone(self, kind: Kind, name: str, namespace: str = "", seconds: float = 120.0) -> None:
        """Wait until the object is no longer there."""
        last: Object | None = None

        def probe() -> bool:
            nonlocal last
            last = self.get(kind, name, namespace)
            return last is None

        try:
            until(probe, f"{kind.kind} {namespace}/{name} is gone", seconds, self.checks)
        except AssertionError as error:
            raise AssertionError(f"{error}\nthe object: {shown(last)}") from None


def conditions(obj: Object) -> dict[str, Object]:
    """The status conditions by type."""
    return {condition["type"]: condition for condition in (obj.get("status") or {}).get("conditions") or ()}


def state(obj: Object, condition_type: str) -> str | None:
    """The status of one condition."""
    found = conditions(obj).get(condition_type)
    return found["status"] if found else None


def succeeded(obj: Object) -> bool:
    """its last run succeeded"""
    running = conditions(obj).get("Running", {})
    return state(obj, "Successful") == "True" and running.get("reason") == "Successful"


def succeeded_at_generation(obj: Object) -> bool:
    """a run of its present generation succeeded"""
    seen = conditions(obj).get("Successful", {}).get("observedGeneration")
    return succeeded(obj) and seen == obj["metadata"]["generation"]


def failed(obj: Object) -> bool:
    """its last run failed"""
    return state(obj, "Failure") == "True"
