"""The manifests on a real API server: what the CRD accepts, what the guard refuses, and who may do what."""

import json
import subprocess
import sys
from typing import Any

import pytest
import yaml
from aitask_rules.config import Config, parse_config

from tests.roles.aitask_lab import ACCOUNT, ROOT, Lab
from tests.unit.roles.aitask_simulation import World
from tests.unit.roles.test_aitask_actions import raising, rolling
from tests.unit.roles.test_aitask_approval import approve, proposing
from tests.unit.roles.test_aitask_diagnose import answer as model_says
from tests.unit.roles.test_aitask_diagnose import patient

pytestmark = pytest.mark.apiserver

MINIMAL = {"targetDeployment": "web", "threshold": 80, "action": "scale-up"}


def task(name: str = "t", notes: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    meta = {"name": name, "annotations": notes or {}}
    return {"apiVersion": "aiops.example.com/v1", "kind": "AITask", "metadata": meta, "spec": {**MINIMAL, **spec}}


def rendered(lab: Lab, directory: str) -> list[dict[str, Any]]:
    return [found for found in yaml.safe_load_all(lab.kubectl("kustomize", str(ROOT / "config" / directory))) if found]


def test_three_fields_are_accepted_and_defaulted(space: Lab) -> None:
    space.apply(task())
    spec = space.get("aitask", "t")["spec"]
    assert (spec["intervalSeconds"], spec["comparison"], spec["suspend"], spec["historyLimit"]) == (
        60,
        "GreaterThan",
        False,
        10,
    )
    assert spec["metric"]["type"] == "CPUUtilization"
    assert spec["evaluation"] == {"consecutiveBreaches": 1, "onMissingData": "Hold", "maxSampleAgeSeconds": 180}
    assert spec["policy"]["cooldownSeconds"] == 300
    assert "approval" not in spec["policy"]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"scale": {}, "action": "restart"}, "scale is only allowed"),
        ({"scale": {"minReplicas": 5, "maxReplicas": 2}}, "minReplicas must not be greater"),
        ({"scale": {"direction": "Down"}}, "contradicts"),
        ({"clearThreshold": 90}, "healthy side"),
        ({"evaluation": {"onMissingData": "Breach"}}, "only allowed when action is notify"),
        ({"action": "diagnose"}, "needs the diagnose block"),
        ({"metric": {"type": "Prometheus"}}, "metric.prometheus is required"),
        ({"replicas": 2}, "replicas needs template"),
        ({"targetDeployment": "Not A Name"}, "targetDeployment"),
        ({"intervalSeconds": 1}, "intervalSeconds"),
        ({"threshold": -1}, "threshold"),
    ],
)
def test_what_contradicts_itself_is_refused_with_the_reason(space: Lab, spec: dict[str, Any], words: str) -> None:
    answer = space.kubectl("create", "--dry-run=server", "-f", "-", manifest=task(**spec), check=False)
    assert words in answer
    assert "created" not in answer


def test_any_word_is_accepted_as_an_action(space: Lab) -> None:
    assert "created" in space.kubectl("create", "--dry-run=server", "-f", "-", manifest=task(action="wiggle"))


def test_tasks_are_found_by_their_target_and_shown_in_columns(space: Lab) -> None:
    space.apply(task("a"))
    space.apply(task("b", targetDeployment="other"))
    of_web = ("--field-selector", "spec.targetDeployment=web")
    assert "aitask.aiops.example.com/a" in space.kubectl("get", "ait", *of_web, "-o", "name")
    lines = space.kubectl("get", "at", *of_web).splitlines()
    columns = ["NAME", "TARGET", "ACTION", "THRESHOLD", "VALUE", "PHASE", "READY", "LAST-ACTION", "LAST-RUN", "AGE"]
    assert lines[0].split() == columns
    assert len(lines) == 2


