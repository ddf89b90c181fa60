"""Answers from memory are those of the API server, and a run reads what was written (rows 60, 61; issue 5)."""

import asyncio
import json
import ssl
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from ansible_operator.model.gvk import GVK
from ansible_operator.model.owner import INJECT_OWNER
from localcluster import Cluster
from tests.support.api import Api, Refused, conditions, succeeded
from tests.support.kinds import CONFIG_MAP, CRD, NAMESPACE, SERVICE_ACCOUNT, THING, Kind, definition
from tests.support.operator import Start
from tests.support.project import Project
from tests.support.proxied_run import ProxiedRun, proxied_run
from tests.support.waiting import until

pytestmark = pytest.mark.apiserver

ROLE = Kind("rbac.authorization.k8s.io/v1", "Role", "roles")
ROLE_BINDING = Kind("rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings")


@pytest.fixture
async def run(cluster: Cluster, api: Api, namespace: str, tmp_path: Path) -> AsyncIterator[ProxiedRun]:
    """The operator watches ConfigMaps."""
    async with proxied_run(cluster, tmp_path, namespace, GVK("", "v1", "ConfigMap")) as place:
        yield place


def told(run: ProxiedRun, path: str) -> tuple[bool, Any]:
    """Whether an answer comes from memory, and the answer."""
    context = ssl.create_default_context(cafile=str(run.proxy.authority_file))
    handlers = urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
    opener = urllib.request.build_opener(*handlers)
    headers = {"Authorization": f"Bearer {run.token}", "Accept": "application/json"}
    with opener.open(urllib.request.Request(run.proxy.url + path, headers=headers), timeout=90) as response:
        return response.headers.get("X-Cache") == "HIT", json.loads(response.read())


def comparable(answer: Any) -> Any:
    """Without what a store does not keep, and with what a list of the API server leaves to be understood."""
    for obj in answer.get("items", [answer]):
        obj["metadata"].pop("managedFields", None)
        if "items" in answer:
            obj |= {"apiVersion": "v1", "kind": "ConfigMap"}
    if "items" in answer:
        answer["metadata"].pop("resourceVersion")
    return answer


async def test_what_is_told_from_memory_is_what_the_api_server_says(api: Api, namespace: str, run: ProxiedRun) -> None:
    for number, tier in enumerate(["gold", "silver", "gold"]):
        labels = {"tier": tier, "number": str(number)}
        parts = {"data": {"text": "\u2028 ü", "long": "x" * 10_000, "empty": ""}, "binaryData": {"b": "/w=="}}
        api.create(CONFIG_MAP, CONFIG_MAP.object(f"c{number}", namespace, metadata={"labels": labels}, **parts))
    base = CONFIG_MAP.path(namespace)
    store = run.informers.whole("", "v1", "configmaps", namespace)
    assert store is not None
    await asyncio.to_thread(until, lambda: len(store.store) >= 4, "the watch has delivered all, with the CA's")
    queries = ["", "?labelSelector=tier%3Dgold", "?labelSelector=tier!%3Dgold,number", "?labelSelector=tier+in+(gold)"]
    queries += ["?limit=2", "?fieldSelector=metadata.name%3Dc1", "?resourceVersion=0", "?labelSelector=tier%21%3Dgold"]
    from_memory = []
    for path in (f"{base}/c1", *(base + query for query in queries)):
        hit, answer = await asyncio.to_thread(told, run, path)
        truth = await asyncio.to_thread(api.request, "GET", path)
        if "continue" not in answer["metadata"]:
            assert comparable(answer) == comparable(truth), path
        if hit:
            from_memory.append(path.removeprefix(base))
    equal, unequal = "?labelSelector=tier%3Dgold", "?labelSelector=tier%21%3Dgold"
    assert from_memory == ["/c1", "", equal, "?resourceVersion=0", unequal]


async def test_a_list_from_memory_is_where_a_watch_can_begin(api: Api, namespace: str, run: ProxiedRun) -> None:
    base = CONFIG_MAP.path(namespace)
    hit, listed = await asyncio.to_thread(told, run, base)
    assert hit
    api.create(CONFIG_MAP, CONFIG_MAP.object("new", namespace))
    version = listed["metadata"]["resourceVersion"]

    def added() -> list[str]:
        """What a watch tells in a second."""
        lines = run.api.raw("GET", f"{base}?watch=1&timeoutSeconds=1&resourceVersion={version}").splitlines()
        return [event["object"]["metadata"]["name"] for event in map(json.loads, lines) if event["type"] == "ADDED"]

    await asyncio.to_thread(until, lambda: "new" in added(), "the watch tells of what came after the list")


async def test_whoever_writes_reads_it_and_so_does_the_next_run(namespace: str, run: ProxiedRun) -> None:
    path = CONFIG_MAP.path(namespace, "mine")
    free = {"annotations": {INJECT_OWNER: "false"}}  # the garbage collector would take it: the run's owner is made up

    def write_and_read() -> None:
        place = run
        for number in range(30):
            writer = place.api
            if number % 10 == 0:
                writer.create(CONFIG_MAP, CONFIG_MAP.object("mine", namespace, metadata=free, data={"n": str(number)}))
            else:
                writer.patch(CONFIG_MAP, "mine", namespace, {"data": {"n": str(number)}})
            place = place.another()
            for reader in (writer, place.api):
                assert reader.request("GET", path)["data"] == {"n": str(number)}
                listed = reader.request("GET", CONFIG_MAP.path(namespace))["items"]
                assert [obj["data"]["n"] for obj in listed if obj["metadata"]["name"] == "mine"] == [str(number)]
            if number % 10 == 9:
                writer.delete(CONFIG_MAP, "mine", namespace)
                place = place.another()
                assert writer.get(CONFIG_MAP, "mine", namespace) is None
                assert place.api.get(CONFIG_MAP, "mine", namespace) is None

    await asyncio.to_thread(write_and_read)


