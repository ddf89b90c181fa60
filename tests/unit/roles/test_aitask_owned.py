"""The Deployment that a task owns: when it is made, changed, resized, and when it is left as it is."""

from __future__ import annotations

from typing import Any

import pytest
from aitask_rules.owned import TASK_UID, must_apply
from aitask_rules.report import open_pass
from aitask_rules.spec import parse_spec
from aitask_rules.takeover import taking

from tests.unit.roles.aitask_simulation import World, stamp

REQUESTED = "aiops.example.com/requested-replicas"


def template(image: str = "shop:1", **container: Any) -> dict[str, Any]:
    resources = {"requests": {"cpu": "100m"}}
    return {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "image": image, "resources": resources, **container}]},
    }


def world(**spec: Any) -> World:
    """A task that owns its target, which is not there yet."""
    made = World()
    made.task["spec"] |= {"template": template(), **spec}
    made.deployment = None
    return made


def made(**spec: Any) -> World:
    """The same after the first pass, with the pods running."""
    return world(**spec).run().settle()


def notes(here: World) -> dict[str, str]:
    assert here.deployment is not None
    found: dict[str, str] = here.deployment["metadata"]["annotations"]
    return found


def container(here: World) -> dict[str, Any]:
    assert here.deployment is not None
    found: dict[str, Any] = here.deployment["spec"]["template"]["spec"]["containers"][0]
    return found


def test_what_is_missing_is_made_and_is_the_tasks_own() -> None:
    here = world().run()
    (applied,) = here.applied
    assert applied["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "aiops.example.com/v1",
            "kind": "AITask",
            "name": "t",
            "uid": "task-uid",
            "controller": True,
            "blockOwnerDeletion": False,
        }
    ]
    assert applied["spec"]["selector"] == {"matchLabels": {TASK_UID: "task-uid"}}
    assert applied["spec"]["template"]["metadata"]["labels"] == {"app": "web", TASK_UID: "task-uid"}
    assert "replicas" not in applied["spec"]
    assert here.condition("TemplateApplied") == ("True", "Applied")
    assert (here.status["phase"], here.status["target"]["owned"]) == ("Pending", True)
    assert [event["reason"] for event in here.events] == ["TemplateApplied"]


def test_a_task_on_its_own_target_measures_and_acts_as_on_any_other() -> None:
    here = made().run(60, cpu="95m")
    assert (here.replicas, len(here.applied)) == (2, 1)
    here.settle().run(60)
    assert (len(here.applied), here.status["phase"]) == (1, "Running")


def test_what_goes_from_the_template_goes_and_replicas_stay() -> None:
    here = made(template=template(command=["serve"]), replicas=2)
    assert here.deployment is not None
    here.deployment["spec"]["replicas"] = 5
    here.edit(template=template("shop:2"))
    here.run(60)
    assert ("command" in container(here), container(here)["image"], here.replicas) == (False, "shop:2", 5)
    assert [event["reason"] for event in here.events] == ["TemplateApplied", "TemplateApplied"]
    here.settle().run(60)
    assert len(here.applied) == 2


def test_what_somebody_changes_is_brought_back() -> None:
    here = made()
    container(here)["image"] = "other:9"
    here.run(60)
    assert container(here)["image"] == "shop:1"
    assert here.deployment is not None
    here.deployment["metadata"]["labels"] = {}
    here.settle().run(60)
    assert here.deployment["metadata"]["labels"] == {"app.kubernetes.io/managed-by": "aitask-operator"}


def test_what_others_add_stays() -> None:
    here = made()
    container(here)["terminationMessagePath"] = "/dev/termination-log"
    notes(here)["team"] = "shop"
    assert here.deployment is not None
    here.deployment["spec"]["template"]["metadata"]["annotations"] = {"sidecar": "yes"}
    here.run(60)
    assert len(here.applied) == 1


@pytest.mark.parametrize(
    ("field", "written", "kept"),
    [
        ("resources", {"requests": {"cpu": "1000m"}}, {"requests": {"cpu": "1"}}),
        ("resources", {"requests": {"memory": "1024Mi"}}, {"requests": {"memory": "1Gi"}}),
        ("env", [{"name": "EMPTY", "value": ""}], [{"name": "EMPTY"}]),
        ("env", [{"name": "A", "value": "1"}], [{"name": "INJECTED", "value": "x"}, {"name": "A", "value": "1"}]),
        ("ports", [{"containerPort": 80}], [{"containerPort": 80, "protocol": "TCP"}]),
        ("stdin", None, False),
        ("stdin", False, None),
        ("resources", {"limits": {}}, {}),
        ("securityContext", {"allowPrivilegeEscalation": False}, {"allowPrivilegeEscalation": False}),
    ],
)
def test_what_the_server_writes_in_another_way_is_no_difference(field: str, written: Any, kept: Any) -> None:
    here = made(template=template(**{field: written}))
    container(here)[field] = kept
    here.run(60)
    assert len(here.applied) == 1


