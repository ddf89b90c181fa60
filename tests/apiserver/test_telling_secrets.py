"""Nothing secret is told: not in the log at any level, in output, status or Events; and who may read the metrics."""

import base64
import json
import re
import ssl
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.support.api import Api, conditions, failed
from tests.support.kinds import OTHER, SECRET, THING, Kind
from tests.support.operator import OperatorProcess, Start
from tests.support.project import Project
from tests.support.waiting import until

pytestmark = pytest.mark.apiserver

EVENT = Kind("v1", "Event", "events")
PASSWORD = 'Tr0ub4dor & "3"'
CERTIFICATE = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\nAASCBKcwggSjAgEAAoIBAQC7\n-----END KEY-----\n"
JWT = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2lnbmF0dXJl"
HIDDEN = {name: f"n0-l0g-{name}" for name in ("failed", "looped", "raw", "debug")}
"""What nothing but no_log protects."""


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


PLANTED = {
    "password": PASSWORD,
    "password in base64": encoded(PASSWORD),
    "password in JSON": json.dumps(PASSWORD)[1:-1],
    "key": "MIIEvQIBADANBgkqhkiG9w0BAQEF",
    "key, second line": "AASCBKcwggSjAgEAAoIBAQC7",
    "key in base64": encoded(CERTIFICATE).rstrip("="),
    "JWT": JWT,
    "password of a URL": "pa55w0rd",
    **HIDDEN,
}

ROLE = """
    - name: Once is enough
      ansible.builtin.command: sleep 600
      when: (kept + '/' + ansible_operator_meta.name) is exists
    - name: Read the Secret
      kubernetes.core.k8s_info: {kind: Secret, name: plain, namespace: "{{ ansible_operator_meta.namespace }}"}
      register: found
    - name: Keep the token of this run where the test finds it
      ansible.builtin.copy:
        content: "{{ lookup('ansible.builtin.file', lookup('ansible.builtin.env', 'KUBECONFIG')) }}"
        dest: "{{ kept }}/{{ ansible_operator_meta.name }}"
        mode: "0600"
      no_log: true
    - name: Show a variable
      ansible.builtin.debug: {var: "found.resources[0].data"}
    - name: Remember
      ansible.builtin.set_fact:
        password: "{{ found.resources[0].data.password | b64decode }}"
        key: "{{ found.resources[0].data.key | b64decode }}"
    - name: Speak of {{ password }}
      ansible.builtin.debug: {msg: "{{ [password, key, {'nested': found.resources}] }}"}
    - name: Print
      ansible.builtin.command:
        argv: [sh, -c, 'echo "$0"; cat $KUBECONFIG; kubectl get secret plain -o yaml', "{{ password }} {{ key }}"]
      changed_when: false
    - name: Loop
      ansible.builtin.debug: {msg: "{{ item }}"}
      loop: ["{{ password }}", {k: "{{ key }}"}, "{{ access.users[0].user.token }}"]
      vars:
        access: "{{ lookup('ansible.builtin.file', lookup('ansible.builtin.env', 'KUBECONFIG')) | from_yaml }}"
    - {name: Hide 1, ansible.builtin.fail: {msg: "{{ hidden.failed }}"}, no_log: true, ignore_errors: true}
    - name: Hide 2
      ansible.builtin.fail: {msg: "{{ item }}"}
      loop: ["{{ hidden.looped }}"]
      no_log: true
      ignore_errors: true
    - {name: Hide 3, ansible.builtin.raw: "true {{ hidden.raw }}", no_log: true}
    - {name: Hide 4, ansible.builtin.debug: {msg: "{{ hidden.debug }}"}, no_log: true}
    - name: Fail over {{ password }}
      ansible.builtin.fail:
        msg: "{{ password }} / {{ password | b64encode }} / {{ key }} / Bearer JWT / https://me:pa55w0rd@db/x"
"""


