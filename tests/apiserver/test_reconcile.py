"""One object, its runs and its status (contract 4.4 to 4.6; cases D1, D3, D4)."""

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.api import Api, conditions, failed, state, succeeded, succeeded_at_generation
from tests.support.kinds import CONFIG_MAP, OTHER, THING
from tests.support.operator import Start
from tests.support.project import Project
from tests.support.waiting import until

pytestmark = pytest.mark.apiserver

RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
COMPLETION = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d*[1-9])?\+00:00")


def test_a_role_runs_with_the_variables_of_its_object_and_what_it_creates_goes_with_the_object(
    api: Api, namespace: str, project: Project, start: Start
) -> None:
    project.watches({**THING.watch, "role": "dump", "vars": {"from_watch": "{{ 40 + 2 }}", "replicas": 5}})
    project.role(
        "dump",
        """
        - name: Show what came in
          kubernetes.core.k8s:
            definition:
              apiVersion: v1
              kind: ConfigMap
              metadata:
                name: "{{ ansible_operator_meta.name }}-dump"
                namespace: "{{ ansible_operator_meta.namespace }}"
              data:
                dump: "{{ seen | to_json }}"
          vars:
            seen:
              meta: "{{ ansible_operator_meta }}"
              object: "{{ _test_example_com_thing }}"
              spec: "{{ _test_example_com_thing_spec }}"
              target_deployment: "{{ target_deployment }}"
              nested: "{{ nested }}"
              replicas: "{{ replicas }}"
              from_watch: "{{ from_watch }}"
        - name: Left out
          ansible.builtin.debug:
          when: false
        - name: Refused, but survived
          ansible.builtin.command: "false"
          ignore_errors: true
        """,
    )
    spec = {"targetDeployment": "web", "replicas": 2, "nested": [{"maxCPU": 1, "Disk-Type": "ssd"}]}
    operator = start()
    api.create(CONFIG_MAP, CONFIG_MAP.object("bystander", namespace))
    created = api.create(THING, THING.object("one", namespace, spec=spec))

    after = api.wait(THING, "one", namespace, succeeded)
    dumped = api.get(CONFIG_MAP, "one-dump", namespace)
    assert dumped
    seen = json.loads(dumped["data"]["dump"])
    assert seen["meta"] == {"name": "one", "namespace": namespace}
    assert seen["target_deployment"] == "web"
    assert seen["nested"] == [{"max_cpu": 1, "_disk_type": "ssd"}]
    assert (seen["replicas"], seen["from_watch"]) == (5, 42)
    assert seen["spec"] == spec
    assert seen["object"]["metadata"]["uid"] == created["metadata"]["uid"]
    assert conditions(seen["object"])["Running"]["reason"] == "Running"

    variables = json.loads(
        (operator.run_directory(THING.api_version, "Thing", namespace, "one") / "env/extravars").read_text()
    )
    assert set(variables) == {
        *("target_deployment", "replicas", "nested", "from_watch", "ansible_operator_meta"),
        *("_test_example_com_thing", "_test_example_com_thing_spec"),
    }

    running, successful, failure = after["status"]["conditions"]
    result = running.pop("ansibleResult")
    assert COMPLETION.fullmatch(result.pop("completion"))
    assert result == {"ok": 2, "changed": 2, "skipped": 1, "failures": 0}
    for condition in (running, successful, failure):
        assert RFC3339.fullmatch(condition.pop("lastTransitionTime"))
    common = {"observedGeneration": 1}
    assert running == {
        **common,
        "type": "Running",
        "status": "True",
        "reason": "Successful",
        "message": "Awaiting next reconciliation",
    }
    assert successful == {
        **common,
        "type": "Successful",
        "status": "True",
        "reason": "Successful",
        "message": "Last reconciliation succeeded",
    }
    assert failure == {**common, "type": "Failure", "status": "False", "reason": "Failed", "message": ""}
    assert operator.metric("ansible_operator_reconcile_result", GVK=THING.gvk, result="succeeded") == 1

    reference = {"apiVersion": THING.api_version, "kind": "Thing", "name": "one", "uid": created["metadata"]["uid"]}
    assert dumped["metadata"]["ownerReferences"] == [reference]
    api.delete(THING, "one", namespace)
    api.wait_gone(CONFIG_MAP, "one-dump", namespace)
    assert api.get(CONFIG_MAP, "bystander", namespace)
    assert len(operator.runs("one")) == 1


