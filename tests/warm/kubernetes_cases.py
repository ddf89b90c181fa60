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

_play(
    "second_cluster",
    """
    - kubernetes.core.k8s: {definition: &there {apiVersion: v1, kind: ConfigMap, metadata: {name: there, namespace: default}, data: {where: second}}, kubeconfig: '{{ second.kubeconfig }}'}
    - kubernetes.core.k8s_info: &find {api_version: v1, kind: ConfigMap, name: there, namespace: default}
      register: here
    - kubernetes.core.k8s_info: {<<: *find, kubeconfig: '{{ second.kubeconfig }}'}
      register: there
    - kubernetes.core.k8s_info: {<<: *find, kubeconfig: '{{ lookup("file", second.kubeconfig) | from_yaml }}'}
      register: by_content
    - kubernetes.core.k8s_info: {<<: *find, host: '{{ second.server }}', api_key: '{{ second.token }}', ca_cert: '{{ second.ca }}'}
      register: by_host
    - kubernetes.core.k8s_info: {<<: *find, host: '{{ second.server }}', api_key: '{{ second.token }}', validate_certs: false}
      register: unverified
    - kubernetes.core.k8s_info: *find
      environment: {K8S_AUTH_KUBECONFIG: '{{ second.kubeconfig }}'}
      register: by_environment
    - kubernetes.core.k8s_info: {<<: *find, context: '{{ second.context }}', kubeconfig: '{{ second.kubeconfig }}'}
      register: by_context
    - kubernetes.core.k8s_info: *find
      register: here_again
    - debug:
        msg: "{{ [here, there, by_content, by_host, unverified, by_environment, by_context, here_again] | map(attribute='resources') | map('length') | list }}"
    - debug:
        msg: "{{ query('kubernetes.core.k8s', kind='ConfigMap', namespace='default', resource_name='there') | length }} {{ query('kubernetes.core.k8s', kind='ConfigMap', namespace='default', resource_name='there', kubeconfig=second.kubeconfig) | length }}"
    - debug:
        msg: "{{ query('kubernetes.core.k8s', kind='ConfigMap', namespace='default', resource_name='there') | length }}"
    - debug:
        msg: "{{ query('kubernetes.core.k8s', kind='ConfigMap', namespace='default', resource_name='there', host=second.server, api_key=second.token) | length }}"
      ignore_errors: true
    - copy: {src: '{{ lookup("env", "KUBECONFIG") }}', dest: '{{ playbook_dir }}/moving', mode: '0600'}
      no_log: true
    - kubernetes.core.k8s_info: {<<: *find, kubeconfig: '{{ playbook_dir }}/moving'}
      register: before
    - copy: {src: '{{ second.kubeconfig }}', dest: '{{ playbook_dir }}/moving', mode: '0600'}
      no_log: true
    - kubernetes.core.k8s_info: {<<: *find, kubeconfig: '{{ playbook_dir }}/moving'}
      register: after
    - debug: {msg: '{{ before.resources | length }} {{ after.resources | length }}'}
    - kubernetes.core.k8s_info: {<<: *find, kubeconfig: '{{ second.kubeconfig }}', impersonate_user: nobody}
      ignore_errors: true
    - kubernetes.core.k8s_info: {<<: *find, kubeconfig: '{{ second.kubeconfig }}', impersonate_user: nobody, impersonate_groups: ['system:masters']}
      register: by_group
    - debug: {msg: '{{ by_group.resources | length }}'}
    - kubernetes.core.k8s: {definition: *there, state: absent, kubeconfig: '{{ second.kubeconfig }}'}
    """,
)
SECOND_CLUSTER = KUBERNETES_CASES.pop("second_cluster")
"""Where the second cluster is stands in its variable ``second``."""