def test_no_secret_is_told_at_any_level(
    api: Api, namespace: str, project: Project, start: Start, tmp_path: Path
) -> None:
    api.create(SECRET, SECRET.object("plain", namespace, stringData={"password": PASSWORD, "key": CERTIFICATE}))
    other = Project(tmp_path / "other")
    for kind, each in ((THING, project), (OTHER, other)):
        each.watches({**kind.watch, "role": "leak", "vars": {"kept": str(tmp_path), "hidden": HIDDEN}})
        each.role("leak", ROLE.replace("JWT", JWT))
    loud = {"annotations": {"ansible.sdk.operatorframework.io/verbosity": "4"}}
    api.create(THING, THING.object("everything", namespace, metadata=loud))
    api.create(OTHER, OTHER.object("tasks", namespace))
    api.create(OTHER, OTHER.object("raw", namespace, metadata=loud))
    everything = start("--ansible-log-events=everything", ANSIBLE_DEBUG_LOGS="true")
    tasks = start(project=other)
    places = ((THING, "everything"), (OTHER, "tasks"), (OTHER, "raw"))
    objects = [api.wait(kind, name, namespace, failed) for kind, name in places]

    kept = [(tmp_path / name).read_text() for _, name in places]
    planted = {**PLANTED, **{f"token of {text}": text for text in re.findall(r'"token": "([^"]+)"', "".join(kept))}}
    assert len(planted) >= len(PLANTED) + len(places), "each run has had a token"
    told = {
        "log of everything": everything.stderr + everything.stdout,
        "log of tasks": tasks.stderr + tasks.stdout,
        "status": json.dumps(objects),
        "events": json.dumps(api.list(EVENT, namespace)),
    }
    told |= {f"{name}, as text": text.replace("\\n", "\n").replace('\\"', '"') for name, text in list(told.items())}
    assert [(what, where) for what, text in planted.items() for where, said in told.items() if text in said] == []

    # And yet there is something to read.
    for obj in objects:
        assert conditions(obj)["Failure"]["message"].startswith("*** / *** / ")
    assert '"password": "***"' in told["log of everything, as text"]
    assert tasks.records("debug", name="tasks", task="Speak of ***")
    assert tasks.records("task failed", name="tasks", task="Fail over ***", ignored=False)
    assert [r["item"] for r in tasks.records("debug", name="tasks", task="Loop")][:3] == ["***", {"k": "***"}, "***"]
    assert tasks.records("output", name="raw", task="Print")
    assert [r["stdout"] for r in tasks.records("output", name="raw", task="Hide 3")][-1] == "hidden by no_log"
    assert everything.records("output"), "ANSIBLE_DEBUG_LOGS"
    started = [r["task"] for r in tasks.records("task started", name="tasks")]
    assert started[3:5] == ["Print", "Hide 1"]
    for record in (*tasks.records("task started"), *tasks.records("output"), *everything.records("event")):
        assert {"job", "namespace", "name", "gvk", "task"} <= set(record)


SEEN_BY_NO_RESULT = """
    - name: Look up
      ansible.builtin.set_fact:
        looked_up: "{{ lookup('kubernetes.core.k8s', kind='Secret', namespace=where, resource_name='looked-up')
          .data.password | b64decode }}"
      vars: {where: "{{ ansible_operator_meta.namespace }}"}
    - name: Read with kubectl, as YAML of a list
      ansible.builtin.command: kubectl get secrets -o custom-columns=:.data.password
      changed_when: false
      register: listed
    - name: Make one with kubectl
      ansible.builtin.command: kubectl create secret generic made --from-literal=password={{ made }}
    - name: Fail over {{ looked_up }}
      ansible.builtin.fail: {msg: "{{ looked_up }} / {{ made }} / {{ listed.stdout }}"}
"""