def test_everything_the_rules_write_is_declared_in_the_crd(space: Lab) -> None:
    """Undeclared fields are dropped without a word: what is read back must be what was written."""
    failing = World(action="restart")
    failing._do = lambda plan: {"msg": "no", "reason": None}  # type: ignore[method-assign]
    synced = World()
    assert synced.deployment is not None
    synced.deployment["metadata"]["annotations"] = {"argocd.argoproj.io/tracking-id": "shop"}
    advised, busy = patient("restart", policy={"approval": "Never"}), patient("restart")
    advised.model = model_says("restart", container="c")
    busy.model = {"status": 0, "tries": 0, "held": "Busy", "until": ""}
    worlds = {
        "acted": World(scale={"returnAfterSeconds": 60}).run(cpu="93m"),
        "judged": World(policy={"cooldownSeconds": 30}).run(cpu="93m").settle().run(60).settle().run(60),
        "healthy": World(scale={"returnAfterSeconds": 60}).run(cpu="20m"),
        "no-data": World().run(cpu=None),
        "rehearsed": World(dryRun=True).run(cpu="93m"),
        "failed": failing.run(cpu="93m"),
        "notified": World(action="notify").run(cpu="93m"),
        "suspended": World(suspend=True).run(),
        "bad": World(action="wiggle").run(),
        "asking": proposing(),
        "approved": approve(proposing()).run(3),
        "rolled-back": rolling(3, 1, 2, 3).run(cpu="93m"),
        "raised": raising({"cpu": "100m", "memory": "64Mi"}).run(cpu="93m"),
        "diagnosed": World(action="diagnose", diagnose={"fallbackAction": "scale"}).run(cpu="93m"),
        "advised": advised.run(cpu="93m"),
        "waiting": busy.run(cpu="93m"),
        "synced": synced.run(cpu="93m"),
    }
    written = {key for world in worlds.values() for key in world.status["state"]}
    assert {"rolledBackFrom", "told", "gitopsWarned"} <= written
    diagnosed = {key for world in worlds.values() for key in world.status.get("diagnosis", {})}
    assert {"rootCause", "error", "waitingSince", "evidence", "parameters"} <= diagnosed
    for name, world in worlds.items():
        space.apply(task(name))
        found = space.get("aitask", name) | {"status": world.status}
        space.kubectl("replace", "--validate=strict", "--subresource=status", "-f", "-", manifest=found)
        assert space.get("aitask", name)["status"] == world.status, name


def test_an_author_needs_the_right_to_patch_the_target(space: Lab) -> None:
    editor = "--clusterrole=aitask-operator-aitask-editor-role"
    space.kubectl("create", "rolebinding", "author", editor, "--user=author")
    refused = space.kubectl("create", "-f", "-", manifest=task(), check=False, user="author")
    assert "you may not patch deployment web; an AITask may not do it for you" in refused
    space.kubectl("create", "role", "web", "--verb=patch", "--resource=deployments.apps", "--resource-name=web")
    space.kubectl("create", "rolebinding", "web", "--role=web", "--user=author")
    assert "created" in space.kubectl("create", "-f", "-", manifest=task(), user="author")
    other = task("other", targetDeployment="db")
    assert "may not patch deployment db" in space.kubectl(
        "create", "-f", "-", manifest=other, check=False, user="author"
    )


def test_only_an_approver_may_approve(space: Lab) -> None:
    space.apply(task())
    space.kubectl("create", "role", "all", "--verb=*", "--resource=aitasks.aiops.example.com,deployments.apps")
    space.kubectl("create", "rolebinding", "all", "--role=all", "--user=author")
    approver = "--clusterrole=aitask-operator-aitask-approver-role"
    space.kubectl("create", "rolebinding", "approver", approver, "--user=approver")
    note = ("annotate", "at", "t", "aiops.example.com/approve=abc")
    assert "needs the verb approve" in space.kubectl(*note, check=False, user="author")
    assert "annotated" in space.kubectl(*note, user="approver")
    edit = ("patch", "at", "t", "--type=merge", "-p", '{"spec":{"threshold":1}}')
    assert "may not patch deployment" in space.kubectl(*edit, check=False, user="approver")


