"""The ledger of acts on a real API server: what its module reads and writes, and what a task shows that it holds."""

import json
from typing import Any

import pytest

from tests.roles.aitask_lab import Lab, Pass, stamp

pytestmark = [pytest.mark.apiserver, pytest.mark.slow]

ALWAYS = {"metric": {"type": "UnavailableReplicas"}, "comparison": "LessThanOrEqual", "threshold": 0}
SETTINGS = {"excludedNamespaces": [], "storm": {"percent": 25, "minTasks": 3}}


def run(lab: Lab) -> Pass:
    """A pass of a role whose operator lives in the namespace of the lab, and watches no other."""
    watched = {"aitask_operator_namespace": lab.namespace, "aitask_watched_namespaces": [lab.namespace]}
    done = lab.run(**watched)
    assert [r for r in done.requests if r["code"] == 403] == []
    return done


def said(lab: Lab) -> tuple[str, str]:
    entry = next(c for c in lab.status()["conditions"] if c["type"] == "ActionPermitted")
    return entry["reason"], entry["message"]


def ledger(lab: Lab) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(lab.get("configmap", "aitask-ledger")["data"]["ledger.json"])
    return found


def others(lab: Lab, *, breached: bool, **spec: Any) -> None:
    """Three more tasks; breached is what their status says."""
    for number in range(3):
        name = f"{spec.get('action', 'scale-up')}-{number}".lower()
        lab.task(name, targetDeployment="another", **spec)
        status = {**lab.get("aitask", name), "status": {"breached": breached}}
        lab.kubectl("replace", "--subresource=status", "-f", "-", manifest=status)


def test_a_storm_is_counted_by_the_server_and_holds(lab: Lab) -> None:
    """Nine of ten tasks are breached, but three of them only tell something, and three rehearse: they do not count."""
    lab.own_rails(SETTINGS)
    others(lab, breached=True)
    others(lab, breached=True, action="notify")
    others(lab, breached=True, action="restart", dryRun=True)
    lab.task(**ALWAYS)
    done = run(lab)
    reason, message = said(lab)
    words = f"storm in namespace {lab.namespace}: 3 of 10 tasks were breached when last counted, not before"
    assert (reason, words in message) == ("Storm", True), message
    assert done.writes("deployments") == []
    found = ledger(lab)
    assert (found["acts"], found["stormUntil"], list(found["storms"])) == ([], None, [lab.namespace])
    print(f"held pass: {done.executed} tasks, {len(done.requests)} requests")


def test_a_ledger_that_is_lost_or_broken_holds_and_heals(lab: Lab) -> None:
    lab.own_rails(SETTINGS)
    lab.task(**ALWAYS)
    lab.kubectl("delete", "configmap", "aitask-ledger")
    run(lab)
    reason, message = said(lab)
    cure = f"kubectl -n {lab.namespace} create configmap aitask-ledger"
    assert (reason, cure in message) == ("GlobalLimit", True), message
    lab.kubectl(*cure.split()[1:])
    lab.kubectl("patch", "configmap", "aitask-ledger", "--type=merge", "-p", '{"data":{"ledger.json":"{"}}')
    run(lab)
    reason, message = said(lab)
    assert (reason, "ledger.json is no JSON" in message) == ("GlobalLimit", True), message
    patch = ["patch", "configmap", "aitask-ledger", "--type=merge", "-p", '{"data":null}']
    assert " ".join(patch[:4]) in message
    lab.kubectl(*patch)
    run(lab)
    assert lab.get("deployment", "web")["spec"]["replicas"] == 4
    (act,) = ledger(lab)["acts"]
    assert (act["id"], act["task"]) == (lab.status()["lastAction"]["id"], f"{lab.namespace}/t")
    assert act["until"] > stamp(lab.now)


def test_only_a_namespace_with_the_labels_asked_for_is_acted_in(lab: Lab) -> None:
    lab.own_rails({**SETTINGS, "allowedNamespaces": {"team": "shop"}})
    lab.kubectl("label", "namespace", lab.namespace, "team=bank")
    lab.task(**ALWAYS)
    done = run(lab)
    reason, message = said(lab)
    words = f"the operator acts in namespaces with labels (allowedNamespaces), and {lab.namespace} has no team=shop"
    assert (reason, words in message) == ("NamespaceExcluded", True), message
    assert (done.writes("deployments"), lab.get("deployment", "web")["spec"]["replicas"]) == ([], 3)
    lab.kubectl("label", "--overwrite", "namespace", lab.namespace, "team=shop")
    run(lab)
    assert (said(lab)[0], lab.get("deployment", "web")["spec"]["replicas"]) == ("Permitted", 4)
