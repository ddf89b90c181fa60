"""Each sample of config/samples, applied and brought to its outcome by the operator."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml

from tests.behaviour.scene import AITASK, Scene
from tests.roles.aitask_lab import ROOT, stamp
from tests.roles.conftest import write_configuration
from tests.support.api import conditions
from tests.support.kinds import DEPLOYMENT
from tests.support.providers import serving
from tests.support.waiting import until

__all__ = ["write_configuration"]

pytestmark = [pytest.mark.apiserver, pytest.mark.slow]

SAMPLES = ROOT / "config/samples"
Configure = Callable[[Any], None]


def sample(scene: Scene, name: str) -> dict[str, Any]:
    """A sample, for the namespace and the operator of the scene."""
    found: dict[str, Any] = yaml.safe_load((SAMPLES / f"aiops_v1_{name}.yaml").read_text())
    found["metadata"].pop("namespace", None)
    found["metadata"]["labels"] = {"test.example.com/operator": scene.label}
    return found


def workload(scene: Scene, name: str) -> None:
    """One of the samples' Deployments, with all its pods."""
    documents = list(yaml.safe_load_all((SAMPLES / "demo-workloads.yaml").read_text()))
    [found] = [d for d in documents if (d["kind"], d["metadata"]["name"]) == ("Deployment", name)]
    found["metadata"].pop("namespace")
    scene.apply(found)

    def settled(deployment: dict[str, Any]) -> bool:
        progress = conditions(deployment).get("Progressing", {}).get("reason")
        available = deployment.get("status", {}).get("availableReplicas", 0)
        return bool(available == found["spec"]["replicas"] and progress == "NewReplicaSetAvailable")

    scene.api.wait(DEPLOYMENT, name, scene.namespace, settled, "settled", scene.patience)


def lose_pods(scene: Scene, name: str) -> None:
    """Its pods are ready no more."""
    for pod in json.loads(scene.kubectl("get", "pods", "-l", f"app={name}", "-o", "json"))["items"]:
        seen = [{**c, "status": "False"} if c["type"] == "Ready" else c for c in pod["status"]["conditions"]]
        patch = json.dumps({"status": {"conditions": seen}})
        scene.kubectl("patch", "pod", pod["metadata"]["name"], "--subresource=status", "--type=merge", "-p", patch)


def acts(scene: Scene, task: dict[str, Any], action: str) -> dict[str, Any]:
    """The status, once the task has acted and said so."""
    scene.apply(task)

    def done(found: dict[str, Any]) -> bool:
        last = found.get("status", {}).get("lastAction", {})
        return (last.get("type"), last.get("result")) == (action, "Succeeded")

    status: dict[str, Any] = scene.wait(done, f"{action} is done", task["metadata"]["name"])["status"]
    return status


def fell(scene: Scene) -> None:
    """Each pod's container has ended just now, and begun again."""
    ended = {"exitCode": 1, "finishedAt": stamp(datetime.now(UTC)), "startedAt": stamp(datetime.now(UTC))}
    for pod in scene.pods():
        seen = {**pod["status"]["containerStatuses"][0], "lastState": {"terminated": ended}}
        patch = json.dumps({"status": {"containerStatuses": [seen]}})
        scene.kubectl("patch", "pod", pod["metadata"]["name"], "--subresource=status", "--type=merge", "-p", patch)


def replicas(scene: Scene, name: str) -> int:
    wanted: int = scene.deployment(name)["spec"]["replicas"]
    return wanted


@pytest.mark.parametrize(
    ("name", "target", "usage", "expected"),
    [
        ("aitask", "worker", ("95m", "32Mi"), 3),
        ("aitask_scale_up", "web", ("90m", "32Mi"), 4),
        ("aitask_scale_down", "web", ("10m", "32Mi"), 2),
    ],
)
def test_samples_that_scale(scene: Scene, name: str, target: str, usage: tuple[str, str], expected: int) -> None:
    workload(scene, target)
    scene.use(*usage)
    acts(scene, sample(scene, name), "scale")
    until(lambda: replicas(scene, target) == expected, f"{target} has {expected} replicas", scene.patience)


