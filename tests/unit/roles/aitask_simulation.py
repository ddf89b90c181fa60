"""A cluster of one task and one Deployment, in memory: what the tasks of the role do, without Ansible and without time.

It stands for the API server where only the rules are under test: merge patches on the status, guarded patches on the
target. Whether the real server behaves so is what tests/roles is for.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aitask_ledger
import yaml
from aitask_rules import plan_pass
from jsonschema import Draft202012Validator

_CRD = Path(__file__).parents[3] / "config/crd/bases/aiops.example.com_aitasks.yaml"
_VERSION = yaml.safe_load(_CRD.read_text())["spec"]["versions"][0]
STATUS = Draft202012Validator(_VERSION["schema"]["openAPIV3Schema"]["properties"]["status"])
"""What the API server accepts as the status of a task; one fault, and it refuses the whole."""
START = datetime(2026, 1, 31, 10, 0, 0, tzinfo=UTC)


def stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def merge(target: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, Mapping):
        return copy.deepcopy(patch)
    result = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


class LedgerObject:
    """The ConfigMap of the ledger, as the module sees it: written only by who has read its last version."""

    def __init__(self) -> None:
        self.data: dict[str, str] | None = None
        self.version = 1
        self.exists = True
        self.breached: dict[str, int] = {}
        self.tasks = 1
        self.counts = 0
        self.before_write: Any = None

    def read(self) -> dict[str, Any]:
        if not self.exists:
            raise LedgerRefusal(404)
        return {"metadata": {"resourceVersion": self.version}, "data": copy.deepcopy(self.data)}

    def write(self, ledger: dict[str, Any]) -> bool:
        if self.before_write is not None:
            self.before_write()
        if ledger["metadata"]["resourceVersion"] != self.version:
            return False
        self.data, self.version = ledger["data"], self.version + 1
        return True

    def count(self) -> tuple[dict[str, int], int]:
        self.counts += 1
        return self.breached, self.tasks

    @property
    def acts(self) -> list[dict[str, str]]:
        """What is written down."""
        found: list[dict[str, str]] = json.loads((self.data or {aitask_ledger.KEY: "{}"})[aitask_ledger.KEY]).get(
            "acts", []
        )
        return found


class LedgerRefusal(Exception):
    """An answer of the API server that is none of the expected."""

    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}")
        self.status = status


class World:
    """The cluster, the clock, and the operator's way through a pass."""

    def __init__(self, replicas: int = 3, **spec: Any) -> None:
        self.now = START
        self.version = 100
        self.task: dict[str, Any] = {
            "metadata": {
                "name": "t",
                "namespace": "ns",
                "uid": "task-uid",
                "generation": 1,
                "creationTimestamp": stamp(START),
                "annotations": {},
            },
            "spec": {"targetDeployment": "web", "threshold": 80, "action": "scale-up", **spec},
        }
        self.deployment: dict[str, Any] | None = deployment(replicas)
        self.cpu: str | None = "50m"
        self.metrics_time: datetime | None = None
        self.pods: list[dict[str, Any]] | None = None
        self.pod_metrics: list[dict[str, Any]] | None = None
        self.others: list[dict[str, Any]] = []
        self.autoscalers: list[dict[str, Any]] = []
        self.scaled_objects: list[dict[str, Any]] = []
        self.replica_sets: list[dict[str, Any]] = []
        self.guard = True
        self.require_guard = True
        self.settings: dict[str, Any] = {"resources": []}
        self.told: list[dict[str, Any]] = []
        self.log: dict[str, Any] = {"log": ""}
        self.model: dict[str, Any] = {"status": 0, "tries": 1, "error": "refused"}
        self.questions: list[dict[str, Any]] = []
        self.letter: str | None = None
        self.hangs = False
        self.is_slow = False
        self.ledger = LedgerObject()
        self.namespace_labels: dict[str, str] | None = {}
        self.acts: list[dict[str, Any]] = []
        self.applied: list[dict[str, Any]] = []
        self.events: list[dict[str, Any]] = []
        self.writes = 0
        self.plan: dict[str, Any] = {}
        self.configuration: str | None = None
        self.answer: dict[str, Any] = {"skipped": True}
        self.observations = 0
        self.queries = 0
        self.delivery: dict[str, Any] = {"status": 200, "body": ""}
        self.notices: list[dict[str, Any]] = []
        self.crash_after: str | None = None
        self.loses_answer = False
        self.refusal: dict[str, Any] | None = None
        self.refuses: tuple[bool, ...] = (True, False)
        self.before_act: Any = None

    # What people do

    def edit(self, **spec: Any) -> None:
        self.task["spec"].update(spec)
        self.task["metadata"]["generation"] += 1

    def annotate(self, **notes: str) -> None:
        notes_now = self.task["metadata"]["annotations"]
        notes_now.update({f"aiops.example.com/{key}": value for key, value in notes.items()})

    def wait(self, seconds: float) -> World:
        self.now += timedelta(seconds=seconds)
        return self

    # What a test looks at

    @property
    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.task.get("status", {})
        return found

    def condition(self, name: str) -> tuple[str, str]:
        entry = next((e for e in self.status.get("conditions", []) if e["type"] == name), {})
        return entry.get("status", ""), entry.get("reason", "")

    def message(self, name: str) -> str:
        return str(next(e for e in self.status["conditions"] if e["type"] == name)["message"])

    @property
    def replicas(self) -> int:
        assert self.deployment is not None
        return int(self.deployment["spec"]["replicas"])

    # What the role does

    def run(self, seconds: float = 0, cpu: str | None = "") -> World:
        """One pass, `seconds` after the last."""
        self.wait(seconds)
        if cpu != "":
            self.cpu = cpu
        reads: dict[str, Any] = {}
        task = self._task()  # one pass works on one copy, as a run does
        plan = self._read(task, reads)
        if plan["next"] == "act":
            if not self._acted(plan, reads):
                return self
            plan = self._plan(task, reads)
        if plan["next"] == "deliver":
            reads |= self._deliver(plan["notice"])
            plan = self._plan(task, reads)
        assert plan["next"] in ("report", "stop"), "no task of the role goes on from here"
        if plan["next"] == "report":
            self.events.extend(plan["events"])
            if plan["status"]:
                self._write(plan["status"])
        self.plan = plan
        if self.letter is not None and not self.hangs and not self.is_slow:
            return self.run(2)
        return self

    def _read(self, task: dict[str, Any], reads: dict[str, Any]) -> dict[str, Any]:
        """The plan after all that changes nothing, and in `reads` what it was made from."""
        plan = self._plan(task, reads)
        if plan["next"] == "peek":
            under_way = self.letter is not None
            reads["peeked"] = {"held": "Pending" if under_way and self.hangs else "", "ready": under_way}
            plan = self._plan(task, reads)
        if plan["next"] == "observe":
            self.observations += 1
            reads |= self._observe(plan["reads"]["query"])
            plan = self._plan(task, reads)
        if plan["next"] == "own":
            reads |= wanted({name: read for name, read in self._permit(plan["reads"]).items() if name != "rivals"})
            plan = self._plan(task, reads)
        if plan["next"] == "take":
            reads["taken"] = self._take(plan["definition"])
            plan = self._plan(task, reads)
        if plan["next"] == "apply":
            reads["applied"] = self._apply(plan)
            plan = self._plan(task, reads)
        if plan["next"] == "resize":
            reads["resized"] = self._resize(plan["definition"])
            plan = self._plan(task, reads)
        if plan["next"] == "permit":
            reads |= wanted(self._permit(plan["reads"]))
            plan = self._plan(task, reads)
        plan = self._consult(task, reads, plan)
        if plan["next"] == "rehearse":
            reads["rehearsal"] = self._patch(plan["definition"], dry_run=True)
            plan = self._plan(task, reads)
        if plan["next"] == "admit":
            reads["admission"] = self._admit(plan["question"])
            plan = self._plan(task, reads)
        return plan

    def _consult(self, task: dict[str, Any], reads: dict[str, Any], plan: dict[str, Any]) -> dict[str, Any]:
        if plan["next"] == "evidence":
            reads |= {"events": {"resources": self.told}, "history": {"resources": self.replica_sets}}
            reads["pods"] = self._observe()["pods"]
            plan = self._plan(task, reads)
        if plan["next"] == "logs":
            reads["logs"] = self.log
            plan = self._plan(task, reads)
        if plan["next"] == "ask":
            reads["model"] = self._ask(plan["question"])
            plan = self._plan(task, reads)
        return plan

    def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        """As the module does it: what was asked earlier is answered now, unless the model hangs."""
        if self.letter is not None:
            if self.hangs:
                return {"status": 0, "tries": 0, "held": "Pending"}
            answer, self.letter = {**self.model, "note": self.letter}, None
            return answer
        if self.model.get("held") or self.model.get("unsent"):
            return self.model
        self.questions.append(json.loads(question["body"]))
        self.letter = question["note"]
        return {"status": 0, "tries": 0, "held": "Pending"}

    def _apply(self, plan: dict[str, Any]) -> dict[str, Any]:
        """Server-side apply by one manager: what it applied before and does not name any more goes."""
        definition = copy.deepcopy(plan["definition"])
        self.applied.append(definition)
        if self.refusal is not None:
            return dict(self.refusal)
        self.deployment = copy.deepcopy(self.deployment)
        if self.deployment is None:
            assert not plan["force"]
            self.deployment = deployment(1) | {"spec": {"replicas": 1}, "status": {}}
            meta = {key: self.deployment["metadata"][key] for key in ("generation", "resourceVersion")}
            self.deployment["metadata"] = meta | {"uid": f"uid-{len(self.applied)}"} | definition["metadata"]
        elif definition["metadata"]["uid"] != self.deployment["metadata"]["uid"]:
            return {"msg": "uid mismatch", "reason": "Conflict"}
        else:
            notes = {**self.deployment["metadata"]["annotations"], **definition["metadata"].pop("annotations")}
            self.deployment["metadata"] |= definition["metadata"] | {"annotations": notes}
        template = copy.deepcopy(definition["spec"]["template"])
        if self.deployment["spec"].get("template") != template:
            self.deployment["metadata"]["generation"] += 1
        self.deployment |= {"kind": "Deployment", "spec": {**self.deployment["spec"], **definition["spec"]}}
        return {"result": copy.deepcopy(self.deployment), "changed": True}

    def _take(self, definition: dict[str, Any]) -> dict[str, Any]:
        self.deployment = copy.deepcopy(self.deployment)
        assert self.deployment is not None
        self.deployment["metadata"]["managedFields"] = definition["metadata"]["managedFields"]
        return {"result": {"kind": "Deployment", **copy.deepcopy(self.deployment)}, "changed": True}

    def _resize(self, definition: dict[str, Any]) -> dict[str, Any]:
        self.deployment = copy.deepcopy(self.deployment)
        assert self.deployment is not None
        self.deployment["metadata"]["annotations"] |= definition["metadata"]["annotations"]
        self.deployment["metadata"]["generation"] += 1
        self.deployment["spec"]["replicas"] = definition["spec"]["replicas"]
        return {"result": copy.deepcopy(self.deployment), "changed": True}

    def _admit(self, question: dict[str, Any]) -> dict[str, Any]:
        """As the module does it."""
        try:
            return aitask_ledger.ask(self.ledger, {**question, "now": stamp(self.now)})
        except aitask_ledger.LedgerError as error:
            return {"msg": str(error), "status": 0}
        except LedgerRefusal as refusal:
            return {"msg": str(refusal), "status": refusal.status}

    def _permit(self, wanted: dict[str, bool]) -> dict[str, Any]:
        reads: dict[str, Any] = {"settings": self.settings}
        labels = self.namespace_labels
        reads["namespace"] = {"msg": "no"} if labels is None else {"resources": [{"metadata": {"labels": labels}}]}
        if wanted.get("rivals", True):
            reads["rivals"] = {"resources": [self._task(), *self.others]}
        if wanted.get("guard", True):
            reads["guard"] = {"resources": [{}] if self.guard else []} if self.require_guard else {"skipped": True}
        if wanted["autoscalers"]:
            reads["autoscalers"] = {"resources": self.autoscalers}
            reads["scaledobjects"] = {"resources": self.scaled_objects, "api_found": bool(self.scaled_objects)}
        if wanted.get("history"):
            reads["history"] = {"resources": self.replica_sets}
        return reads

    def _acted(self, plan: dict[str, Any], reads: dict[str, Any]) -> bool:
        """False if the pass crashes on the way."""
        if plan["intent"]:
            self._write(plan["intent"])
        if self.crash_after == "intent":
            return False
        reads["act"] = self._do(plan)
        if plan["notice"]:
            reads |= self._deliver(plan["notice"])
        return self.crash_after != "act"

    def settle(self) -> World:
        """What the Deployment controller does after a change."""
        assert self.deployment is not None
        spec, meta = self.deployment["spec"], self.deployment["metadata"]
        self.deployment["status"] = {
            "observedGeneration": meta["generation"],
            "replicas": spec["replicas"],
            "updatedReplicas": spec["replicas"],
            "availableReplicas": spec["replicas"],
            "conditions": [{"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}],
        }
        return self

    def _task(self) -> dict[str, Any]:
        task = copy.deepcopy(self.task)
        task["metadata"]["resourceVersion"] = str(self.version)
        return task

    def _plan(self, task: dict[str, Any], reads: dict[str, Any]) -> dict[str, Any]:
        world = {
            "task": task,
            "spec": task["spec"],
            "now": stamp(self.now),
            "require_guard": self.require_guard,
            "operator_namespace": "operator",
            "ledger": "aitask-ledger",
            "reads": copy.deepcopy(reads),
        }
        before = copy.deepcopy(world)
        plan = plan_pass(world)
        assert world == before, "the rules changed what they were given"
        assert plan == plan_pass(world), "same input, another plan"
        return plan

    def _configured(self) -> dict[str, Any]:
        """The ConfigMap as its task finds it."""
        data = {"config.yaml": self.configuration}
        return {"resources": [] if self.configuration is None else [{"data": data}]}

    def _deliver(self, notice: dict[str, Any]) -> dict[str, Any]:
        self.notices.append(notice)
        return wanted({"webhooks": self._configured(), "delivery": self.delivery})

    def _observe(self, asks: bool = False) -> dict[str, Any]:
        if asks:
            self.queries += 1
            return self._observe() | wanted({"configuration": self._configured(), "answer": self.answer})
        if self.deployment is None:
            return {"deployment": {"resources": []}, "pods": {"skipped": True}, "metrics": {"skipped": True}}
        count = self.replicas
        pods = [pod(f"p{i}") for i in range(count)] if self.pods is None else self.pods
        metrics = self.pod_metrics
        if metrics is None:
            time = stamp(self.metrics_time or self.now)
            metrics = [] if self.cpu is None else [use(f"p{i}", self.cpu, time) for i in range(count)]
        return {
            "deployment": {"resources": [self.deployment]},
            "pods": {"resources": pods, "api_found": True},
            "metrics": {"resources": metrics, "api_found": True},
        }

    def _write(self, patch: dict[str, Any]) -> None:
        """As k8s_status does: a merge patch, but conditions by type."""
        self.writes += 1
        self.version += 1
        old = self.task.get("status", {})
        conditions = {c["type"]: c for c in old.get("conditions", [])}
        conditions |= {c["type"]: c for c in patch.get("conditions", [])}
        self.task["status"] = merge(old, patch) | {"conditions": list(conditions.values())}
        STATUS.validate(self.task["status"])

    def _do(self, plan: dict[str, Any]) -> dict[str, Any]:
        if plan["how"] == "notify":
            self.events.extend(plan["definition"])
            return {"result": {"results": []}, "changed": True}
        if self.before_act is not None:
            self.before_act()
        answer = self._patch(plan["definition"])
        return {"msg": "gateway timeout", "reason": "Timeout"} if self.loses_answer else answer

    def _patch(self, definition: dict[str, Any], *, dry_run: bool = False) -> dict[str, Any]:
        """As the server does it, in an answer as the module gives it."""
        if self.refusal is not None and dry_run in self.refuses:
            return dict(self.refusal)
        if self.deployment is None:
            return {"result": {}, "changed": False, "warnings": ["not found"]}
        if definition["metadata"]["resourceVersion"] != self.deployment["metadata"]["resourceVersion"]:
            return {"msg": "Failed to patch object", "reason": "Conflict", "failed": False}
        changed = strategic(self.deployment, {key: definition[key] for key in ("metadata", "spec")})
        if dry_run:
            return {"result": changed, "changed": True}
        changed["metadata"]["generation"] += 1
        changed["metadata"]["resourceVersion"] = str(int(changed["metadata"]["resourceVersion"]) + 1)
        self.deployment = changed
        self.acts.append({"time": self.now, "replicas": changed["spec"]["replicas"]})
        return {"result": copy.deepcopy(changed), "changed": True}


def wanted(results: dict[str, Any]) -> dict[str, Any]:
    """Without those of tasks that were skipped."""
    return {name: result for name, result in results.items() if not result.get("skipped")}


def strategic(target: Any, patch: Any) -> Any:
    """What of a strategic merge patch the role uses: maps, containers by name, and `$patch: replace`."""
    if isinstance(patch, Mapping) and patch.get("$patch") == "replace":
        return {key: copy.deepcopy(value) for key, value in patch.items() if key != "$patch"}
    if isinstance(patch, list) and patch and all(isinstance(entry, Mapping) and "name" in entry for entry in patch):
        by_name = {entry["name"]: entry for entry in target or []}
        for entry in patch:
            by_name[entry["name"]] = strategic(by_name.get(entry["name"]), entry)
        return list(by_name.values())
    if not isinstance(patch, Mapping):
        return copy.deepcopy(patch)
    result = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        result[key] = strategic(result.get(key), value)
    return result


def deployment(replicas: int = 3, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "ns", "uid": "web-uid", "generation": 1, "resourceVersion": "7"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}]},
            },
            **spec,
        },
        "status": {
            "observedGeneration": 1,
            "replicas": replicas,
            "updatedReplicas": replicas,
            "availableReplicas": replicas,
            "conditions": [{"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}],
        },
    }


def pod(name: str, *, ready: bool = True, started: str = "2026-01-31T09:00:00Z", **changes: Any) -> dict[str, Any]:
    base = {
        "metadata": {
            "name": name,
            "labels": {"app": "web", "pod-template-hash": "abc"},
            "ownerReferences": [{"kind": "ReplicaSet", "name": "web-abc", "controller": True}],
        },
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}]},
        "status": {
            "startTime": started,
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
            "containerStatuses": [{"name": "c", "restartCount": 0, "state": {"running": {}}}],
        },
    }
    merged: dict[str, Any] = merge(base, changes)
    return merged


def use(name: str, cpu: str, time: str, memory: str = "32Mi") -> dict[str, Any]:
    usage = {"cpu": cpu, "memory": memory}
    return {"metadata": {"name": name}, "timestamp": time, "containers": [{"name": "c", "usage": usage}]}