# --- discovery -------------------------------------------------------------------------------------------------------


def new_kind(namespace: str) -> Kind:
    name = f"New{namespace[-6:]}"
    return Kind("test.example.com/v1", name.capitalize(), f"{name.lower()}s")


def groups(run: ProxiedRun, kind: Kind) -> bool:
    """Whether a run is told of a kind."""
    return kind.plural in [resource["name"] for resource in told(run, f"/apis/{kind.api_version}")[1]["resources"]]


async def test_a_kind_that_a_run_has_made_is_there_for_it_and_for_others(
    api: Api, namespace: str, run: ProxiedRun
) -> None:
    kind = new_kind(namespace)
    name = f"{kind.plural}.test.example.com"
    assert not await asyncio.to_thread(groups, run, kind)
    assert (await run.kubectl("get", "things")).status == 0
    try:
        made = await run.kubectl("apply", "-f", "-", stdin=json.dumps(definition(kind)).encode())
        assert made.status == 0, made.stderr
        waited = await run.kubectl("wait", "--for=condition=Established", f"crd/{name}", "--timeout=90s")
        assert waited.status == 0, waited.stderr
        used = await run.kubectl("apply", "-f", "-", stdin=json.dumps(kind.object("x", namespace)).encode())
        assert used.status == 0, used.stderr
        assert await asyncio.to_thread(groups, run.another(), kind)
    finally:
        api.delete(CRD, name)


@pytest.mark.parametrize("watched", [True, False], ids=["watched", "RBAC forbids to watch"])
async def test_a_kind_that_somebody_else_has_made_is_told_when_it_is_asked_for(
    cluster: Cluster, api: Api, namespace: str, tmp_path: Path, watched: bool
) -> None:
    kind = new_kind(namespace)
    name = f"{kind.plural}.test.example.com"
    api.create(SERVICE_ACCOUNT, SERVICE_ACCOUNT.object("operator", namespace))
    account = cluster.service_account_kubeconfig(namespace, "operator", tmp_path / "account")
    credentials = cluster.kubeconfig if watched else account
    async with proxied_run(cluster, tmp_path, namespace, credentials=credentials) as run:
        assert not await asyncio.to_thread(groups, run, kind)
        api.create(CRD, definition(kind))
        try:
            established = lambda obj: conditions(obj).get("Established", {}).get("status") == "True"  # noqa: E731
            await asyncio.to_thread(api.wait, CRD, name, "", established, "is served")
            # The same run asks again, as clients do for a kind they don't find; it is there as soon as anywhere.
            seen = await asyncio.to_thread(until, lambda: groups(run, kind), "the kind is told")
            assert seen
        finally:
            api.delete(CRD, name)


# --- rights ----------------------------------------------------------------------------------------------------------


def test_what_rbac_forbids_is_not_watched_which_is_said_once_and_holds_up_nothing(
    cluster: Cluster, api: Api, namespace: str, project: Project, start: Start, tmp_path: Path
) -> None:
    everything = {"apiGroups": ["test.example.com"], "resources": ["*"], "verbs": ["*"]}
    only_some = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create", "patch"]}
    events = {"apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]}
    api.create(ROLE, ROLE.object("operator", namespace, rules=[everything, only_some, events]))
    api.create(SERVICE_ACCOUNT, SERVICE_ACCOUNT.object("operator", namespace))
    subject = {"kind": "ServiceAccount", "name": "operator", "namespace": namespace}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "operator"}
    api.create(ROLE_BINDING, ROLE_BINDING.object("operator", namespace, roleRef=reference, subjects=[subject]))
    project.watches({**THING.watch, "role": "make"})
    project.role(
        "make",
        """
        - ansible.builtin.command:
            cmd: kubectl apply --server-side -f -
            stdin: '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "child"}, "data": {"a": "b"}}'
        """,
    )
    operator = start(kubeconfig=cluster.service_account_kubeconfig(namespace, "operator", tmp_path / "account"))
    api.create(THING, THING.object("one", namespace))
    api.wait(THING, "one", namespace, succeeded)
    operator.wait_log("not watched: the operator may not list and watch this kind; once it may, it will")
    api.patch(THING, "one", namespace, {"spec": {"again": True}})
    operator.wait_runs(2, "one")
    said = [record["msg"] for record in operator.records(logger="informer")]
    assert said == ["not watched: the operator may not list and watch this kind; once it may, it will"]
    assert operator.probe("/readyz")[0] == 200
    assert operator.probe("/healthz")[0] == 200
    child = api.get(CONFIG_MAP, "child", namespace)
    assert child and child["metadata"]["ownerReferences"]


def test_the_proxy_refuses_what_the_operator_may_not_in_the_api_servers_words(
    cluster: Cluster, api: Api, namespace: str, tmp_path: Path
) -> None:
    api.create(SERVICE_ACCOUNT, SERVICE_ACCOUNT.object("nobody", namespace))
    account = cluster.service_account_kubeconfig(namespace, "nobody", tmp_path / "account")

    async def test() -> None:
        async with proxied_run(cluster, tmp_path, namespace, credentials=account) as run:
            with pytest.raises(Refused, match="cannot list resource") as refused:
                await asyncio.to_thread(run.api.list, NAMESPACE)
            assert refused.value.status == 403

    asyncio.run(test())
