"""A namespace in memory with a backup and a restore in it, and the steps of the roles as their tasks take them.

A step that writes may be the last: `Killed` comes before or after it, and the next pass begins from what is stored.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from aitask_rules.archive import plan_backup, plan_restore, plan_trouble
from aitask_rules.values import first

Object = dict[str, Any]
NOW = "2026-01-31T10:00:00Z"


ALL_CLEAR: Object = {"settings": {"resources": []}, "guard": {"resources": [{}]}}
"""The operator's configuration is not there, so the defaults hold; the guard is."""


class Killed(Exception):
    """The operator is gone."""


def task(name: str, notes: Mapping[str, str] | None = None, **spec: Any) -> Object:
    """A task as a server has it."""
    return {
        "apiVersion": "aiops.example.com/v1",
        "kind": "AITask",
        "metadata": {
            "name": name,
            "namespace": "shop",
            "uid": f"uid-{name}",
            "resourceVersion": "7",
            "generation": 3,
            "creationTimestamp": NOW,
            "managedFields": [],
            "annotations": dict(notes or {}),
        },
        "spec": {"targetDeployment": "web", "threshold": 80, "action": "scale-up", "suspend": False, **spec},
        "status": {"phase": "Running", "breaches": 4},
    }


def error(code: int, message: str) -> Object:
    """As kubernetes.core says it."""
    status = f'{{"kind":"Status","message":"{message}","code":{code}}}'
    return {"failed": True, "msg": f"Failed to apply object: {status.encode()!r}"}


class Failed(Exception):
    """A task of the role failed."""

    def __init__(self, answer: Object) -> None:
        super().__init__(answer["msg"])