@pytest.mark.parametrize(
    ("field", "written", "kept"),
    [
        ("resources", {"requests": {"cpu": "1"}}, {"requests": {"cpu": "2"}}),
        ("args", ["--a", "--b"], ["--a"]),
        ("args", ["--a"], ["--b"]),
        ("env", [{"name": "A", "value": "1"}], [{"name": "B", "value": "1"}]),
        ("ports", [{"containerPort": 80}], []),
        ("tty", True, False),
        ("securityContext", {"allowPrivilegeEscalation": False}, {}),
        ("args", ["1"], ["01"]),
        ("args", ["1"], ["1.0"]),
        ("env", [{"name": "A", "value": "1"}], [{"name": "A", "value": "1000m"}]),
        ("livenessProbe", {"exec": {"command": ["a"]}}, {"httpGet": {"port": 80}}),
        ("volumes", [{"name": "v", "emptyDir": {}}], [{"name": "v", "hostPath": {"path": "/"}}]),
    ],
)
def test_what_is_different_is_applied_again(field: str, written: Any, kept: Any) -> None:
    here = made(template=template(**{field: written}))
    container(here)[field] = kept
    here.run(60)
    assert len(here.applied) == 2


def test_a_lost_deployment_is_made_again_with_its_size() -> None:
    here = made(replicas=4)
    assert (here.replicas, notes(here)[REQUESTED]) == (4, "4")
    here.deployment = None
    here.run(60)
    assert (here.replicas, len(here.applied)) == (4, 2)


def test_each_change_of_replicas_is_applied_once() -> None:
    here = made(replicas=2)
    assert here.deployment is not None
    here.deployment["spec"]["replicas"] = 7  # by hand
    here.settle().run(60)
    assert here.replicas == 7
    here.edit(replicas=3)
    here.run(60)
    assert (here.replicas, len(here.applied)) == (3, 1)
    here.edit(replicas=0)
    here.settle().run(60)
    assert here.replicas == 0
    here.edit(replicas=2)
    here.settle().run(60)
    assert here.replicas == 2