DUMP = """
    - name: Write down what came in
      ansible.builtin.copy:
        content: "{{ seen | to_json }}"
        dest: "{{ output }}/{{ ansible_operator_meta.name }}"
        mode: "0600"
      vars:
        object: "{{ lookup('ansible.builtin.vars', '_test_example_com_' + kind) }}"
        seen:
          action: "{{ action }}"
          note: "{{ object.metadata.annotations.note }}"
          text: "{{ object.status.text }}"
          count: "{{ count }}"
          flag: "{{ flag }}"
          from_watch: "{{ from_watch }}"
"""


def test_values_of_an_object_are_templated_only_where_the_watch_does_not_mark_them_unsafe(
    api: Api, namespace: str, project: Project, start: Start, tmp_path: Path
) -> None:
    common = {"role": "dump", "vars": {"output": str(tmp_path), "from_watch": "{{ 40 + 2 }}"}}
    project.watches(
        {**THING.watch, **common, "markUnsafe": True, "vars": {**common["vars"], "kind": "thing"}},
        {**OTHER.watch, **common, "markUnsafe": False, "vars": {**common["vars"], "kind": "other"}},
    )
    project.role("dump", DUMP)
    texts = {"action": "{{ 6 * 7 }}", "note": "{{ lookup('ansible.builtin.env', 'HOME') }}", "text": "{{ 'x' * 3 }}"}
    for kind, name, more in ((THING, "marked", {"list": [{"k": "{% raw %}"}]}), (OTHER, "plain", {})):
        spec = {"action": texts["action"], "count": 3, "flag": True, **more}
        api.create(kind, kind.object(name, namespace, spec=spec, metadata={"annotations": {"note": texts["note"]}}))
        api.patch(kind, name, namespace, {"status": {"text": texts["text"]}}, "status")
    operator = start(HOME="/nowhere/home", ANSIBLE_HOME=str(tmp_path / "ansible"))

    api.wait(THING, "marked", namespace, succeeded)
    api.wait(OTHER, "plain", namespace, succeeded)
    literal = json.loads((tmp_path / "marked").read_text())
    assert literal == {**texts, "count": 3, "flag": True, "from_watch": 42}
    templated = json.loads((tmp_path / "plain").read_text())
    assert templated == {
        "action": 42,
        "note": "/nowhere/home",
        "text": "xxx",
        "count": 3,
        "flag": True,
        "from_watch": 42,
    }
    warned = operator.records("values of objects are templated by Ansible; set markUnsafe: true")
    assert [record["gvk"] for record in warned] == [OTHER.gvk]
    status = api.get(THING, "marked", namespace)
    assert status and status["status"]["text"] == texts["text"], "a foreign key of the status is kept"


def test_a_load_error_ends_in_a_failure_that_heals_with_the_file_and_keeps_the_finalizer(
    api: Api, namespace: str, project: Project, start: Start
) -> None:
    finalizer = f"{namespace}.example.com/done"
    project.watches({**THING.watch, "role": "bad", "finalizer": {"name": finalizer, "vars": {"finalizing": True}}})
    project.role("bad", "- no_such_ns.x.module: {}")
    operator = start()
    created = api.create(THING, THING.object("living", namespace))
    api.create(THING, THING.object("doomed", namespace))

    api.wait(THING, "living", namespace, failed)
    first = next(obj for obj in api.history(THING, "living", namespace, created) if failed(obj))
    found = conditions(first)
    assert {kind: condition["status"] for kind, condition in found.items()} == {
        "Running": "False",
        "Failure": "True",
        "Successful": "False",
    }
    message = found["Failure"]["message"]
    assert "no_such_ns.x.module" in message
    assert "\x1b" not in message and "\r" not in message, "no colours of a terminal"
    assert found["Failure"]["reason"] == "Failed"
    assert all(condition["reason"] for condition in found.values())
    result = {"GVK": THING.gvk, "result": "failed"}
    assert operator.metric("ansible_operator_reconcile_result", **result) >= 2
    gaps = [r["seconds"] for r in operator.wait_log("will be tried again", count=3, name="living")]
    assert gaps[:3] == [0.005, 0.01, 0.02]

    api.delete(THING, "doomed", namespace)
    until(
        lambda: [run for run in operator.ended_runs("doomed") if run.finalizing],
        "the finalizer's run has failed",
        checks=api.checks,
    )
    doomed = api.get(THING, "doomed", namespace)
    assert doomed and doomed["metadata"]["finalizers"] == [finalizer]

    project.role("bad", "- ansible.builtin.debug: {msg: healed}")
    healed = api.wait(THING, "living", namespace, succeeded)
    assert state(healed, "Failure") == "False"
    api.wait_gone(THING, "doomed", namespace)
    last = operator.runs("doomed")[-1]
    assert last.finalizing and last.succeeded
    assert operator.metric("ansible_operator_reconcile_result", GVK=THING.gvk, result="succeeded") >= 2


