# ruff: noqa: E501 - a task in one line reads better than one cut to fit
"""Cases that talk to an API server. Each cleans up behind itself, so that it can be run twice."""

from __future__ import annotations

from textwrap import dedent, indent

from tests.warm.cases import Case

KUBERNETES_CASES: dict[str, Case] = {}


def _play(name: str, tasks: str) -> None:
    head = "- hosts: localhost\n  gather_facts: false\n  tasks:\n"
    KUBERNETES_CASES[name] = Case(head + indent(dedent(tasks).strip(), "    ") + "\n")


_play(
    "life_of_an_object",
    """
    - kubernetes.core.k8s: &object
        definition: {apiVersion: v1, kind: ConfigMap, metadata: {name: warm, namespace: default}, data: {a: b}}
    - kubernetes.core.k8s: *object
    - kubernetes.core.k8s_info: {api_version: v1, kind: ConfigMap, name: warm, namespace: default}
      register: found
    - debug: {msg: '{{ found.resources[0].data }}'}
    - kubernetes.core.k8s_json_patch: {api_version: v1, kind: ConfigMap, name: warm, namespace: default, patch: [{op: add, path: /data/c, value: d}]}
    - kubernetes.core.k8s: {state: patched, kind: ConfigMap, name: warm, namespace: default, definition: {data: {c: e}}}
    - kubernetes.core.k8s: {apply: true, hidden_fields: [metadata.managedFields, metadata.creationTimestamp, metadata.resourceVersion], definition: {apiVersion: v1, kind: ConfigMap, metadata: {name: warm, namespace: default}, data: {x: 'a{{ 1 + 1 }}'}}}
      diff: true
    - kubernetes.core.k8s: {definition: {apiVersion: v1, kind: ConfigMap, metadata: {name: warm, namespace: default}, data: {y: z}}}
      check_mode: true
    - kubernetes.core.k8s: {state: absent, api_version: v1, kind: ConfigMap, name: warm, namespace: default, wait: true}
    - kubernetes.core.k8s: {state: absent, api_version: v1, kind: ConfigMap, name: warm, namespace: default}
    """,
)
_play(
    "many_at_once",
    """
    - kubernetes.core.k8s:
        state: '{{ item }}'
        definition:
          - {apiVersion: v1, kind: ConfigMap, metadata: {name: m1, namespace: default}}
          - {apiVersion: v1, kind: Secret, metadata: {name: m2, namespace: default}, stringData: {p: hidden}}
      loop: [present, absent]
      loop_control: {label: '{{ item }}'}
    - kubernetes.core.k8s_info: {kind: Namespace, label_selectors: [nothing=here]}
    - kubernetes.core.k8s_cluster_info:
      register: info
      no_log: true
    - assert: {that: info.version.server.kubernetes.major == '1'}
    """,
)
_play(
    "failures",
    """
    - kubernetes.core.k8s: {definition: {apiVersion: v1, kind: ConfigMap, metadata: {name: Bad_Name, namespace: default}}}
      ignore_errors: true
    - kubernetes.core.k8s: {definition: {apiVersion: none.example.com/v1, kind: Nothing, metadata: {name: x}}}
      ignore_errors: true
    - kubernetes.core.k8s: {definition: {apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: gone}}}
      ignore_errors: true
    - kubernetes.core.k8s: {nonsense: 1}
      ignore_errors: true
    - kubernetes.core.k8s: {src: gone.yml}
      ignore_errors: true
    - kubernetes.core.k8s_info: {kind: ConfigMap, name: kube-root-ca.crt, namespace: default, api_key: wrong, host: '{{ lookup("env", "KUBECONFIG") and "https://127.0.0.1:1" }}'}
      ignore_errors: true
    - kubernetes.core.k8s_info: {kind: Namespace, name: default, kubeconfig: /nonexistent}
      ignore_errors: true
    - kubernetes.core.k8s_info: {kind: Namespace, name: default, context: nope}
      ignore_errors: true
    - kubernetes.core.k8s_info: {kind: Namespace, name: default, impersonate_user: nobody}
      ignore_errors: true
    - kubernetes.core.k8s_info: {kind: Namespace, name: default}
      environment: {K8S_AUTH_IMPERSONATE_USER: nobody}
      ignore_errors: true
    - kubernetes.core.k8s_info: {kind: Namespace, name: default}
      register: r
    - debug: {msg: '{{ r.resources | length }} {{ lookup("kubernetes.core.k8s", kind="Namespace", resource_name="default").metadata.name }}'}
    - kubernetes.core.k8s_info: {kind: Namespace, name: default}
      timeout: 30
    """,
)
