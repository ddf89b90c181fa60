"""``--proxy-allow-anonymous``: the way the Go operator let everybody in, for sidecars and ``uri:`` tasks."""

from __future__ import annotations

from pathlib import Path

import pytest

from localcluster import Cluster
from localcluster.ports import free_port
from tests.support.api import Api, succeeded
from tests.support.kinds import CONFIG_MAP, THING
from tests.support.operator import Start
from tests.support.project import Project

pytestmark = pytest.mark.apiserver

BOTH_WAYS = """
    - name: A task that knows no kubeconfig
      ansible.builtin.uri:
        url: http://localhost:{{ port }}/api/v1/namespaces/{{ ansible_operator_meta.namespace }}/configmaps
        method: POST
        body_format: json
        body: {apiVersion: v1, kind: ConfigMap, metadata: {name: by-uri}}
        status_code: 201
    - name: One that has it
      ansible.builtin.shell: |
        set -eu
        echo '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "by-kubectl"}}' | kubectl create -f -
        kubectl config view -o jsonpath='{.clusters[0].cluster.server}' >{{ output }}/server
"""


def test_whoever_comes_is_let_in_on_the_known_port_without_an_owner_and_runs_have_another_port(
    cluster: Cluster, api: Api, namespace: str, project: Project, start: Start, tmp_path: Path
) -> None:
    port = free_port([])
    project.watches({**THING.watch, "role": "both", "vars": {"output": str(tmp_path), "port": port}})
    project.role("both", BOTH_WAYS)
    operator = start("--proxy-allow-anonymous", f"--proxy-port={port}")
    assert operator.records("the proxy lets in whoever comes", url=f"http://127.0.0.1:{port}")
    anybody = Api(f"http://127.0.0.1:{port}", cluster.ca_file, "")
    assert anybody.list(CONFIG_MAP, namespace)

    api.create(THING, THING.object("one", namespace))
    api.wait(THING, "one", namespace, succeeded)
    owned = {name: "ownerReferences" in api.request("GET", CONFIG_MAP.path(namespace, name))["metadata"]
             for name in ("by-uri", "by-kubectl")}  # fmt: skip
    assert owned == {"by-uri": False, "by-kubectl": True}
    server = (tmp_path / "server").read_text()
    own_port = int(server.rpartition(":")[2])
    assert server == f"https://127.0.0.1:{own_port}"
    assert {port, own_port} < operator.listening_ports()
