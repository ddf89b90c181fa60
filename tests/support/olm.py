"""OLM as processes of the host, beside a local cluster: its two operators, and the server of a catalog.

Bundles may be inline: no image is pulled, and nothing of OLM runs in the cluster. Those in images are unpacked by a
Job, which takes a real node.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from localcluster import Cluster, build, pins
from localcluster.ports import free_port
from tests.support.api import Api
from tests.support.kinds import Kind
from tests.support.waiting import until

_GROUP = "operators.coreos.com"
SUBSCRIPTION = Kind(f"{_GROUP}/v1alpha1", "Subscription", "subscriptions")
CATALOG = Kind(f"{_GROUP}/v1alpha1", "CatalogSource", "catalogsources")
SERVICE_VERSION = Kind(f"{_GROUP}/v1alpha1", "ClusterServiceVersion", "clusterserviceversions")
INSTALL_PLAN = Kind(f"{_GROUP}/v1alpha1", "InstallPlan", "installplans")
OPERATOR_GROUP = Kind(f"{_GROUP}/v1", "OperatorGroup", "operatorgroups")
_CONFIG = Kind(f"{_GROUP}/v1", "OLMConfig", "olmconfigs", namespaced=False)

NAMESPACE = "olm"
CATALOG_NAME = "local"
PATIENCE = 240.0

Object = dict[str, Any]


class Olm:
    """OLM at work on a cluster, with one catalog. Ends its processes when it is left.

    ``unpacker`` is the image that unpacks those of bundles: with /bin/cp, /bin/cpb, and opm on its PATH.
    """

    def __init__(self, cluster: Cluster, directory: Path, catalog: str, unpacker: str = "") -> None:
        self.cluster, self.directory, self._unpacker = cluster, directory, unpacker
        self.api = Api.of_administrator(cluster)
        self.api.checks.append(self.check_alive)
        self._catalog = directory / "catalog" / "aitask-operator" / "catalog.yaml"
        self._catalog.parent.mkdir(parents=True)
        self._catalog.write_text(catalog)
        self._port = free_port([])
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> None:
        """End all processes."""
        for process in self._processes.values():
            process.kill()
        for process in self._processes.values():
            process.wait()

    def remove(self) -> None:
        """Take OLM off a cluster that others go on with: its kinds with all that is of them, and its namespace."""
        self.kubectl("delete", "-f", str(self._definitions()), "--timeout=240s")
        self.kubectl("delete", "namespace", NAMESPACE, "--timeout=240s")

    def kubectl(self, *arguments: str, stdin: str | None = None, check: bool = True) -> str:
        """As an administrator. Standard output, and standard error as well where failing is fine."""
        command = [str(self.cluster.kubectl), "--kubeconfig", str(self.cluster.kubeconfig), *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, timeout=300)
        assert not check or done.returncode == 0, done.stderr
        return done.stdout if check else done.stdout + done.stderr

    # --- what people do ---

    def serve(self, catalog: str) -> None:
        """Another catalog in the place of the present one, once OLM has seen it."""
        if self._catalog.read_text() == catalog:
            return
        before = _connected(self.api.get(CATALOG, CATALOG_NAME, NAMESPACE) or {})
        self._end("opm")
        self._catalog.write_text(catalog)
        self._serve()

        def read_anew(source: Object) -> bool:
            return _connected(source) not in ("", before)

        # A subscription that is resolved before this would see the catalog as it was.
        self.api.wait(CATALOG, CATALOG_NAME, NAMESPACE, read_anew, "connected again", PATIENCE)

    def subscribe(self, namespace: str, channel: str, targets: list[str] | None = None, **spec: Any) -> None:
        """Namespace, OperatorGroup (all namespaces, or those) and Subscription."""
        self.kubectl("create", "namespace", namespace)
        group = {"targetNamespaces": targets} if targets else {}
        self.api.create(OPERATOR_GROUP, OPERATOR_GROUP.object("operators", namespace, spec=group))
        wanted = {"channel": channel, "name": "aitask-operator", "source": CATALOG_NAME, "sourceNamespace": NAMESPACE}
        self.api.create(SUBSCRIPTION, SUBSCRIPTION.object("aitask", namespace, spec={**wanted, **spec}))

    def succeeded(self, namespace: str, name: str) -> Object:
        """The ClusterServiceVersion once it is installed; its Deployment is available then."""

        def installed(found: Object) -> bool:
            return bool(found.get("status", {}).get("phase") == "Succeeded")

        try:
            return self.api.wait(SERVICE_VERSION, name, namespace, installed, "Succeeded", PATIENCE)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.explained(namespace)}") from None

    def unsubscribe(self, namespace: str) -> None:
        """As OLM says it is done: the Subscription, then the ClusterServiceVersion."""
        self.api.delete(SUBSCRIPTION, "aitask", namespace)
        for found in self.api.list(SERVICE_VERSION, namespace):
            self.api.delete(SERVICE_VERSION, found["metadata"]["name"], namespace)

    def explained(self, namespace: str) -> str:
        """What OLM says of a namespace, for messages."""
        kinds = "subscriptions.operators.coreos.com,installplans,clusterserviceversions,deployments"
        said = self.kubectl("get", kinds, "-n", namespace, "-o", "yaml", "--show-managed-fields=false", check=False)
        logs = [f"{name}:\n{self._log(name)[-3000:]}" for name in self._processes]
        return "\n".join([*(line for line in said.splitlines() if "message:" in line or "reason:" in line), *logs])

    # --- processes ---

    def _start(self) -> None:
        for name in ("opm", *pins.LIFECYCLE_MANAGER):
            build.ensure_built(name, print)
        self.kubectl("apply", "--server-side", "-f", str(self._definitions()))
        for kind in (SUBSCRIPTION, CATALOG, SERVICE_VERSION, INSTALL_PLAN, OPERATOR_GROUP, _CONFIG):
            until(lambda kind=kind: self.api.serves(kind), f"{kind.kind} is served", PATIENCE)  # type: ignore[misc]
        self.kubectl("create", "namespace", NAMESPACE)
        self.api.create(_CONFIG, _CONFIG.object("cluster"))
        self._serve()
        named = {"OPERATOR_NAMESPACE": NAMESPACE, "OPERATOR_NAME": "olm-operator"}
        self._run("olm", ["--namespace", NAMESPACE, "--writeStatusName="], named)
        images = [f"--opmImage={self._unpacker}", f"--util-image={self._unpacker}"] if self._unpacker else []
        # As OLM is installed: what it unpacks with is no root.
        self._run("catalog", ["--namespace", NAMESPACE, "--writeStatusName=", "--set-workload-user-id", *images], {})
        address = {"sourceType": "grpc", "address": f"127.0.0.1:{self._port}", "displayName": "Local"}
        self.api.create(CATALOG, CATALOG.object(CATALOG_NAME, NAMESPACE, spec=address))
        self.api.wait(CATALOG, CATALOG_NAME, NAMESPACE, _connected, "connected", PATIENCE)

    def _definitions(self) -> Path:
        return build.definitions_path(build.built_path("olm"))

    def _serve(self) -> None:
        flags = ["serve", str(self._catalog.parents[1]), "--port", str(self._port), "--pprof-addr="]
        self._run("opm", [*flags, "--termination-log", str(self.directory / "opm.end")], {})
        until(lambda: "serving registry" in self._log("opm"), "the catalog is served", PATIENCE, [self.check_alive])

    def _run(self, name: str, arguments: list[str], environment: Mapping[str, str]) -> None:
        # A proxy of the surroundings is not meant for a port of this host, and gRPC would go through it.
        inherited = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
        with self._log_file(name).open("wb") as log:
            self._processes[name] = subprocess.Popen(
                [build.built_path(name), *arguments],
                cwd=self.directory,
                env={**inherited, "KUBECONFIG": str(self.cluster.kubeconfig), **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def _end(self, name: str) -> None:
        process = self._processes.pop(name)
        process.terminate()
        process.wait(60)

    def check_alive(self) -> None:
        for name, process in self._processes.items():
            if process.poll() is not None:
                raise AssertionError(f"{name} ended with status {process.returncode}:\n{self._log(name)[-3000:]}")

    def _log_file(self, name: str) -> Path:
        return self.directory / f"{name}.log"

    def _log(self, name: str) -> str:
        return self._log_file(name).read_text(errors="replace")


def _connected(source: Object) -> str:
    """Since when OLM has the catalog; empty while it has not."""
    state = source.get("status", {}).get("connectionState", {})
    return str(state.get("lastConnect", "")) if state.get("lastObservedState") == "READY" else ""