def test_the_operator_has_no_wildcard_and_sees_no_secret_whose_name_it_does_not_know(space: Lab) -> None:
    roles = [found for found in rendered(space, "default") if found["kind"] in ("ClusterRole", "Role")]
    names = ("manager-role", "leader-election-role", "providers-role", "templates-role", "ledger-role", "backup-role")
    own = [found for found in roles if found["metadata"]["name"].endswith((*names, "backup-store-role"))]
    assert len(own) == 7
    secrets = {}
    for name, rule in [(found["metadata"]["name"], rule) for found in own for rule in found["rules"]]:
        assert "*" not in rule["verbs"] + rule["resources"] + rule["apiGroups"]
        if "secrets" in rule["resources"]:
            secrets[name] = (rule["verbs"], rule.get("resourceNames"))
    assert secrets == {
        "aitask-operator-providers-role": (["get"], ["aitask-operator-providers"]),
        "aitask-operator-backup-store-role": (["get", "create", "patch"], None),
    }
    bound = [found["roleRef"]["name"] for found in rendered(space, "default") if "roleRef" in found]
    assert "aitask-operator-backup-store-role" not in bound
    who = "system:serviceaccount:" + ":".join(ACCOUNT)
    for verb, what in (
        ("get", "secrets"),
        ("create", "secrets"),
        ("get", "configmaps"),
        ("patch", "configmaps"),
        ("list", "secrets"),
        ("delete", "deployments"),
        ("watch", "secrets"),
        ("delete", "secrets"),
        ("update", "secrets"),
        ("list", "configmaps"),
        ("delete", "configmaps"),
        ("delete", "aitasks"),
        ("update", "aitasks"),
        ("delete", "aitaskrestores"),
        ("create", "aitaskbackups"),
    ):
        assert space.kubectl("auth", "can-i", verb, what, check=False, user=who).strip().startswith("no")
    for verb, what, answer in (
        ("get", "secrets/aitask-operator-providers", "yes"),
        ("get", "configmaps/aitask-operator-config", "yes"),
        ("get", "configmaps/aitask-ledger", "yes"),
        ("update", "configmaps/aitask-ledger", "yes"),
        ("delete", "configmaps/aitask-ledger", "no"),
        ("list", "secrets", "no"),
        ("list", "configmaps", "no"),
        ("update", "configmaps/aitask-operator-config", "no"),
    ):
        said = space.kubectl("auth", "can-i", verb, what, "-n", ACCOUNT[0], check=False, user=who)
        assert said.strip().startswith(answer), (verb, what)


def test_the_configuration_that_is_shipped_is_good_and_opens_nothing(space: Lab) -> None:
    kinds = {(found["kind"], found["metadata"]["name"]): found for found in rendered(space, "default")}
    shipped = kinds["ConfigMap", "aitask-operator-config"]
    assert shipped["metadata"]["namespace"] == ACCOUNT[0]
    assert parse_config(shipped["data"]["config.yaml"]) == Config()


def test_the_example_in_its_comments_is_good(space: Lab) -> None:
    lines = (ROOT / "config" / "manager" / "config.yaml").read_text().splitlines()
    begin = lines.index("#   providers:")
    example = "\n".join(line[4:] for line in lines[begin : lines.index("apiVersion: v1")])
    found = parse_config(example)
    assert (set(found.prometheus), set(found.webhook)) == ({"default"}, {"on-call"})


def test_the_deployment_satisfies_the_restricted_pod_security_standard(space: Lab) -> None:
    manager = next(found for found in rendered(space, "default") if found["kind"] == "Deployment")
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": manager["spec"]["template"]["spec"]}
    pod["spec"].pop("serviceAccountName")
    space.kubectl("label", "namespace", space.namespace, "pod-security.kubernetes.io/enforce=restricted")
    assert "created" in space.kubectl("create", "--dry-run=server", "-f", "-", manifest=pod)


def test_names_of_crd_and_guard_carry_no_prefix_and_all_samples_are_accepted(space: Lab) -> None:
    names = {(found["kind"], found["metadata"]["name"]) for found in rendered(space, "default")}
    assert ("CustomResourceDefinition", "aitasks.aiops.example.com") in names
    assert ("ValidatingAdmissionPolicyBinding", "aitask-guard.aiops.example.com") in names
    assert ("Namespace", "aitask-operator-system") in names
    assert ("Deployment", "aitask-operator-controller-manager") in names
    samples = [found for found in rendered(space, "samples") if found["kind"] != "Namespace"]
    for sample in samples:
        sample["metadata"].pop("namespace")
        assert "created" in space.kubectl("create", "--dry-run=server", "--validate=strict", "-f", "-", manifest=sample)
    assert {sample["kind"] for sample in samples} == {"Deployment", "AITask"}


@pytest.mark.parametrize("name", ["aitaskbackup", "aitaskrestore", "aitask_diagnose"])
def test_the_samples_that_need_something_else_are_accepted(space: Lab, name: str) -> None:
    sample = yaml.safe_load((ROOT / f"config/samples/aiops_v1_{name}.yaml").read_text())
    sample["metadata"].pop("namespace")
    assert "created" in space.kubectl("create", "--dry-run=server", "--validate=strict", "-f", "-", manifest=sample)


