"""What a run creates becomes its object's, and nothing else does (contract 4.8; cases D5, D9; design.md 5)."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.api import Api, Object, succeeded, succeeded_at_generation
from tests.support.kinds import CLUSTER_ROLE, CONFIG_MAP, DEPLOYMENT, GADGET, LEASE, PLANET, THING, WIDGET
from tests.support.operator import OperatorProcess, Start
from tests.support.project import Project
from tests.support.waiting import until

pytestmark = pytest.mark.apiserver

PRIMARY = "operator-sdk/primary-resource"
MATRIX = """
    - hosts: localhost
      gather_facts: false
      vars:
        me: "{{ ansible_operator_meta }}"
        child: {apiVersion: v1, kind: ConfigMap, data: {made: by hand}}
        free: {ansible.sdk.operatorframework.io/inject-owner: "false"}
      tasks:
        - name: A namespace that only the URL names
          ansible.builtin.command:
            cmd: kubectl create --raw /apis/apps/v1/namespaces/{{ me.namespace }}/deployments -f -
            stdin: "{{ deployment | to_json }}"
          vars:
            deployment:
              apiVersion: apps/v1
              kind: Deployment
              metadata: {name: "{{ me.name }}"}
              spec:
                paused: true
                selector: {matchLabels: {app: "{{ me.name }}"}}
                template:
                  metadata: {labels: {app: "{{ me.name }}"}}
                  spec: {containers: [{name: main, image: example.com/main:1}]}
          register: made
          failed_when: made.rc != 0 and 'AlreadyExists' not in made.stderr
        - name: No namespace, another one, and one without an owner
          ansible.builtin.command:
            cmd: kubectl apply -f -
            stdin: "{{ {'apiVersion': 'v1', 'kind': 'List', 'items': items} | to_json }}"
          vars:
            items:
              - apiVersion: rbac.authorization.k8s.io/v1
                kind: ClusterRole
                metadata: {name: "{{ me.namespace }}-{{ me.name }}"}
                rules: []
              - "{{ child | combine({'metadata': {'name': me.name + '-far', 'namespace': far}}) }}"
              - "{{ child | combine({'metadata': {'name': me.name + '-free', 'annotations': free}}) }}"
        - name: The rest
          when: full
          block:
            - name: Server-side apply of an object of our own, and of a stranger's
              kubernetes.core.k8s:
                namespace: "{{ me.namespace }}"
                apply: true
                server_side_apply: {field_manager: role, force_conflicts: true}
                resource_definition:
                  - "{{ child | combine({'metadata': {'name': me.name + '-applied'}}) }}"
                  - "{{ child | combine({'metadata': {'name': 'stranger'}}) }}"
            - name: A PUT that creates
              ansible.builtin.command:
                cmd: kubectl replace --raw {{ leases }}/{{ me.name }} -f -
                stdin: "{{ lease | to_json }}"
              vars:
                leases: /apis/coordination.k8s.io/v1/namespaces/{{ me.namespace }}/leases
                lease:
                  apiVersion: coordination.k8s.io/v1
                  kind: Lease
                  metadata: {name: "{{ me.name }}", namespace: "{{ me.namespace }}"}
                  spec: {holderIdentity: somebody}
              register: put
              failed_when: put.rc != 0 and 'resourceVersion' not in put.stderr
            - name: A PUT that leaves the owner out
              ansible.builtin.command:
                cmd: kubectl replace --raw /api/v1/namespaces/{{ me.namespace }}/configmaps/{{ me.name }}-applied -f -
                stdin: "{{ child | combine({'metadata': {'name': me.name + '-applied'}}) | to_json }}"
            - name: A dry run
              ansible.builtin.command:
                cmd: kubectl apply --dry-run=server -f -
                stdin: '{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "dry"}}'
"""
CLUSTER_SCOPED = """
    - hosts: localhost
      gather_facts: false
      tasks:
        - ansible.builtin.command:
            cmd: kubectl --namespace {{ far }} apply -f -
            stdin: '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "{{ ansible_operator_meta.name }}"}}'
