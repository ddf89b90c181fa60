"""The role against a real API server, with the shipped rights: what the rules decide is covered by tests/unit/roles."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.roles.aitask_lab import ROOT, Lab, later, stamp

pytestmark = [pytest.mark.apiserver, pytest.mark.slow]


def test_a_healthy_pass_is_cheap_and_a_second_one_changes_nothing(lab: Lab) -> None:
    lab.task()
    lab.use("20m")
    first = lab.run()
    assert first.executed <= 12
    assert len(first.requests) <= 6, first.requests
    assert lab.condition("Ready") == ("True", "Evaluated")
    assert (lab.status()["phase"], lab.status()["observedValue"]) == ("Running", "20")
    assert first.requeue is not None
    before = lab.get("aitask", "t")
    later(lab, 5)
    second = lab.run()
    assert lab.get("aitask", "t") == before
    assert [r for r in second.requests if r["verb"] not in ("get", "list")] == []
    print(f"healthy pass: {first.executed} tasks, {len(first.requests)} requests")


def test_a_breach_scales_the_target_by_one_guarded_patch(lab: Lab) -> None:
    lab.task()
    lab.use("93m")
    done = lab.run()
    web, status = lab.get("deployment", "web"), lab.status()
    assert web["spec"]["replicas"] == 4
    assert web["metadata"]["annotations"]["aiops.example.com/last-action"] == status["lastAction"]["id"]
    assert status["lastAction"]["result"] == "Succeeded"
    assert status["target"]["replicas"] == 4
    assert lab.condition("ActionPermitted") == ("True", "Permitted")
    assert (len(done.rehearsals("deployments")), len(done.writes("deployments"))) == (1, 1)
    assert len(done.writes("aitasks/status")) == 2
    assert lab.events() == [("AITask", "Scaled"), ("Deployment", "Scaled")]
    shown = lab.kubectl("get", "at", "t")
    assert {"web", "scale-up", "80", "93", "Running", "True"} <= set(shown.split())
    print(f"acting pass: {done.executed} tasks, {len(done.requests)} requests")
    assert all(r["code"] < 400 or r["code"] == 404 for r in done.requests), done.requests


def test_a_breach_restarts_the_target(lab: Lab) -> None:
    lab.task(action="restart")
    lab.use("93m")
    lab.run()
    template = lab.get("deployment", "web")["spec"]["template"]["metadata"]
    assert template["annotations"] == {"kubectl.kubernetes.io/restartedAt": stamp(lab.now)}
    assert lab.events() == [("AITask", "Restarted"), ("Deployment", "Restarted")]


def test_a_notification_is_told_and_changes_nothing(lab: Lab) -> None:
    lab.task(action="notify")
    lab.use("93m")
    before = lab.get("deployment", "web")
    lab.run()
    assert lab.events() == [("AITask", "ThresholdBreached"), ("Deployment", "ThresholdBreached")]
    assert lab.get("deployment", "web")["metadata"] == before["metadata"]
    assert lab.status()["lastAction"]["type"] == "notify"


def test_a_dry_run_asks_the_server_and_changes_nothing(lab: Lab) -> None:
    lab.task(dryRun=True)
    lab.use("93m")
    done = lab.run()
    assert lab.get("deployment", "web")["spec"]["replicas"] == 3
    assert (len(done.rehearsals("deployments")), done.writes("deployments")) == (1, [])
    assert lab.status()["lastAction"]["result"] == "DryRun"
    assert lab.condition("ActionPermitted") == ("False", "DryRun")


def test_no_metrics_hold(lab: Lab) -> None:
    lab.task(comparison="LessThan", action="scale-down")
    done = lab.run()
    assert lab.condition("MetricsAvailable") == ("False", "NoData")
    assert done.requeue == "5s"
    assert lab.get("deployment", "web")["spec"]["replicas"] == 3
    assert "lastAction" not in lab.status()


def test_container_restarts_need_no_metrics_server(lab: Lab) -> None:
    pod = lab.pods()[0]
    ended = {"terminated": {"exitCode": 1, "finishedAt": stamp(lab.now - timedelta(seconds=30))}}
    pod["status"]["containerStatuses"][0]["lastState"] = ended
    lab.kubectl("replace", "--subresource=status", "-f", "-", manifest=pod)
    lab.task(metric={"type": "ContainerRestarts"}, threshold=3, action="restart")
    lab.run()
    assert lab.status()["observedValue"] == "1"


def test_what_cannot_work_is_said_in_the_status(lab: Lab) -> None:
    lab.task("no-target", targetDeployment="webb")
    lab.task("no-action", action="wiggle")
    lab.task("resting", suspend=True)
    waiting, wrong, resting = lab.run("no-target"), lab.run("no-action"), lab.run("resting")
    assert (lab.status("no-target")["phase"], waiting.requeue) == ("Pending", "5s")
    assert lab.condition("TargetFound", "no-target") == ("False", "TargetNotFound")
    assert (lab.status("no-action")["phase"], wrong.requeue) == ("Failed", None)
    assert lab.condition("Ready", "no-action") == ("False", "UnknownAction")
    assert (lab.status("resting")["phase"], resting.requeue) == ("Suspended", None)
    assert [r["resource"] for r in resting.requests] == ["aitasks", "aitasks/status"]
    assert lab.events() == [("AITask", "TargetNotFound"), ("AITask", "UnknownAction")]


def test_an_autoscaler_and_an_older_task_hold(lab: Lab) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    lab.task("older", action="restart")
    lab.use("93m")
    old = lab.get("aitask", "older")
    conditions = [
        {"type": kind, "status": "True", "reason": reason, "message": "", "lastTransitionTime": stamp(lab.now)}
        for kind, reason in (("MetricsAvailable", "Sampled"), ("ActionPermitted", "Permitted"))
    ]
    breached = {**old, "status": {"breached": True, "breaches": 1, "conditions": conditions}}
    lab.kubectl("replace", "--subresource=status", "-f", "-", manifest=breached)
    wait = old["metadata"]["creationTimestamp"]
    lab.task("younger")
    young = lab.get("aitask", "younger")
    assert young["metadata"]["creationTimestamp"] >= wait
    lab.run("younger")
    assert lab.condition("ActionPermitted", "younger") == ("False", "TargetConflict")
    lab.kubectl("delete", "at", "older")
    lab.apply(
        {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "web"},
            "spec": {"scaleTargetRef": target, "maxReplicas": 3},
        }
    )
    later(lab, 61)
    lab.use("93m")
    lab.run("younger")
    assert lab.condition("ActionPermitted", "younger") == ("False", "AutoscalerPresent")
    assert lab.get("deployment", "web")["spec"]["replicas"] == 3


def test_a_pass_that_was_given_an_old_task_does_not_act(lab: Lab) -> None:
    lab.task()
    old = lab.get("aitask", "t")
    lab.kubectl("annotate", "at", "t", "note=new")
    lab.use("93m")
    done = lab.run(task=old)
    assert (done.requeue, done.writes("deployments"), done.writes("aitasks/status")) == ("2s", [], [])


def test_a_task_that_was_deleted_meanwhile_fails_no_pass(lab: Lab) -> None:
    lab.task()
    gone = lab.get("aitask", "t")
    lab.kubectl("delete", "at", "t")
    lab.use("20m")
    done = lab.run(task=gone)
    assert 404 in [request["code"] for request in done.requests if request["resource"].startswith("aitasks")]


def test_the_guarded_patch_says_why_it_was_not_done(lab: Lab) -> None:
    """What the rules read in the result of the module: no contract of the module's says so, hence it is pinned here."""
    version = lab.get("deployment", "web")["metadata"]["resourceVersion"]
    patches = {
        "stale": {"name": "web", "version": "1", "replicas": 9, "reason": "Conflict"},
        "wrong": {"name": "web", "version": version, "replicas": -1, "reason": "Unprocessable Entity"},
        "gone": {"name": "gone", "version": version, "replicas": 9, "reason": None},
    }
    tasks: list[dict[str, Any]] = []
    for case, patch in patches.items():
        meta = {"name": patch["name"], "namespace": lab.namespace, "resourceVersion": patch["version"]}
        body = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": meta,
            "spec": {"replicas": patch["replicas"]},
        }
        given = {"aitask_object": {}, "__aitask_plan": {"definition": body}}
        tasks.append({"include_role": {"name": "aitask", "tasks_from": "act/patch.yml"}, "vars": given})
        tasks.append({"copy": {"content": "{{ __aitask_act | to_json }}", "dest": str(lab.directory / case)}})
    play = lab.directory / "patches.yml"
    play.write_text(json.dumps([{"hosts": "localhost", "connection": "local", "gather_facts": False, "tasks": tasks}]))
    done = lab.playbook(play)
    assert done.code == 0, done.output
    results = {case: json.loads((lab.directory / case).read_text()) for case in patches}
    assert {case: result.get("reason") for case, result in results.items()} == {
        case: patch["reason"] for case, patch in patches.items()
    }
    assert {case: "result" in result for case, result in results.items()} == {
        "stale": False,
        "wrong": False,
        "gone": True,
    }
    assert lab.get("deployment", "web")["spec"]["replicas"] == 3


