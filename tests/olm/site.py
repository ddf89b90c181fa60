"""An install by OLM: the operator that it made is pretended by kwok, and runs as a process with the same account."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from olmbundle.catalog import Entry
from olmbundle.files import parsed
from olmbundle.release import ROOT
from tests.behaviour.conftest import start_operator
from tests.behaviour.scene import AITASK, ALWAYS, POD, requests
from tests.roles.conftest import RELAXED
from tests.support.api import Api, Object, Refused
from tests.support.audit_log import entries
from tests.support.kinds import CRD, DEPLOYMENT, Kind
from tests.support.olm import INSTALL_PLAN, PATIENCE, SUBSCRIPTION, Olm
from tests.support.operator import OperatorProcess
from tests.support.waiting import until

ACCOUNT = "aitask-operator-controller-manager"
LABEL = "olm"
BACKUP = Kind("aiops.example.com/v1", "AITaskBackup", "aitaskbackups")
RESTORE = Kind("aiops.example.com/v1", "AITaskRestore", "aitaskrestores")
_WRITES = ("create", "update", "patch", "delete")
_LABELS = {"app": "web"}
_TEMPLATE = {
    "metadata": {"labels": _LABELS},
    "spec": {"containers": [{"name": "web", "image": "registry.k8s.io/pause:3.10", "resources": requests()}]},
}
# Of all kinds these tell of what happened; the API server throws them away by itself.
_RECORDS = ("events", "events.events.k8s.io")


class Site:
    """What OLM installs, and what people make around it."""

    def __init__(self, olm: Olm, directory: Path) -> None:
        self.olm, self.cluster, self.directory = olm, olm.cluster, directory
        self.api = Api.of_administrator(self.cluster)
        self.api.checks.append(olm.check_alive)
        self._began = self.cluster.audit_log.stat().st_size
        self._operators: list[OperatorProcess] = []
        self._namespaces: list[str] = []

    def clean_up(self) -> None:
        for operator in self._operators:
            operator.clean_up()
        for namespace in self._namespaces:
            with suppress(Refused):
                self.olm.unsubscribe(namespace)
        kinds = [one["metadata"]["name"] for one in self.api.list(CRD)]
        ours = [f"crd/{name}" for name in kinds if name.endswith(".aiops.example.com")]
        names = [*ours, *(f"namespace/{name}" for name in self._namespaces)]
        if names:
            self.olm.kubectl("delete", "--ignore-not-found", "--timeout=240s", *names)
        self.olm.kubectl("delete", "clusterroles", "-l", "app.kubernetes.io/part-of=aitask-operator")
        self.olm.kubectl("delete", "operators.operators.coreos.com", "--all")

    # --- what people do ---

    def subscribe(self, namespace: str, targets: list[str] | None = None, **spec: Any) -> None:
        """A Subscription to all releases, and what no bundle holds: the ledger, and limits that let tests be."""
        self._namespaces.append(namespace)
        self.olm.subscribe(namespace, "alpha", targets, **spec)
        self.olm.kubectl("create", "configmap", "aitask-ledger", "-n", namespace)
        settings = json.dumps(RELAXED)
        self.olm.kubectl(
            "create", "configmap", "aitask-operator-config", "-n", namespace, f"--from-literal=config.yaml={settings}"
        )

    def installed(self, namespace: str, name: str) -> float:
        """Seconds from the Subscription to a ClusterServiceVersion that succeeded, by the API server's times."""
        began = self.api.get(SUBSCRIPTION, "aitask", namespace)
        found = self.olm.succeeded(namespace, name)
        assert began is not None
        times = found["status"]["lastTransitionTime"], began["metadata"]["creationTimestamp"]
        ended, started = map(datetime.fromisoformat, times)
        return (ended - started).total_seconds()

    def plan(self, namespace: str, name: str) -> Object:
        """The InstallPlan for a ClusterServiceVersion, once OLM has made it and waits or works."""

        def made() -> Object | None:
            plans = self.api.list(INSTALL_PLAN, namespace)
            found = [one for one in plans if name in one["spec"]["clusterServiceVersionNames"] and "status" in one]
            return found[0] if found else None

        return until(made, f"a plan for {name}", PATIENCE, self.api.checks) or {}

    def approve(self, namespace: str, name: str) -> None:
        plan = self.plan(namespace, name)["metadata"]["name"]
        self.api.patch(INSTALL_PLAN, plan, namespace, {"spec": {"approved": True}})

    def workplace(self, namespace: str) -> None:
        """A namespace with a Deployment of somebody."""
        self._namespaces.append(namespace)
        self.olm.kubectl("create", "namespace", namespace)
        spec = {"replicas": 1, "selector": {"matchLabels": _LABELS}, "template": _TEMPLATE}
        self.api.create(DEPLOYMENT, DEPLOYMENT.object("adopted", namespace, spec=spec))

    def task(self, namespace: str, target: str = "adopted", **spec: Any) -> None:
        """A task that acts once: the next act is an hour away, as times are scaled here."""
        policy = {"cooldownSeconds": 36000}
        full = {"targetDeployment": target, "action": "restart", "intervalSeconds": 10, "policy": policy, **ALWAYS}
        metadata = {"labels": {"test.example.com/operator": LABEL}}
        body = AITASK.object(target, namespace, metadata=metadata, spec={**full, **spec})
        until(lambda: self._made(body), "the guard and the kind are served", PATIENCE)

    def _made(self, body: Object) -> bool:
        try:
            self.api.create(AITASK, body)
        except Refused:
            return False
        return True

    def owning_task(self, namespace: str) -> None:
        self.task(namespace, "owned", template=_TEMPLATE)

    def back_up(self, home: str, namespace: str) -> None:
        """A backup of the tasks of a namespace, and a restore that only says what it would do; both have ended."""
        role = "--clusterrole=aitask-operator-backup-store-role", f"--serviceaccount={home}:{ACCOUNT}"
        self.olm.kubectl("create", "rolebinding", "aitask-backup-store", "-n", namespace, *role)
        metadata = {"labels": {"test.example.com/operator": LABEL}}
        for kind, spec in ((BACKUP, {}), (RESTORE, {"backupName": "b", "existingPolicy": "Skip", "dryRun": True})):
            self.api.create(kind, kind.object("b", namespace, metadata=metadata, spec=spec))
            self.api.wait(kind, "b", namespace, _is_completed, "Completed", PATIENCE)

    # --- the operator ---

    def operator(self, namespace: str, root: Path = ROOT) -> OperatorProcess:
        """The operator of that source tree, where OLM wants it: with the account, the flags for the leader's lease and
        the namespaces of the pod that OLM's Deployment made."""
        watched = self.pod(namespace)["metadata"]["annotations"]["olm.targetNamespaces"]
        directory = self.directory / f"operator-{len(self._operators)}"
        directory.mkdir()
        kubeconfig = self.cluster.service_account_kubeconfig(namespace, ACCOUNT, directory / "kubeconfig")
        flags = "--leader-elect", "--leader-election-id=aitask-operator", f"--leader-election-namespace={namespace}"
        started = start_operator(
            self.cluster,
            directory,
            kubeconfig,
            *flags,
            label=LABEL,
            namespaces=watched,
            root=root,
            POD_NAMESPACE=namespace,
        )
        self._operators.append(started)
        self.api.checks.append(started.check_alive)
        started.wait_ready()
        return started

    def stop(self, operator: OperatorProcess) -> None:
        assert operator.stop() == 0
        assert operator.complaints() == []

    def pod(self, namespace: str) -> Object:
        """The one pod of the operator's Deployment that is not going."""

        def only() -> Object | None:
            pods = [pod for pod in self.api.list(POD, namespace) if "deletionTimestamp" not in pod["metadata"]]
            return pods[0] if len(pods) == 1 and pods[0]["status"].get("phase") == "Running" else None

        found = until(only, "one pod of the operator runs", PATIENCE)
        assert found is not None
        return found

    # --- what is seen ---

    def wait_task(self, namespace: str, name: str, what: str, seconds: float = PATIENCE) -> Object:
        return self.api.wait(AITASK, name, namespace, _HAPPENED[what], what, seconds)

    def evaluations(self, namespace: str, name: str, times: int = 3) -> Object:
        """The task after it was evaluated that many times more."""
        seen = set()

        def enough() -> Object | None:
            found = self.api.get(AITASK, name, namespace) or {}
            seen.add(found.get("status", {}).get("lastExecutionTime"))
            return found if len(seen) > times else None

        return until(enough, f"{times} evaluations of {name}", PATIENCE, self.api.checks) or {}

    def acts(self, *namespaces: str) -> list[tuple[str, str]]:
        """Verb and Deployment of what operators of this site changed in these namespaces; rehearsals left out."""
        return [
            (entry["verb"], f"{entry['objectRef']['namespace']}/{entry['objectRef'].get('name', '')}")
            for entry in entries(self.cluster.audit_log, self._began, ACCOUNT)
            if entry["user"]["username"].endswith(f":{ACCOUNT}")
            and entry.get("objectRef", {}).get("resource") == "deployments"
            and entry["objectRef"].get("namespace") in namespaces
            and entry["verb"] in _WRITES
            and entry["responseStatus"]["code"] < 300
            and "dryRun" not in entry["requestURI"]
        ]

    def operands(self, namespace: str) -> list[tuple[str, str, int]]:
        """Name, UID and generation of Deployments; the generation moves with any change of their specs."""
        found = (one["metadata"] for one in self.api.list(DEPLOYMENT, namespace))
        return sorted((one["name"], one["uid"], one["generation"]) for one in found)

    def pods(self, namespace: str) -> set[str]:
        """UIDs."""
        return {one["metadata"]["uid"] for one in self.api.list(POD, namespace)}

    def until_left(self, expected: set[str]) -> None:
        """Wait until nothing else that names the operator is left. What goes with its owner takes a while."""
        try:
            until(lambda: self.left("aitask-operator") == expected, "nothing else is left", PATIENCE)
        except AssertionError as error:
            found = self.left("aitask-operator")
            wrong = f"too many: {sorted(found - expected)}, gone: {sorted(expected - found)}"
            raise AssertionError(f"{error}\n{wrong}") from None

    def left(self, *words: str) -> set[str]:
        """Kind, namespace and name of every object anywhere that has one of these words in it."""
        kinds = self.olm.kubectl("api-resources", "--verbs=list", "--output=name").split()
        wanted = ",".join(kind for kind in kinds if kind not in _RECORDS)
        said = self.olm.kubectl("get", wanted, "-A", "-o", "json", check=False)
        if not said.startswith("{"):  # a kind that is just going may still be named
            return {said}
        listed, _ = json.JSONDecoder().raw_decode(said)
        return {
            f"{one['kind']} {one['metadata'].get('namespace', '')}/{one['metadata']['name']}"
            for one in listed["items"]
            if any(word in json.dumps(_without_managers(one)) for word in words)
        }


def always_left(entry: Entry) -> set[str]:
    """What OLM leaves at any uninstall: definitions, and roles of the bundle that are for people."""
    kinds = ("CustomResourceDefinition", "ClusterRole")
    return {f"{one['kind']} /{one['metadata']['name']}" for one in parsed(entry.files) if one["kind"] in kinds}


def _without_managers(found: Object) -> Object:
    return {**found, "metadata": {key: value for key, value in found["metadata"].items() if key != "managedFields"}}


def _has_acted(task: Object) -> bool:
    return bool(task.get("status", {}).get("lastAction", {}).get("result") == "Succeeded")


def _is_completed(found: Object) -> bool:
    return bool(found.get("status", {}).get("phase") == "Completed")


_HAPPENED = {"acted": _has_acted, "evaluated": lambda task: bool(task.get("status", {}).get("lastExecutionTime"))}
