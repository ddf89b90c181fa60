"""The role as the operator runs it: with the variables it passes, and with the ServiceAccount and rights it ships."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.support.audit_log import entries
from tests.support.waiting import PATIENCE, until

ROOT = Path(__file__).parents[2]
ACCOUNT = ("aitask-operator-system", "aitask-operator-controller-manager")
PLAY = "- hosts: localhost\n  connection: local\n  gather_facts: false\n  roles: [aitask]\n"


@dataclass
class Pass:
    """What one run of the role did."""

    code: int
    output: str
    requests: list[dict[str, Any]]
    """Requests for resources by the operator's account, as the API server logged them; discovery left out."""

    @property
    def executed(self) -> int:
        found = re.search(r"localhost +: ok=(\d+) .*?failed=(\d+)", self.output)
        assert found, self.output
        return int(found[1]) + int(found[2])

    @property
    def requeue(self) -> str | None:
        found = re.search(r'"period": "(\w+)"', self.output)
        return found[1] if found else None

    def writes(self, resource: str) -> list[dict[str, Any]]:
        return [request for request in self._changes(resource) if "dryRun=All" not in request["uri"]]

    def rehearsals(self, resource: str) -> list[dict[str, Any]]:
        return [request for request in self._changes(resource) if "dryRun=All" in request["uri"]]

    def _changes(self, resource: str) -> list[dict[str, Any]]:
        return [r for r in self.requests if r["verb"] in ("create", "patch", "update") and r["resource"] == resource]


