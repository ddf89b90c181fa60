"""The order in which a cluster comes up, and what "ready" means.

etcd, then the API server; the rest together as soon as it listens. Ready is: all health endpoints say so, the node is
Ready and the ServiceAccount `default` exists, because without either a test's first pod is refused or stays pending.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from localcluster import components
from localcluster.access import token_file, write_kubeconfigs
from localcluster.api import Api, answers, opener
from localcluster.children import Children
from localcluster.errors import ApiError, ClusterError, StartError
from localcluster.layout import Layout
from localcluster.spec import Spec

_POLL_SECONDS = 0.05
_DEFAULT_ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"


class BringUp:
    """`check` is called while waiting; it raises when the start is to be given up."""

    def __init__(
        self, layout: Layout, spec: Spec, children: Children, progress: Callable[[str], None], check: Callable[[], None]
    ) -> None:
        self._layout = layout
        self._spec = spec
        self._children = children
        self._progress = progress
        self._check = check
        self._began = time.monotonic()
        self._plain = opener(None)
        self._secure = opener(layout.ca_file)

    def run(self) -> str:
        """Returns the server's URL when everything is ready; StartError otherwise."""
        layout = self._layout
        self._children.launch(components.etcd(layout))
        self._wait({"etcd": partial(self._healthy, "etcd")})
        etcd_port = self._children["etcd"].ports[0]
        self._children.launch(self._api_server(etcd_port))
        self._wait({"port of kube-apiserver": self._server_listens})
        server = f"https://{self._spec.address}:{self._children['kube-apiserver'].ports[0]}"
        write_kubeconfigs(layout, server)
        self._launch_clients()
        self._wait(self._conditions(Api(server, layout.ca_file, token_file(layout, "admin").read_text())))
        return server

    def _api_server(self, etcd_port: int) -> components.Component:
        return components.api_server(self._layout, etcd_port, audit=self._spec.audit, address=self._spec.address)

    def _launch_clients(self) -> None:
        self._children.launch(components.controller_manager(self._layout))
        if self._spec.scheduler:
            self._children.launch(components.scheduler(self._layout))
        if self._spec.kwok:
            self._children.launch(components.kwok(self._layout, Path(self._spec.stages)))

    def _conditions(self, api: Api) -> dict[str, Callable[[], bool]]:
        names = ["kube-apiserver", "kube-controller-manager"]
        names += ["kube-scheduler"] if self._spec.scheduler else []
        names += ["kwok"] if self._spec.kwok else []
        conditions: dict[str, Callable[[], bool]] = {name: partial(self._healthy, name) for name in names}
        conditions["ServiceAccount default"] = partial(api.succeeds, _DEFAULT_ACCOUNT)
        if self._spec.kwok:
            conditions[f"Node {components.NODE_NAME}"] = partial(_node_ready, api)
        return conditions

    def _healthy(self, name: str) -> bool:
        url = self._children[name].health()
        return answers(self._secure if url.startswith("https") else self._plain, url)

    def _server_listens(self) -> bool:
        try:
            socket.create_connection((self._spec.address, self._children["kube-apiserver"].ports[0]), timeout=1).close()
        except OSError:
            return False
        return True

    def _wait(self, conditions: dict[str, Callable[[], bool]]) -> None:
        pending = dict(conditions)
        while True:
            self._check()
            self._children.relaunch_or_raise()
            for name in [name for name, holds in pending.items() if holds()]:
                del pending[name]
                self._progress(f"{name}: ready after {time.monotonic() - self._began:.1f} s")
            if not pending:
                return
            if time.monotonic() - self._began > self._spec.start_seconds:
                raise StartError(self._too_late(list(pending)))
            time.sleep(_POLL_SECONDS)

    def _too_late(self, pending: list[str]) -> str:
        named = [name.split()[-1] for name in pending]  # the node and the account are the controller-manager's work
        first = next((name for name in named if self._layout.log(name).exists()), "kube-controller-manager")
        waited = f"is not ready after {self._spec.start_seconds:g} s (still waiting for {', '.join(pending)})"
        return self._children.describe(first, waited)


def _node_ready(api: Api) -> bool:
    """Creates the node when it is not there yet: the API server refuses that for a moment after it began to listen."""
    try:
        node = api.request("GET", f"/api/v1/nodes/{components.NODE_NAME}")
    except ApiError as error:
        if error.status == 404:
            _create_node(api)
        return False
    except ClusterError:
        return False
    conditions = node.get("status", {}).get("conditions", [])
    tainted = bool(node.get("spec", {}).get("taints"))  # new nodes carry `not-ready` until the controller-manager looks
    return not tainted and any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def _create_node(api: Api) -> None:
    with contextlib.suppress(ClusterError):  # not ready for it yet: the next round tries again
        api.request("POST", "/api/v1/nodes", components.node_manifest())