def test_with_an_autoscaler_replicas_are_said_not_to_be_applied() -> None:
    here = made(replicas=2)
    here.autoscalers = [
        {"metadata": {"name": "hpa"}, "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}}}
    ]
    here.edit(replicas=9)
    here.run(60)
    assert (here.replicas, here.condition("TemplateApplied")) == (2, ("False", "AutoscalerPresent"))
    assert "replicas 9 is not applied, HorizontalPodAutoscaler hpa scales web" in here.message("TemplateApplied")
    assert here.condition("MetricsAvailable") == ("True", "Sampled")
    here.autoscalers = []
    here.run(60)
    assert (here.replicas, here.condition("TemplateApplied")) == (9, ("True", "Applied"))


def test_what_an_act_changed_stays_until_the_template_is_edited() -> None:
    here = made(
        action="patchResources", patchResources={"container": "c", "cpuPercent": 50, "maxCPU": "1"}, policy={}
    ).run(60, cpu="95m")
    assert container(here)["resources"]["requests"]["cpu"] == "150m"
    assert here.condition("TemplateApplied") == ("True", "ChangedByAct")
    here.settle().run(60, cpu="10m")
    assert container(here)["resources"]["requests"]["cpu"] == "150m"
    here.edit(template=template("shop:2"))
    here.run(60)
    assert container(here)["resources"]["requests"]["cpu"] == "100m"
    assert here.condition("TemplateApplied") == ("True", "Applied")


def test_without_the_guard_nothing_is_made() -> None:
    here = world(replicas=2)
    here.guard = False
    here.run()
    assert (here.deployment, here.applied) == (None, [])
    assert (here.condition("Ready"), here.status["phase"]) == (("False", "GuardAbsent"), "Pending")
    here.guard = True
    here.run(5)
    assert here.replicas == 2


def test_a_template_that_the_server_refuses_is_said_and_waits_for_an_edit() -> None:
    here = world()
    here.refusal = {"msg": "Deployment web is invalid: spec.x: Required value", "reason": "Unprocessable Entity"}
    here.run()
    assert (here.condition("Ready"), here.status["phase"]) == (("False", "InvalidSpec"), "Failed")
    assert "spec.template cannot be applied: Deployment web is invalid" in here.message("Ready")
    assert here.plan["requeue"] == ""
    here.refusal = None
    here.edit(template=template("shop:2"))
    assert here.run().condition("Ready") == ("True", "Evaluated")


def test_a_missing_right_is_said_and_tried_again() -> None:
    here = world()
    here.refusal = {"msg": "deployments.apps is forbidden", "reason": "Forbidden"}
    here.run()
    assert (here.condition("Ready"), here.plan["requeue"]) == (("False", "Forbidden"), "5s")
    assert here.condition("TargetFound") == ("False", "TargetNotFound")


def test_in_a_namespace_that_ends_nothing_is_said() -> None:
    here = world()
    here.refusal = {"msg": "namespace ns is being terminated", "reason": "Forbidden"}
    assert here.run().plan == {"next": "stop"}


def test_somebody_elses_write_at_the_same_moment_is_looked_at_again() -> None:
    here = world()
    here.refusal = {"msg": "Apply failed with 1 conflict", "reason": "Conflict"}
    here.run()
    assert (here.plan["requeue"], here.writes) == ("2s", 0)


def test_a_task_that_rests_makes_nothing() -> None:
    here = world(suspend=True).run()
    assert (here.applied, here.condition("Suspended")) == ([], ("True", "SpecSuspend"))


def test_the_hash_follows_the_template_alone() -> None:
    here = made()
    seen = open_pass({"task": here.task, "spec": here.task["spec"], "now": stamp(here.now)}).task
    same = {**here.task["spec"], "threshold": 5, "replicas": 3, "suspend": True}
    assert here.deployment is not None
    assert not must_apply(parse_spec(same), seen, here.deployment)
    assert must_apply(parse_spec({**same, "template": template("shop:2")}), seen, here.deployment)


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("mode: Observe", "ObserveMode"),
        ("mode: Off", "OperatorOff"),
        ("mode: Sometimes", "OperatorOff"),
        ("excludedNamespaces: [ns]", "NamespaceExcluded"),
        ("allowedNamespaces: {team: shop}", "NamespaceExcluded"),
    ],
)
def test_the_rails_of_the_operator_hold_for_templates_too(file: str, reason: str) -> None:
    here = world(replicas=2)
    here.settings = {"resources": [{"data": {"config.yaml": file}}]}
    here.run()
    assert (here.applied, here.condition("Ready")) == ([], ("False", reason))
    here.settings = {"resources": []}
    here.run(5)
    assert here.replicas == 2
    here.settings = {"resources": [{"data": {"config.yaml": file}}]}
    here.edit(replicas=4)
    here.settle().run(60, cpu="50m")
    assert (here.replicas, here.condition("TemplateApplied")) == (2, ("False", reason))
    assert "would apply spec.template, but" in here.message("TemplateApplied")
    assert here.condition("Ready") == ("True", "Evaluated")  # what is there is looked at all the same
    assert here.condition("MetricsAvailable") == ("True", "Sampled")


def test_without_need_of_a_guard_a_template_is_applied() -> None:
    here = world(replicas=2)
    here.guard, here.require_guard = False, False
    assert here.run().replicas == 2