class Namespace:
    """What is there. ``refuse`` looks at a manifest and answers with a failed result, or None; ``unreadable`` does so
    when something is read, by its kind."""

    def __init__(self, *tasks: Object) -> None:
        self.tasks = {entry["metadata"]["name"]: entry for entry in tasks}
        self.stores: dict[tuple[str, str], Object] = {}
        self.objects: dict[tuple[str, str], Object] = {}
        self.refuse: Callable[[Object], Object | None] = lambda manifest: None
        self.unreadable: Callable[[str], Object | None] = lambda kind: None
        self.permission = ALL_CLEAR
        self.begun_with: Object = {}
        self.kill_at: tuple[int, str] = (0, "")
        self.writes: list[str] = []
        self.requeue = ""
        self.now = NOW

    # --- what a person does ---

    def add(self, kind: str, name: str = "x", **spec: Any) -> Object:
        """A backup or a restore."""
        meta = {"name": name, "namespace": "shop", "uid": f"{kind}-{name}", "generation": 1}
        made = {"apiVersion": "aiops.example.com/v1", "kind": kind, "metadata": meta, "spec": spec, "status": {}}
        self.objects[kind, name] = made
        return made

    def backup(self, name: str = "b", **spec: Any) -> Object:
        """One that has run."""
        made = self.add("AITaskBackup", name, **spec)
        self.run("AITaskBackup", name)
        return made

    def restore(self, name: str = "r", **spec: Any) -> Object:
        """One that has run."""
        made = self.add("AITaskRestore", name, **spec)
        self.run("AITaskRestore", name)
        return made

    def store_of(self, backup: Object) -> Object:
        """What it saved."""
        (found,) = [s for (_, name), s in self.stores.items() if name == backup["status"]["storeName"]]
        return found

    # --- what the roles do ---

    def run(self, kind: str, name: str) -> None:
        """A pass, over the object as it is when it begins. Raises Killed in the middle of it."""
        pass_over = {"AITaskBackup": self._backup, "AITaskRestore": self._restore}[kind]
        self.requeue = ""
        found = self.objects[kind, name]
        self.begun_with = copy.deepcopy(found)
        try:
            pass_over(found)
        except Failed as failure:
            self._trouble(found, str(failure))

    def _trouble(self, found: Object, message: str) -> None:
        seen = {"seen": {"resources": [copy.deepcopy(found)]}}
        self._report(found, self._plan(lambda world: plan_trouble(world, "a task", message), seen))

    def run_until_ended(self, kind: str, name: str, kill_at: tuple[int, str]) -> None:
        """Passes until one ends; the first is killed at its n-th write, before or after it arrives."""
        self.kill_at, self.writes = kill_at, []
        try:
            self.run(kind, name)
        except Killed:
            self.kill_at = (0, "")
            self.run(kind, name)

    def _backup(self, backup: Object) -> None:
        plan = self._plan(plan_backup, {})
        assert plan["next"] in ("nothing", "permit")
        reads: Object = {} if plan["next"] == "nothing" else dict(self.permission)
        plan = self._plan(plan_backup, reads)
        if plan["next"] == "save":
            self._status(backup, plan["status"])
            reads["tasks"] = self._read_tasks()
            kind, stored = backup["spec"].get("store", "Secret"), plan["status"]["storeName"]
            reads["store"] = self._read(kind, stored)
            plan = self._plan(plan_backup, reads)
            if plan["next"] == "write":
                reads["written"] = self._write(f"store {stored}", self._apply_store, plan["definition"])
                reads["readback"] = self._read(kind, stored)
                plan = self._plan(plan_backup, reads)
        self._report(backup, plan)
        if plan["next"] == "keep":
            store = self._read(backup["spec"].get("store", "Secret"), backup["status"]["storeName"])
            self._tidy(backup, self._plan(plan_backup, {**reads, "store": store}))
        elif plan["next"] == "tidy":
            self._tidy(backup, plan)

    def _tidy(self, backup: Object, plan: Object) -> None:
        if plan["definition"]:
            self._write("owner", self._put_owners, plan["definition"])
        if plan["expired"]:
            self._write("delete", lambda: self.objects.pop((backup["kind"], backup["metadata"]["name"])))
        elif plan["status"]:
            self._status(backup, plan["status"])
        self.requeue = plan["requeue"]

    def _put_owners(self, manifest: Object) -> None:
        refused = self.refuse(manifest)
        if refused:
            raise Failed(refused)
        meta = manifest["metadata"]
        self.stores[manifest["kind"], meta["name"]]["metadata"]["ownerReferences"] = meta["ownerReferences"]

    def _restore(self, restore: Object) -> None:
        plan = self._plan(plan_restore, {})
        assert plan["next"] in ("nothing", "permit")
        reads: Object = {} if plan["next"] == "nothing" else dict(self.permission)
        plan = self._plan(plan_restore, reads)
        if plan["next"] == "find":
            self._status(restore, plan["status"])
            reads["begun"] = True
            name = restore["spec"].get("backupName")
            if name:
                found = self.objects.get(("AITaskBackup", name))
                reads["backup"] = {"resources": [found] if found else []}
            plan = self._plan(plan_restore, reads)
            if plan["next"] == "fetch":
                self._fetch(plan, reads)
                plan = self._plan(plan_restore, reads)
        for number in (1, 2, 3):
            if plan["next"] in ("look", "again"):
                plan = self._round(restore, reads, number)
        self._report(restore, plan)

    def _fetch(self, plan: Object, reads: Object) -> None:
        if plan["secret"]:
            reads["secret"] = self._read("Secret", plan["secret"])
        if plan["configmap"] and not first(reads.get("secret")):
            reads["configmap"] = self._read("ConfigMap", plan["configmap"])

    def _round(self, restore: Object, reads: Object, number: int) -> Object:
        seen = {**reads, "tasks": self._read_tasks()}
        plan = self._plan(plan_restore, seen)
        if plan["next"] != "put":
            return plan
        put = self._rehearse if plan["rehearse"] else self._put
        written = {"round": number}
        for key, manifests in (("created", plan["to_create"]), ("updated", plan["to_update"])):
            if manifests:
                written[key] = self._results([put(manifest) for manifest in manifests])
        return self._plan(plan_restore, {**seen, **written})

    @staticmethod
    def _results(answers: list[Object]) -> Object:
        """As kubernetes.core with continue_on_error returns them."""
        shown = [{"error": answer, "result": {}} if answer.get("failed") else {"result": answer} for answer in answers]
        return shown[0] if len(shown) == 1 else {"changed": True, "result": {"results": shown}}

    def _put(self, manifest: Object) -> Object:
        name = manifest["metadata"]["name"]
        return self._write(f"task {name}", self._put_task, manifest)

    def _rehearse(self, manifest: Object) -> Object:
        before = copy.deepcopy(self.tasks)
        try:
            return self._put_task(manifest)
        finally:
            self.tasks = before

    def _put_task(self, manifest: Object) -> Object:
        refused = self.refuse(manifest)
        if refused:
            return refused
        name = manifest["metadata"]["name"]
        made: Object = merged(self.tasks.get(name, {}), manifest)
        made["metadata"].setdefault("uid", f"uid-{name}-anew")
        self.tasks[name] = made
        return copy.deepcopy(made)

    def _apply_store(self, manifest: Object) -> Object:
        refused = self.refuse(manifest)
        if refused:
            return refused
        self.stores[manifest["kind"], manifest["metadata"]["name"]] = copy.deepcopy(manifest)
        return {"changed": True, "result": manifest}

    def _read_tasks(self) -> Object:
        refused = self.unreadable("AITask")
        if refused:
            raise Failed(refused)
        return {"resources": copy.deepcopy(list(self.tasks.values()))}

    def _read(self, kind: str, name: str) -> Object:
        refused = self.unreadable(kind)
        if refused:
            raise Failed(refused)
        found = self.stores.get((kind, name))
        return {"resources": [copy.deepcopy(found)] if found else []}

    def _status(self, obj: Object, patch: Object) -> None:
        def put() -> None:
            conditions = {entry["type"]: entry for entry in obj["status"].get("conditions", [])}
            conditions.update({entry["type"]: entry for entry in patch.get("conditions", [])})
            obj["status"].update(copy.deepcopy(patch))
            obj["status"]["conditions"] = list(conditions.values())

        self._write(f"status {patch.get('phase', '')}".strip(), put)

    def _report(self, obj: Object, plan: Object) -> None:
        if plan["next"] == "report":
            if plan["status"]:
                self._status(obj, plan["status"])
            self.requeue = plan.get("requeue", "")

    def _write(self, what: str, write: Callable[..., Any], *arguments: Any) -> Any:
        number, side = self.kill_at
        self.writes.append(what)
        if number == len(self.writes) and side == "before":
            raise Killed(what)
        answer = write(*arguments)
        if number == len(self.writes):
            raise Killed(what)
        return answer

    def _plan(self, plan: Callable[[Object], Object], reads: Object) -> Object:
        found = self.begun_with
        return plan({"object": copy.deepcopy(found), "spec": found["spec"], "reads": reads, "now": self.now})


def merged(old: Any, patch: Any) -> Any:
    """What a JSON merge patch makes of it."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    made = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            made.pop(key, None)
        else:
            made[key] = merged(made.get(key), value)
    return made