def test_a_role_that_owns_its_status_sees_our_failure_only_while_it_cannot_report_itself(
    api: Api, namespace: str, project: Project, start: Start
) -> None:
    project.watches({**THING.watch, "role": "own", "manageStatus": False})
    project.role("own", "- no_such_ns.x.module: {}")
    operator = start()
    api.create(THING, THING.object("one", namespace))
    theirs = {"type": "Ready", "status": "Unknown", "reason": "Theirs", "extra": {"kept": True}}
    api.patch(THING, "one", namespace, {"status": {"phase": "Mine", "conditions": [theirs]}}, "status")

    broken = api.wait(THING, "one", namespace, failed)
    assert set(conditions(broken)) == {"Ready", "Failure"}
    assert "no_such_ns.x.module" in conditions(broken)["Failure"]["message"]

    project.role("own", "- ansible.builtin.fail: {msg: reported by the role}")
    api.wait(THING, "one", namespace, lambda obj: not failed(obj), "our condition is gone, though the play fails")
    project.role("own", "- ansible.builtin.debug: {msg: fine}")
    until(lambda: [run for run in operator.ended_runs("one") if run.succeeded], "a run succeeds", checks=api.checks)
    before = len(operator.runs("one"))
    api.patch(THING, "one", namespace, {"spec": {"again": 1}})
    operator.wait_runs(before + 1, "one")
    after = api.get(THING, "one", namespace)
    assert after and after["status"] == {"phase": "Mine", "conditions": [theirs]}


def test_requeue_after_finishes_the_play_first_and_the_first_request_counts(
    api: Api, namespace: str, project: Project, start: Start
) -> None:
    project.watches({**THING.watch, "role": "requeue"})
    project.role(
        "requeue",
        """
        - operator_sdk.util.requeue_after: {time: 1h}
          when: false
        - ansible.builtin.command: kubectl create configmap before
          ignore_errors: true
        - operator_sdk.util.requeue_after: {time: 4s}
        - operator_sdk.util.requeue_after: {time: 1h}
        - ansible.builtin.command: kubectl create configmap behind
          ignore_errors: true
        """,
    )
    operator = start()
    api.create(THING, THING.object("one", namespace))
    operator.wait_runs(1, "one")
    done = api.wait(THING, "one", namespace, succeeded)
    assert api.get(CONFIG_MAP, "before", namespace)
    assert api.get(CONFIG_MAP, "behind", namespace)
    assert conditions(done)["Running"]["message"] == "Awaiting next reconciliation"

    operator.wait_runs(2, "one")
    first, second = operator.runs("one")[:2]
    assert first.ended
    assert second.started - first.ended >= timedelta(seconds=3.9)


def test_a_bad_reconcile_period_is_a_failure_and_the_play_never_runs(
    api: Api, namespace: str, project: Project, start: Start
) -> None:
    project.watches({**THING.watch, "role": "fine", "manageStatus": False})
    project.role("fine", "- ansible.builtin.debug:")
    operator = start()
    period = "ansible.sdk.operatorframework.io/reconcile-period"
    api.create(THING, THING.object("one", namespace, metadata={"annotations": {period: "1d"}}))
    bad = api.wait(THING, "one", namespace, failed)
    message = conditions(bad)["Failure"]["message"]
    assert period in message and "1d" in message and "1h30m" in message
    assert operator.runs("one") == []

    api.patch(THING, "one", namespace, {"metadata": {"annotations": {period: None}}})
    api.wait(THING, "one", namespace, lambda obj: not failed(obj), "the failure goes with the next good run")
    assert [run.succeeded for run in operator.runs("one")] == [True]


def test_a_new_generation_during_a_run_leads_to_exactly_one_more(
    api: Api, namespace: str, project: Project, start: Start, tmp_path: Path
) -> None:
    project.watches({**THING.watch, "role": "wait", "vars": {"gate": str(tmp_path / "gate")}})
    project.role("wait", '- ansible.builtin.wait_for: {path: "{{ gate }}", timeout: 600}')
    operator = start()
    api.create(THING, THING.object("one", namespace, spec={"round": 0}))
    operator.wait_log("run started", name="one")
    for number in (1, 2, 3):
        api.patch(THING, "one", namespace, {"spec": {"round": number}})
    api.patch(THING, "one", namespace, {"metadata": {"labels": {"noise": "yes"}, "annotations": {"noise": "yes"}}})
    (tmp_path / "gate").touch()
    api.wait(THING, "one", namespace, succeeded_at_generation)
    first, second = operator.runs("one")
    assert first.ended and first.ended <= second.started
    variables: dict[str, Any] = json.loads(
        (operator.run_directory(THING.api_version, "Thing", namespace, "one") / "env/extravars").read_text()
    )
    assert variables["round"] == 3
