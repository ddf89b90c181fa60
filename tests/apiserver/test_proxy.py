"""The proxy as runs see it: access by token, any client, any request (contract 4.8, case D6; design.md 5)."""

import json
from pathlib import Path

import pytest
import yaml

from tests.support.api import Api, Refused, succeeded
from tests.support.kinds import CONFIG_MAP, OTHER, SECRET, THING
from tests.support.operator import OperatorProcess, Start
from tests.support.project import Project
from tests.support.waiting import until

pytestmark = pytest.mark.apiserver

KEEP_ACCESS = """
    - name: Show the run's access
      ansible.builtin.copy:
        src: "{{ lookup('ansible.builtin.env', 'KUBECONFIG') }}"
        dest: "{{ output }}/kubeconfig-{{ ansible_operator_meta.name }}"
        mode: "0600"
"""
EVERY_VERB = """
    - name: Every verb
      ansible.builtin.shell: |
        set -eux
        test "$KUBECONFIG" = "$K8S_AUTH_KUBECONFIG"
        case ",$NO_PROXY," in *,127.0.0.1,*) ;; *) exit 1 ;; esac
        kubectl version >/dev/null
        kubectl delete configmap typed --ignore-not-found
        kubectl create configmap typed --from-literal=sent=protobuf
        echo '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "cm"}, "data": {"round": "0"}}' >cm.json
        kubectl create -f cm.json
        kubectl get configmap cm -o name
        kubectl get configmaps --selector 'of in (nobody)' -o name
        url=/api/v1/namespaces/{{ namespace }}
        watch="watch=1&timeoutSeconds=600&fieldSelector=metadata.name%3Dcm"
        version=$(kubectl get configmap cm -o jsonpath='{.metadata.resourceVersion}')
        kubectl get --raw "$url/configmaps?$watch&resourceVersion=$version" >watched.json &
        kubectl patch configmap cm --type merge -p '{"data": {"round": "1"}}'
        sed 's/"0"/"2"/' cm.json | kubectl apply -f -
        sed 's/"0"/"3"/' cm.json | kubectl apply --server-side --force-conflicts -f -
        kubectl delete configmap cm --wait=false
        until grep DELETED watched.json; do sleep 0.1; done
        kill $!
        test "$(grep -c MODIFIED watched.json)" -ge 3
        kubectl get --raw $url/secrets >large.json
        kubectl get secrets -o name | wc -l >count
        if kubectl get configmap nobody 2>refused; then exit 1; fi
        grep NotFound refused
      args: {chdir: "{{ output }}", executable: /bin/bash}
      vars: {namespace: "{{ ansible_operator_meta.namespace }}"}
"""


def client_of(kubeconfig: Path, token: str | None = None) -> Api:
    config = yaml.safe_load(kubeconfig.read_text())
    cluster = config["clusters"][0]["cluster"]
    given = config["users"][0]["user"]["token"] if token is None else token
    return Api(cluster["server"], Path(cluster["certificate-authority"]), given)


def refusal(client: Api, namespace: str) -> int:
    with pytest.raises(Refused) as refused:
        client.list(CONFIG_MAP, namespace)
    return refused.value.status


def test_a_run_does_everything_through_the_proxy_that_its_kubeconfig_names_and_nobody_else_does(
    api: Api, namespace: str, project: Project, start: Start, tmp_path: Path
) -> None:
    variables = {"output": str(tmp_path), "gate": str(tmp_path / "gate")}
    project.watches({**THING.watch, "role": "verbs", "vars": variables, "watchDependentResources": False})
    project.role("verbs", KEEP_ACCESS + EVERY_VERB + '    - ansible.builtin.wait_for: {path: "{{ gate }}"}\n')
    for number in range(25):
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"large{number}"}}
        api.request("POST", f"/api/v1/namespaces/{namespace}/secrets", {**secret, "stringData": {"x": "y" * 400_000}})
    operator = start()
    api.create(THING, THING.object("one", namespace))
    kubeconfig = tmp_path / "kubeconfig-one"
    until(lambda: (tmp_path / "count").exists() or operator.ended_runs(), "all requests are made", 120, api.checks)

    during = client_of(kubeconfig)
    assert during.server == f"https://127.0.0.1:{operator.proxy_port}"
    assert {obj["metadata"]["name"] for obj in during.list(CONFIG_MAP, namespace)} >= {"typed"}
    assert refusal(client_of(kubeconfig, token=""), namespace) == 401
    assert refusal(client_of(kubeconfig, token="wrong"), namespace) == 401
    assert json.loads(kubeconfig.read_text())["contexts"][0]["context"]["namespace"] == namespace

    (tmp_path / "gate").touch()
    api.wait(THING, "one", namespace, succeeded)
    assert refusal(during, namespace) == 401, "the token dies with its run"
    large = (tmp_path / "large.json").read_text()
    assert len(large) > 10_000_000
    assert json.loads(large)["items"] == api.list(SECRET, namespace)
    assert int((tmp_path / "count").read_text()) == 25