def account(lab: Lab, *rights: str) -> Path:
    """The kubeconfig of an account that may write the status of tasks, and what is said besides."""
    lab.kubectl("create", "serviceaccount", "poor")
    tasks = "--resource=aitasks.aiops.example.com,aitasks.aiops.example.com/status"
    for number, right in enumerate((f"--verb=get,update,patch {tasks}", *rights)):
        lab.kubectl("create", "role", f"poor-{number}", *right.split())
        lab.kubectl(
            "create", "rolebinding", f"poor-{number}", f"--role=poor-{number}", f"--serviceaccount={lab.namespace}:poor"
        )
    made: Path = lab.cluster.service_account_kubeconfig(lab.namespace, "poor", lab.directory / "poor")
    return made


def test_a_target_that_may_not_be_read_is_said_to_be_forbidden(lab: Lab) -> None:
    lab.task()
    lab.run(kubeconfig=account(lab))
    assert lab.condition("Ready") == ("False", "Forbidden")


def test_a_role_that_fails_names_the_failing_task_and_fails(lab: Lab) -> None:
    """Whether there are rivals cannot be read: so nothing is done."""
    lab.task(metric={"type": "UnavailableReplicas"}, comparison="LessThanOrEqual", threshold=0)
    poor = account(lab, "--verb=get,patch --resource=deployments.apps")
    lab.run(kubeconfig=poor, fails=True)
    assert lab.condition("Ready") == ("False", "InternalError")
    message = next(c["message"] for c in lab.status()["conditions"] if c["type"] == "Ready")
    assert "Read the tasks with the same target" in message
    assert "orbidden" in message
    assert lab.get("deployment", "web")["spec"]["replicas"] == 3


def test_by_hand_the_playbook_does_one_pass(lab: Lab) -> None:
    lab.task()
    lab.use("93m")
    where = (f"-eaitask_namespace={lab.namespace}", "-eaitask_name=t", "-eaitask_min_pod_age_seconds=0")
    done = lab.playbook(ROOT / "playbooks" / "aitask.yml", *where)
    assert done.code == 0, done.output
    assert lab.get("deployment", "web")["spec"]["replicas"] == 4