def test_a_secret_that_no_result_shows_is_hidden_as_well(
    api: Api, namespace: str, project: Project, start: Start
) -> None:
    values = {"looked-up": "l00ked-up-value", "listed": "l1sted-value"}
    for name, value in values.items():
        api.create(SECRET, SECRET.object(name, namespace, stringData={"password": value}))
    made = "m4de-value"
    project.watches({**THING.watch, "role": "leak", "vars": {"made": made}})
    project.role("leak", SEEN_BY_NO_RESULT)
    loud = {"annotations": {"ansible.sdk.operatorframework.io/verbosity": "4"}}
    api.create(THING, THING.object("one", namespace, metadata=loud))
    operator = start("--ansible-log-events=everything", ANSIBLE_DEBUG_LOGS="true")
    told = json.dumps(api.wait(THING, "one", namespace, failed)) + json.dumps(api.list(EVENT, namespace))
    told += operator.stderr + operator.stdout
    planted = [text for value in (*values.values(), made) for text in (value, encoded(value))]
    assert [text for text in planted if text in told] == []
    assert operator.records("task failed", name="one", task="Fail over ***", ignored=False) or "*** / *** / " in told


# --- who may read the metrics ----------------------------------------------------------------------------------------

CLUSTER_ROLE = Kind("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", namespaced=False)
CLUSTER_ROLE_BINDING = Kind(
    "rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False
)
SERVICE_ACCOUNT = Kind("v1", "ServiceAccount", "serviceaccounts")


def scrape(operator: OperatorProcess, token: str = "", scheme: str = "https") -> int:
    """The status of GET /metrics; 0 where the server speaks something else."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(f"{scheme}://127.0.0.1:{operator.metrics_port}/metrics", headers=headers)
    handlers = urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=ssl._create_unverified_context())
    try:
        with urllib.request.build_opener(*handlers).open(request, timeout=60) as response:
            assert b"ansible_operator_build_info" in response.read()
            return int(response.status)
    except urllib.error.HTTPError as error:
        with error:
            assert b"ansible_operator_build_info" not in error.read()
            return error.code
    except OSError:
        return 0


def account_token(api: Api, namespace: str, name: str) -> str:
    api.create(SERVICE_ACCOUNT, SERVICE_ACCOUNT.object(name, namespace))
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600}}
    token: str = api.request("POST", SERVICE_ACCOUNT.path(namespace, name, "token"), request)["status"]["token"]
    return token


def test_metrics_are_for_those_whom_rbac_lets_read_them(
    api: Api, namespace: str, project: Project, start: Start
) -> None:
    project.watches({**THING.watch, "role": "none"})
    project.role("none", "[]")
    stranger, reader = account_token(api, namespace, "stranger"), account_token(api, namespace, "reader")
    rules = [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    api.create(CLUSTER_ROLE, CLUSTER_ROLE.object(namespace, rules=rules))
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": namespace}
    subject = {"kind": "ServiceAccount", "name": "reader", "namespace": namespace}
    api.create(CLUSTER_ROLE_BINDING, CLUSTER_ROLE_BINDING.object(namespace, roleRef=reference, subjects=[subject]))
    try:
        operator = start("--metrics-secure", "--metrics-require-rbac")
        until(lambda: scrape(operator, reader) == 200, "the reader may read")
        assert scrape(operator) == 401
        assert scrape(operator, "no-token") == 401
        assert scrape(operator, stranger) == 403
        assert scrape(operator, reader, scheme="http") in (0, 400)
        assert not [what for what in (stranger, reader) if what in operator.stderr]
    finally:
        api.delete(CLUSTER_ROLE_BINDING, namespace)
        api.delete(CLUSTER_ROLE, namespace)


def test_metrics_may_be_secure_without_rbac(api: Api, namespace: str, project: Project, start: Start) -> None:
    project.watches({**THING.watch, "role": "none"})
    project.role("none", "[]")
    operator = start("--metrics-secure")
    assert scrape(operator) == 200
    assert scrape(operator, scheme="http") in (0, 400)