class Lab:
    """A namespace with a Deployment `web` and whatever a test puts there."""

    def __init__(self, cluster: Any, namespace: str, kubeconfig: Path, directory: Path) -> None:
        self.cluster, self.namespace, self.kubeconfig, self.directory = cluster, namespace, kubeconfig, directory
        self.start_clock()

    def start_clock(self) -> None:
        """The time that passes see; it moves only by `later`."""
        self.now = datetime.now(UTC).replace(microsecond=0)

    def kubectl(self, *arguments: str, manifest: Any = None, check: bool = True, user: str = "") -> str:
        command = [str(self.cluster.kubectl), "--kubeconfig", str(self.cluster.kubeconfig), "-n", self.namespace]
        command += ["--as", user] if user else []
        text = None if manifest is None else json.dumps(manifest)
        done = subprocess.run([*command, *arguments], input=text, capture_output=True, text=True, check=False)
        if check and done.returncode:
            raise AssertionError(f"kubectl {' '.join(arguments)}: {done.stderr}")
        return done.stdout if check else done.stdout + done.stderr

    def get(self, kind: str, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.kubectl("get", kind, name, "-o", "json"))
        return found

    def apply(self, manifest: dict[str, Any]) -> None:
        self.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", manifest=manifest)

    def task(self, name: str = "t", **spec: Any) -> str:
        full = {"targetDeployment": "web", "threshold": 80, "action": "scale-up", **spec}
        self.apply({"apiVersion": "aiops.example.com/v1", "kind": "AITask", "metadata": {"name": name}, "spec": full})
        return name

    def own_rails(self, settings: Any) -> None:
        """A configuration and a ledger in this namespace, which the operator's account may use here as it may in its
        own; they are used by a role whose `aitask_operator_namespace` is this one."""
        metadata, kind = {"name": "aitask-operator-config"}, {"apiVersion": "v1", "kind": "ConfigMap"}
        self.apply({**kind, "metadata": metadata, "data": {"config.yaml": json.dumps(settings)}})
        self.apply({**kind, "metadata": {"name": "aitask-ledger"}})
        self.kubectl("create", "role", "rails", "--verb=get,update", "--resource=configmaps")
        account = f"--serviceaccount={':'.join(ACCOUNT)}"
        self.kubectl("create", "rolebinding", "rails", "--role=rails", account)
        self._until_allowed("update", "configmaps")

    def let_store(self) -> None:
        """What whoever wants backups in a namespace does there: the right to the stores is not bound by default."""
        role, account = "--clusterrole=aitask-operator-backup-store-role", f"--serviceaccount={':'.join(ACCOUNT)}"
        self.kubectl("create", "rolebinding", "aitask-backup-store", role, account)
        self._until_allowed("create", "secrets")

    def let_read_logs(self) -> None:
        """What whoever wants logs to be sent to a language model does in his namespace."""
        role, account = "--clusterrole=aitask-operator-log-reader-role", f"--serviceaccount={':'.join(ACCOUNT)}"
        self.kubectl("create", "rolebinding", "aitask-log-reader", role, account)
        self._until_allowed("get", "pods", "--subresource=log")

    def _until_allowed(self, *right: str) -> None:
        """The server takes a moment to know of a binding."""
        may, user = ("auth", "can-i", *right), "system:serviceaccount:" + ":".join(ACCOUNT)
        until(lambda: self.kubectl(*may, check=False, user=user).startswith("yes"), "the right is there")

    def pods(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.kubectl("get", "pods", "-l", "app=web", "-o", "json"))["items"]
        return found

    def use(self, cpu: str) -> None:
        """Metrics of every pod, as a metrics server would show them now."""
        names = [pod["metadata"]["name"] for pod in self.pods()]
        metrics = [
            {
                "apiVersion": "metrics.k8s.io/v1beta1",
                "kind": "PodMetrics",
                "metadata": {"name": name, "labels": {"app": "web"}},
                "timestamp": stamp(self.now),
                "window": "15s",
                "containers": [{"name": "web", "usage": {"cpu": cpu, "memory": "32Mi"}}],
            }
            for name in names
        ]
        self.apply({"apiVersion": "v1", "kind": "List", "items": metrics})

    def settled(self, replicas: int = 3) -> None:
        """Until the Deployment is as it should be and its ready pods are there: seconds with kwok."""

        def reached() -> bool:
            found = self.get("deployment", "web")
            status = found.get("status", {})
            numbers = [status.get(key, 0) for key in ("replicas", "updatedReplicas", "availableReplicas")]
            progress = {c["type"]: c["reason"] for c in status.get("conditions", [])}.get("Progressing")
            seen = status.get("observedGeneration") == found["metadata"]["generation"]
            return numbers == [replicas] * 3 and seen and progress == "NewReplicaSetAvailable"

        wait_for(reached)

    def status(self, name: str = "t") -> dict[str, Any]:
        found: dict[str, Any] = self.get("aitask", name).get("status", {})
        return found

    def condition(self, kind: str, name: str = "t") -> tuple[str, str]:
        entry = next((c for c in self.status(name).get("conditions", []) if c["type"] == kind), {})
        return entry.get("status", ""), entry.get("reason", "")

    def events(self) -> list[tuple[str, str]]:
        items = json.loads(self.kubectl("get", "events", "-o", "json"))["items"]
        own = [item for item in items if item.get("reportingComponent") == "aitask-operator"]
        return sorted((item["involvedObject"]["kind"], item["reason"]) for item in own)

    def run(
        self,
        name: str = "t",
        *,
        task: Any = None,
        kubeconfig: Path | None = None,
        fails: bool = False,
        **variables: Any,
    ) -> Pass:
        """One pass, as the operator starts it (markUnsafe, manageStatus: false)."""
        task = task or self.get("aitask", name)
        extra = {
            **unsafe({snake(key): value for key, value in task["spec"].items()}),
            "ansible_operator_meta": {"name": name, "namespace": self.namespace},
            "_aiops_example_com_aitask": unsafe(task),
            "_aiops_example_com_aitask_spec": unsafe(task["spec"]),
            "aitask_now": stamp(self.now),
            "aitask_min_pod_age_seconds": 0,
            **variables,
        }
        play, extravars = self.directory / "play.yml", self.directory / "extravars.json"
        play.write_text(PLAY)
        extravars.write_text(json.dumps(extra))
        done = self.playbook(play, "-e", f"@{extravars}", kubeconfig=kubeconfig)
        assert (done.code != 0) == fails, done.output
        return done

    def playbook(self, play: Path, *arguments: str, kubeconfig: Path | None = None) -> Pass:
        before = self.cluster.audit_log.stat().st_size
        environment = {
            **os.environ,
            "K8S_AUTH_KUBECONFIG": str(kubeconfig or self.kubeconfig),
            "ANSIBLE_ROLES_PATH": str(ROOT / "roles"),
            "ANSIBLE_COLLECTIONS_PATH": f"{ROOT / '.collections'}:{ROOT / 'src/ansible_operator/collections'}",
            "ANSIBLE_LOCAL_TEMP": str(self.directory / "tmp"),
            "ANSIBLE_REMOTE_TEMP": str(self.directory / "remote"),
            "ANSIBLE_NOCOLOR": "1",
        }
        program = [sys.executable, "-m", "ansible", "playbook", "-v", "-i", "localhost,", str(play)]
        interpreter = ("-e", f"ansible_python_interpreter={sys.executable}")
        done = subprocess.run(
            [*program, *interpreter, *arguments], capture_output=True, text=True, env=environment, check=False, cwd=ROOT
        )
        return Pass(done.returncode, done.stdout + done.stderr, self._log(before))

    def _log(self, since: int) -> list[dict[str, Any]]:
        user = "system:serviceaccount:" + ":".join(ACCOUNT)
        return [
            {
                "verb": entry["verb"],
                "resource": "/".join(filter(None, (e["resource"], e.get("subresource")))),
                "uri": entry["requestURI"],
                "code": entry["responseStatus"]["code"],
            }
            for entry in entries(self.cluster.audit_log, since, user)
            if (e := entry.get("objectRef"))
            and entry["user"]["username"] == user
            and any(f"namespaces/{name}/" in entry["requestURI"] for name in (self.namespace, ACCOUNT[0]))
        ]


def stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def later(lab: Lab, seconds: float) -> None:
    lab.now += timedelta(seconds=seconds)


def snake(name: str) -> str:
    return re.sub("([A-Z])", lambda found: f"_{found[1].lower()}", name)


def unsafe(value: Any) -> Any:
    """As markUnsafe has it."""
    if isinstance(value, dict):
        return {key: unsafe(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [unsafe(inner) for inner in value]
    return {"__ansible_unsafe": value} if isinstance(value, str) else value


def wait_for(reached: Callable[[], bool], seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < end, "not reached in time"
        time.sleep(0.1)