@pytest.mark.parametrize("action", ["restart", "scale-up", "notify"])
def test_a_task_whose_size_is_held_acts_all_the_same(action: str) -> None:
    here = made(replicas=2, action=action)
    here.autoscalers = [
        {"metadata": {"name": "hpa"}, "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}}}
    ]
    here.edit(replicas=9)
    here.run(60, cpu="95m")
    reason = "AutoscalerPresent" if action == "scale-up" else "Permitted"
    assert here.condition("ActionPermitted")[1] == reason
    assert here.condition("TemplateApplied") == ("False", "AutoscalerPresent")


def written(manager: str, operation: str, template: dict[str, Any], *notes: str) -> dict[str, Any]:
    """An entry of managedFields; everybody here has written something beside the pod template as well."""
    annotations = {f"f:{note}": {} for note in ("team", *notes)}
    fields = {"f:metadata": {"f:annotations": annotations}, "f:spec": {"f:replicas": {}, "f:template": template}}
    return {"manager": manager, "operation": operation, "apiVersion": "apps/v1", "fieldsV1": fields}


def entry(manager: str, found: dict[str, Any]) -> dict[str, Any]:
    """What one manager owns of the spec."""
    entries = found["metadata"]["managedFields"]
    owned: dict[str, Any] = next(one for one in entries if one["manager"] == manager)["fieldsV1"]["f:spec"]
    return owned


def shared() -> dict[str, Any]:
    """A Deployment in whose pod template an act and a person have written as well."""
    ours = written("aitask-template", "Apply", {"f:spec": {"f:a": {}}})
    act = written("client", "Update", {"f:spec": {"f:a": {}, "f:b": {".": {}}}}, "aiops.example.com/last-action")
    person = written("kubectl-edit", "Update", {"f:spec": {"f:c": {}}})
    status = {"manager": "kube-controller-manager", "operation": "Update", "subresource": "status", "fieldsV1": {}}
    return {
        "metadata": {
            "name": "web",
            "namespace": "ns",
            "resourceVersion": "7",
            "managedFields": [ours, act, person, status],
        }
    }


def test_what_an_act_has_written_becomes_the_templates_own() -> None:
    before = shared()
    patch = taking(before, everything=False)
    assert patch is not None
    assert patch["metadata"]["resourceVersion"] == "7"
    assert entry("aitask-template", patch)["f:template"] == {"f:spec": {"f:a": {}, "f:b": {".": {}}}}
    assert entry("client", patch) == {"f:replicas": {}}
    assert entry("kubectl-edit", patch)["f:template"] == {"f:spec": {"f:c": {}}}
    assert before == shared()
    assert taking({"metadata": {**before["metadata"], **patch["metadata"]}}, everything=False) is None


def test_after_a_refusal_it_is_what_anybody_has_written() -> None:
    patch = taking(shared(), everything=True)
    assert patch is not None
    assert entry("aitask-template", patch)["f:template"] == {"f:spec": {"f:a": {}, "f:b": {".": {}}, "f:c": {}}}
    assert len(patch["metadata"]["managedFields"]) == 4


@pytest.mark.parametrize("fields", [None, [], [{"manager": "x", "operation": "Update"}]])
def test_where_nobody_else_has_written_nothing_is_taken(fields: Any) -> None:
    assert taking({"metadata": {"name": "web", "managedFields": fields}}, everything=True) is None


def test_an_edit_after_an_act_takes_over_what_the_act_has_written_first() -> None:
    here = made(
        action="patchResources", patchResources={"container": "c", "cpuPercent": 50, "maxCPU": "1"}, policy={}
    ).run(60, cpu="95m")
    assert here.deployment is not None
    here.deployment["metadata"]["managedFields"] = shared()["metadata"]["managedFields"]
    here.settle().edit(template=template("shop:2"))
    here.run(60, cpu="10m")
    assert entry("client", here.deployment) == {"f:replicas": {}}
    assert here.condition("TemplateApplied") == ("True", "Applied")


def test_what_others_wrote_is_taken_over_where_it_makes_the_server_refuse() -> None:
    here = made()
    assert here.deployment is not None
    here.deployment["metadata"]["managedFields"] = shared()["metadata"]["managedFields"]
    container(here)["image"] = "other:9"
    here.refusal = {"msg": "may not be specified when `value` is not empty", "reason": "Unprocessable Entity"}
    here.run(60)
    assert (here.condition("Ready"), here.plan["requeue"]) == (("False", "InvalidSpec"), "5s")
    here.refusal = None
    here.run(5)
    assert "f:template" not in entry("kubectl-edit", here.deployment)
    assert (container(here)["image"], here.condition("Ready")) == ("shop:1", ("True", "Evaluated"))


def test_going_back_to_a_template_from_which_an_act_departed_is_an_edit_as_well() -> None:
    here = made(
        action="patchResources", patchResources={"container": "c", "cpuPercent": 50, "maxCPU": "1"}, policy={}
    ).run(60, cpu="95m")
    for image in ("shop:2", "shop:1"):
        here.settle().edit(template=template(image))
        here.run(60, cpu="10m")
    assert here.condition("TemplateApplied") == ("True", "Applied")
    container(here)["image"] = "other:9"
    here.settle().run(60)
    assert container(here)["image"] == "shop:1"


def test_a_restart_is_not_undone_by_the_time_of_another_in_the_template() -> None:
    pods = template()
    pods["metadata"]["annotations"] = {"kubectl.kubernetes.io/restartedAt": "2020-01-01T00:00:00Z", "a": "b"}
    here = made(template=pods, action="restart").run(60, cpu="95m")
    assert here.deployment is not None
    notes = here.deployment["spec"]["template"]["metadata"]["annotations"]
    assert notes == {"kubectl.kubernetes.io/restartedAt": stamp(here.now), "a": "b"}
    here.settle().run(60)
    assert len(here.applied) == 1


def test_an_apply_that_changed_nothing_is_not_told() -> None:
    here = made()
    here.edit(template={**template(), "metadata": {"labels": {"app": "web"}, "annotations": {}}})
    here.run(60)
    assert (len(here.applied), [event["reason"] for event in here.events]) == (2, ["TemplateApplied"])