def test_samples_on_memory(scene: Scene) -> None:
    workload(scene, "worker")
    scene.use("10m", "80Mi")
    acts(scene, sample(scene, "aitask_restart"), "restart")
    template = scene.deployment("worker")["spec"]["template"]
    assert "kubectl.kubernetes.io/restartedAt" in template["metadata"]["annotations"]
    scene.api.delete(AITASK, "worker-restart", scene.namespace)
    scene.api.delete(DEPLOYMENT, "worker", scene.namespace)
    scene.api.wait_gone(DEPLOYMENT, "worker", scene.namespace, scene.patience)
    workload(scene, "worker")
    acts(scene, sample(scene, "aitask_patch_resources"), "patchResources")
    [container] = scene.deployment("worker")["spec"]["template"]["spec"]["containers"]
    assert container["resources"]["requests"]["memory"] == "80Mi"


@pytest.mark.parametrize(("name", "target"), [("aitask_notify", "web"), ("aitask_diagnose", "worker")])
def test_samples_that_tell(scene: Scene, name: str, target: str) -> None:
    workload(scene, target)
    lose_pods(scene, target)
    acts(scene, sample(scene, name), "notify")
    told = {("AITask", "ThresholdBreached"), ("Deployment", "ThresholdBreached")}
    until(lambda: told <= set(scene.events()), f"{told} are told", scene.patience)


def test_the_sample_with_a_query(scene: Scene, write_configuration: Configure) -> None:
    workload(scene, "worker")
    with serving() as provider:
        entry = {"url": provider.url, "allowedNamespaces": [scene.namespace]}
        write_configuration({"providers": {"prometheus": {"default": entry}}})
        task = sample(scene, "aitask_prometheus")
        provider.vector(task["spec"]["metric"]["prometheus"]["query"], "120")
        acts(scene, task, "scale")
    assert replicas(scene, "worker") == 4


def test_the_sample_that_rolls_back_when_approved(scene: Scene) -> None:
    workload(scene, "web")
    change = {"spec": {"template": {"metadata": {"annotations": {"release": "bad"}}}}}
    scene.api.patch(DEPLOYMENT, "web", scene.namespace, change)
    scene.settled(3)
    fell(scene)
    task = sample(scene, "aitask_rollback")
    scene.apply(task)
    status = scene.wait(lambda found: found.get("status", {}).get("proposal"), "it asks", "web-rollback")["status"]
    fell(scene)  # again: what is long ago counts no more, and asking takes its time
    approve = f"aiops.example.com/approve={status['proposal']['id']}"
    scene.kubectl("annotate", "aitask", "web-rollback", approve)
    acts(scene, task, "rollback")
    until(lambda: "release" not in json.dumps(scene.deployment()["spec"]), "web is as it was", scene.patience)


def test_the_sample_with_a_template(scene: Scene) -> None:
    scene.use("90m")
    acts(scene, sample(scene, "aitask_template"), "scale")
    assert replicas(scene, "shop") == 3
    assert scene.sees("TemplateApplied", "True", "Applied", name="shop")


def test_the_samples_of_backup_and_restore(scene: Scene) -> None:
    scene.let_store()
    scene.task("one", suspend=True)
    for name, reason in (("aitaskbackup", "Saved"), ("aitaskrestore", "Rehearsed")):
        manifest = sample(scene, name)
        scene.apply(manifest)
        arguments = ("get", manifest["kind"], manifest["metadata"]["name"], "-o", "json")

        def said(arguments: tuple[str, ...] = arguments) -> Any:
            return conditions(json.loads(scene.kubectl(*arguments))).get("Complete", {}).get("reason")

        until(lambda reason=reason, said=said: said() == reason, f"{name} is {reason}", scene.patience)  # type: ignore[misc]