"""


def owners(obj: Object | None) -> list[dict[str, Any]]:
    assert obj
    return obj["metadata"].get("ownerReferences", [])


def reference(owner: Object) -> dict[str, str]:
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
    }


def test_what_a_run_creates_is_owned_and_watched_and_what_it_only_touches_is_not(
    api: Api, namespace: str, namespace2: str, project: Project, start: Start
) -> None:
    near, far = namespace, namespace2
    project.playbook("matrix.yml", MATRIX)
    project.playbook("planet.yml", CLUSTER_SCOPED)
    everything, some = {"far": far, "full": True}, {"far": far, "full": False}
    project.watches(
        {**GADGET.watch, "playbook": "matrix.yml", "vars": everything},
        {**WIDGET.watch, "playbook": "matrix.yml", "vars": some, "watchClusterScopedResources": True},
        {**PLANET.watch, "playbook": "planet.yml", "vars": some},
    )
    api.create(CONFIG_MAP, CONFIG_MAP.object("stranger", near, data={"of": "somebody"}))
    planet_name = f"planet-{far}"
    planet = api.create(PLANET, PLANET.object(planet_name))
    gadget = api.create(GADGET, GADGET.object("gadget", near))
    widget = api.create(WIDGET, WIDGET.object("widget", near))
    operator = start(watch="")
    try:
        for kind, name in ((GADGET, "gadget"), (WIDGET, "widget"), (PLANET, planet_name)):
            api.wait(kind, name, "" if kind == PLANET else near, succeeded)
        _all_is_owned_as_it_should(api, gadget, near, far)
        assert owners(api.get(DEPLOYMENT, "widget", near)) == [reference(widget)]
        assert owners(api.get(CONFIG_MAP, planet_name, far)) == [reference(planet)]

        api.patch(GADGET, "gadget", near, {"spec": {"again": True}})
        api.wait(GADGET, "gadget", near, succeeded_at_generation)
        _all_is_owned_as_it_should(api, gadget, near, far)

        watched = {record["kind"] for record in operator.records("watching dependents")}
        assert watched == {
            *("/v1, Kind=ConfigMap", "apps/v1, Kind=Deployment", "coordination.k8s.io/v1, Kind=Lease"),
            "rbac.authorization.k8s.io/v1, Kind=ClusterRole",
        }, "a dry run leaves no watch"
        _changes_of_dependents_lead_to_runs(api, operator, near, far)

        api.delete(GADGET, "gadget", near)
        for kind, name in ((DEPLOYMENT, "gadget"), (CONFIG_MAP, "gadget-applied"), (LEASE, "gadget")):
            api.wait_gone(kind, name, near, 180)
        kept = [(CONFIG_MAP, "stranger", near), (CONFIG_MAP, "gadget-free", near), (CONFIG_MAP, "gadget-far", far)]
        for kind, name, where in [*kept, (CLUSTER_ROLE, f"{near}-gadget", "")]:
            assert api.get(kind, name, where), name
    finally:
        api.delete(PLANET, planet_name)
        for name in ("gadget", "widget"):
            if api.get(CLUSTER_ROLE, f"{near}-{name}"):
                api.delete(CLUSTER_ROLE, f"{near}-{name}")


def _all_is_owned_as_it_should(api: Api, owner: Object, near: str, far: str) -> None:
    name, kind = owner["metadata"]["name"], owner["kind"]
    for child_kind, child in ((DEPLOYMENT, name), (CONFIG_MAP, f"{name}-applied"), (LEASE, name)):
        assert owners(api.get(child_kind, child, near)) == [reference(owner)], child
    expected = {PRIMARY: f"{near}/{name}", f"{PRIMARY}-type": f"{kind}.test.example.com"}
    for child_kind, child, where in ((CONFIG_MAP, f"{name}-far", far), (CLUSTER_ROLE, f"{near}-{name}", "")):
        obj = api.get(child_kind, child, where)
        assert obj and owners(obj) == []
        assert {key: text for key, text in obj["metadata"]["annotations"].items() if key in expected} == expected
    for child in ("stranger", f"{name}-free"):
        obj = api.get(CONFIG_MAP, child, near)
        assert obj and owners(obj) == []
        assert PRIMARY not in (obj["metadata"].get("annotations") or {})


def _changes_of_dependents_lead_to_runs(api: Api, operator: OperatorProcess, near: str, far: str) -> None:
    """The widget's object of the same kind is changed last: once that has led to a run, the gadget's has been seen."""
    noise = {"metadata": {"annotations": {"noise": "yes"}}}
    before = len(operator.runs("gadget"))
    api.patch(CLUSTER_ROLE, f"{near}-gadget", "", noise)
    _leads_to_a_run(api, operator, "widget", lambda: api.patch(CLUSTER_ROLE, f"{near}-widget", "", noise))
    condition = {"type": "Odd", "status": "True", "reason": "Test", "message": "only the status changes"}
    api.patch(DEPLOYMENT, "gadget", near, {"status": {"conditions": [condition]}}, "status")
    _leads_to_a_run(api, operator, "widget", lambda: api.patch(DEPLOYMENT, "widget", near, noise))
    assert len(operator.runs("gadget")) == before

    _leads_to_a_run(api, operator, "gadget", lambda: api.delete(DEPLOYMENT, "gadget", near))
    api.wait(DEPLOYMENT, "gadget", near, lambda obj: "deletionTimestamp" not in obj["metadata"], "is made again")
    change = {"data": {"made": "by another"}}
    _leads_to_a_run(api, operator, "gadget", lambda: api.patch(CONFIG_MAP, "gadget-far", far, change))
    api.wait(CONFIG_MAP, "gadget-far", far, lambda obj: obj["data"]["made"] == "by hand", "is put right")


def _leads_to_a_run(api: Api, operator: OperatorProcess, name: str, change: Callable[[], Any]) -> None:
    operator.wait_runs(len(operator.runs(name)), name)
    before = len(operator.runs(name))
    change()
    until(lambda: len(operator.runs(name)) > before, f"a run of {name} starts", checks=api.checks)


LISTED = """
    - name: Look
      kubernetes.core.k8s_info:
        api_version: v1
        kind: ConfigMap
        namespace: "{{ ansible_operator_meta.namespace }}"
        label_selectors: ["of={{ ansible_operator_meta.name }}"]
      register: found
    - name: Make it where it is missing
      ansible.builtin.command:
        cmd: kubectl create -f -
        stdin: >-
          {"apiVersion": "v1", "kind": "ConfigMap",
           "metadata": {"generateName": "child-", "labels": {"of": "{{ ansible_operator_meta.name }}"}}}
      when: not found.resources
"""


def children(api: Api, namespace: str) -> list[Object]:
    return [obj for obj in api.list(CONFIG_MAP, namespace) if "of" in obj["metadata"].get("labels", {})]


def test_dependents_are_watched_again_after_a_restart_though_the_role_only_lists_them(
    api: Api, namespace: str, namespace2: str, project: Project, start: Start
) -> None:
    both = f"{namespace}, {namespace2}"
    project.watches({**THING.watch, "role": "lists"})
    project.role("lists", LISTED)
    first = start(watch=both)
    api.create(THING, THING.object("one", namespace))
    api.wait(THING, "one", namespace, succeeded)
    (child,) = children(api, namespace)
    assert first.stop() == 0

    second = start(watch=both)
    second.wait_runs(1, "one")
    assert [obj["metadata"]["uid"] for obj in children(api, namespace)] == [child["metadata"]["uid"]]
    api.delete(CONFIG_MAP, child["metadata"]["name"], namespace)
    until(
        lambda: [obj for obj in children(api, namespace) if obj["metadata"]["uid"] != child["metadata"]["uid"]],
        "the dependent is made again",
        checks=api.checks,
    )