def test_two_operators_on_one_host_keep_to_their_ports_even_with_one_work_directory(
    api: Api, namespace: str, project: Project, start: Start, tmp_path: Path
) -> None:
    other = Project(tmp_path / "other")
    project.watches({**THING.watch, "role": "use", "vars": {"output": str(tmp_path)}})
    other.watches({**OTHER.watch, "role": "use", "vars": {"output": str(tmp_path)}})
    for each in (project, other):
        each.role("use", KEEP_ACCESS + "    - ansible.builtin.command: kubectl get pods\n")
    shared = tmp_path / "shared"
    operators = {
        "one": start(work_dir=shared),
        "two": start(project=other, work_dir=shared),
    }
    late = start(f"--proxy-port={operators['one'].proxy_port}", work_dir=shared, ready=False)
    assert late.wait_exit() == 1
    api.create(THING, THING.object("one", namespace))
    api.create(OTHER, OTHER.object("two", namespace))
    api.wait(THING, "one", namespace, succeeded)
    api.wait(OTHER, "two", namespace, succeeded)
    for name, operator in operators.items():
        assert client_of(tmp_path / f"kubeconfig-{name}").server == f"https://127.0.0.1:{operator.proxy_port}"
        assert operator.listening_ports() == {operator.proxy_port, operator.metrics_port, operator.probe_port}


BACKGROUND = """
    - name: A background job, in the first round
      ansible.builtin.shell: |
        until test -e {{ output }}/job; do sleep 0.1; done
        kubectl get pods && echo done >{{ output }}/answered
      async: 600
      poll: 0
      when: round == 1
    - name: The second round
      when: round == 2
      block:
        - ansible.builtin.wait_for: {path: "{{ output }}/second"}
        - ansible.builtin.command: kubectl get pods
"""


def test_a_background_job_keeps_its_access_and_its_end_takes_none_from_the_next_run(
    api: Api, namespace: str, project: Project, start: Start, tmp_path: Path
) -> None:
    project.watches({**THING.watch, "role": "jobs", "vars": {"output": str(tmp_path)}})
    project.role("jobs", KEEP_ACCESS + BACKGROUND)
    operator = start()
    api.create(THING, THING.object("one", namespace, spec={"round": 1}))
    api.wait(THING, "one", namespace, succeeded)
    first = client_of(tmp_path / "kubeconfig-one")
    assert first.list(CONFIG_MAP, namespace)

    api.patch(THING, "one", namespace, {"spec": {"round": 2}})
    operator.wait_log("task started", count=2, task="Show the run's access")
    (tmp_path / "job").touch()
    until((tmp_path / "answered").exists, "the job has had its answer", checks=api.checks)
    until(lambda: revoked(first, namespace), "the token has died with the job", checks=api.checks)
    (tmp_path / "second").touch()
    operator.wait_runs(2, "one")
    assert [run.succeeded for run in operator.runs("one")] == [True, True]
    operator_has_forgotten_its_runs(operator)


def revoked(client: Api, namespace: str) -> bool:
    try:
        client.list(CONFIG_MAP, namespace)
    except Refused as refused:
        return refused.status == 401
    return False


def operator_has_forgotten_its_runs(operator: OperatorProcess) -> None:
    until(lambda: not operator.run_processes(), "no process of a run is left")
