"""What kubectl creates with its generators comes as protobuf, and is owned like everything else (contract 4.8)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ansible_operator.model.gvk import ObjectKey
from ansible_operator.model.owner import Owner
from localcluster import Cluster
from tests.support.api import Api
from tests.support.kinds import CONFIG_MAP, THING
from tests.support.proxied_run import ProxiedRun, proxied_run

pytestmark = pytest.mark.apiserver

NEAR = (
    *("configmap NAME --from-literal=a=b", "secret generic NAME --from-literal=a=b", "serviceaccount NAME"),
    *("role NAME --verb=get --resource=pods", "deployment NAME --image=example.com/i:1 --replicas=0", "quota NAME"),
    *("cronjob NAME --image=example.com/i:1 --schedule=@daily", "ingress NAME --rule=a.example.com/x*=web:80"),
    "poddisruptionbudget NAME --selector=a=b --min-available=1",
)
FAR = ("namespace NAME", "clusterrole NAME --verb=get --resource=pods", "priorityclass NAME --value=1")


@pytest.fixture
async def run(cluster: Cluster, api: Api, namespace: str, tmp_path: Path) -> AsyncIterator[ProxiedRun]:
    """Its owner exists, so that the garbage collector leaves what it owns."""
    thing = api.create(THING, THING.object("one", namespace))
    async with proxied_run(cluster, tmp_path, namespace) as place:
        place.owner = Owner(place.owner.gvk, ObjectKey(namespace, "one"), thing["metadata"]["uid"])
        yield place.another()


def contents(obj: Any) -> Any:
    """Without what the server fills in anew for each."""
    metadata = {key: obj["metadata"][key] for key in ("name", "namespace", "labels") if key in obj["metadata"]}
    return {**{key: value for key, value in obj.items() if key != "status"}, "metadata": metadata}


@pytest.mark.parametrize("what", [*NEAR, *FAR], ids=lambda what: what.split(maxsplit=1)[0])
async def test_what_kubectl_creates_is_owned_and_nothing_else_of_it_is_changed(
    cluster: Cluster, namespace: str, run: ProxiedRun, what: str
) -> None:
    name = f"{namespace[-6:]}-made"
    command = ("create", *what.replace("NAME", name).split(), "-o", "json")
    where = () if what in FAR else ("--namespace", namespace)
    expected = await run.kubectl(*command, *where, "--dry-run=server", KUBECONFIG=str(cluster.kubeconfig))
    try:
        made = await run.kubectl(*command, "-v=8")
        assert made.status == 0, made.stderr
        sent = made.stderr.partition('verb="POST"')[2].partition("Response")[0]
        assert "Content-Type: application/vnd.kubernetes.protobuf" in sent
        obj = json.loads(made.stdout)
        if what in NEAR:
            assert obj["metadata"]["ownerReferences"] == [run.owner.reference()]
        else:
            assert obj["metadata"]["annotations"] == run.owner.annotations()
        assert contents(obj) == contents(json.loads(expected.stdout))
        assert {child.by_annotation for child in run.children} == {what in FAR}
    finally:
        await run.kubectl("delete", what.split(maxsplit=1)[0], name, "--ignore-not-found", "--wait=false")


async def test_a_body_in_yaml_gets_an_owner_as_well(namespace: str, run: ProxiedRun) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: by-yaml\ndata:\n  since: 2026-01-31\n"
    path = CONFIG_MAP.path(namespace)
    made = json.loads(await asyncio.to_thread(run.api.raw, "POST", path, body, Content_Type="application/yaml"))
    assert made["metadata"]["ownerReferences"] == [run.owner.reference()]
    assert made["data"] == {"since": "2026-01-31"}