@pytest.mark.parametrize(
    ("kind", "spec", "words"),
    [
        ("AITaskRestore", {}, "give exactly one of backupName and storeName"),
        ("AITaskRestore", {"backupName": "a", "storeName": "b"}, "give exactly one"),
        ("AITaskRestore", {"backupName": "a", "existingPolicy": "Merge"}, "existingPolicy"),
        ("AITaskBackup", {"store": "File"}, "store"),
        ("AITaskBackup", {"ttlSecondsAfterFinished": -1}, "ttlSecondsAfterFinished"),
        ("AITaskBackup", {"taskNames": ["a", "a"]}, "taskNames"),
    ],
)
def test_a_backup_or_restore_that_cannot_be_is_refused(space: Lab, kind: str, spec: dict[str, Any], words: str) -> None:
    manifest = {"apiVersion": "aiops.example.com/v1", "kind": kind, "metadata": {"name": "x"}, "spec": spec}
    answer = space.kubectl("create", "--dry-run=server", "-f", "-", manifest=manifest, check=False)
    assert words in answer
    assert "created" not in answer


def test_of_a_backup_only_retention_and_ttl_change_and_of_a_restore_nothing(space: Lab) -> None:
    for kind, spec in (("AITaskBackup", {}), ("AITaskRestore", {"backupName": "x"})):
        manifest = {"apiVersion": "aiops.example.com/v1", "kind": kind, "metadata": {"name": "x"}, "spec": spec}
        space.kubectl("create", "-f", "-", manifest=manifest)
    for kind, change, words in (
        ("atb", {"retention": "Delete", "ttlSecondsAfterFinished": 60}, "patched"),
        ("atb", {"store": "ConfigMap"}, "store is immutable"),
        ("atb", {"taskNames": ["a"]}, "taskNames is immutable"),
        ("atr", {"dryRun": True}, "its spec is immutable"),
    ):
        patch = json.dumps({"spec": change})
        assert words in space.kubectl("patch", kind, "x", "--type=merge", "-p", patch, check=False)


def test_the_guard_lets_nobody_save_or_restore_what_he_may_not_read_or_make(space: Lab) -> None:
    def manifest(kind: str, **spec: str) -> dict[str, Any]:
        name = f"x-{len(spec)}"
        return {"apiVersion": "aiops.example.com/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}

    def tries(kind: str, **spec: str) -> str:
        return space.kubectl("create", "-f", "-", manifest=manifest(kind, **spec), check=False, user="author")

    for kind in ("aitaskbackup", "aitaskrestore"):
        role = f"--clusterrole=aitask-operator-{kind}-editor-role"
        space.kubectl("create", "rolebinding", kind, role, "--user=author")
    assert "needs the right to get aitasks" in tries("AITaskBackup")
    assert "needs the right to create aitasks" in tries("AITaskRestore", backupName="b")
    may = ("create", "role", "may", "--verb=get,create", "--resource=aitasks.aiops.example.com")
    space.kubectl(*may)
    space.kubectl("create", "rolebinding", "may", "--role=may", "--user=author")
    assert "created" in tries("AITaskBackup")
    assert "to patch and to create deployments" in tries("AITaskRestore", backupName="b")
    space.kubectl("create", "role", "deploy", "--verb=patch,create", "--resource=deployments.apps")
    space.kubectl("create", "rolebinding", "deploy", "--role=deploy", "--user=author")
    assert "needs the right to patch aitasks" in tries("AITaskRestore", backupName="b", existingPolicy="Overwrite")
    assert "created" in tries("AITaskRestore", backupName="b")


@pytest.mark.parametrize("plural", ["aitasks", "aitaskbackups", "aitaskrestores"])
def test_kubectl_explains_every_field(space: Lab, plural: str) -> None:
    described = json.loads(space.kubectl("get", "crd", f"{plural}.aiops.example.com", "-o", "json"))

    def undescribed(schema: dict[str, Any], path: str) -> list[str]:
        inner = [
            missing
            for name, field in schema.get("properties", {}).items()
            for missing in ([] if "description" in field else [f"{path}.{name}"]) + undescribed(field, f"{path}.{name}")
        ]
        return inner + (undescribed(schema["items"], f"{path}[]") if "items" in schema else [])

    schema = described["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    assert undescribed(schema["spec"], "spec") + undescribed(schema["status"], "status") == []


def test_the_guard_has_no_complaints_of_the_type_checker(space: Lab) -> None:
    policy = json.loads(
        space.kubectl("get", "validatingadmissionpolicy", "aitask-guard.aiops.example.com", "-o", "json")
    )
    assert policy.get("status", {}).get("typeChecking", {}).get("expressionWarnings", []) == []


@pytest.mark.parametrize("name", ["aitask", "backup", "restore"])
def test_playbook_and_role_have_valid_syntax(name: str) -> None:
    command = [sys.executable, "-m", "ansible", "playbook", "--syntax-check", str(ROOT / "playbooks" / f"{name}.yml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
