"""Which writes get an owner (docs/architecture.md; case D5), against a cluster of a few dicts."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
import yaml

from ansible_operator.kube.client import Client
from ansible_operator.kube.discovery import Discovery
from ansible_operator.model.errors import NotFound, Unavailable
from ansible_operator.model.gvk import GVK, ObjectKey, Resource
from ansible_operator.model.owner import INJECT_OWNER, Owner, is_owned
from ansible_operator.proxy.grants import Child, Grant
from ansible_operator.proxy.ownership import APPLY, Ownership, Write
from ansible_operator.proxy.protobuf import PROTOBUF, add, read
from ansible_operator.proxy.requestinfo import RequestInfo, request_info
from tests.unit.proxy.test_protobuf import BARE

ALL = frozenset({"create", "delete", "get", "list", "patch", "update", "watch"})
CONFIG_MAPS = Resource(GVK("", "v1", "ConfigMap"), "configmaps", True, ALL)
CLUSTER_ROLES = Resource(GVK("rbac.authorization.k8s.io", "v1", "ClusterRole"), "clusterroles", False, ALL)
REVIEWS = Resource(
    GVK("authorization.k8s.io", "v1", "SubjectAccessReview"), "subjectaccessreviews", False, frozenset({"create"})
)
OWNER = Owner(GVK("aiops.example.com", "v1", "AITask"), ObjectKey("a", "web"), "uid-1")
IN_A, IN_B = "/api/v1/namespaces/a/configmaps", "/api/v1/namespaces/b/configmaps"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
JSON, MERGE = "application/json", "application/merge-patch+json"


@dataclass
class Cluster:
    """What the proxy asks the API server for. ``objects`` are those that exist, by path."""

    objects: dict[str, dict[str, Any]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    broken: bool = False

    async def by_plural(self, group: str, version: str, plural: str) -> Resource:
        if self.broken:
            raise Unavailable(503, "", "down")
        for resource in (CONFIG_MAPS, CLUSTER_ROLES, REVIEWS):
            if (resource.gvk.group, resource.gvk.version, resource.plural) == (group, version, plural):
                return resource
        raise NotFound(404, "NotFound", plural)

    async def get(self, resource: Resource, key: ObjectKey) -> dict[str, Any]:
        path = resource.path(key.namespace, key.name)
        self.asked.append(path)
        if path not in self.objects:
            raise NotFound(404, "NotFound", path)
        return self.objects[path]


@dataclass
class Sent:
    """What went upstream, and the children that were reported."""

    body: bytes
    children: list[Child]

    @property
    def object(self) -> dict[str, Any]:
        obj: dict[str, Any] = yaml.safe_load(self.body)
        return obj

    @property
    def owned(self) -> bool:
        return is_owned(self.object, OWNER)


def body(**metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", **metadata}, "data": {"k": "v"}}


async def send(
    method: str,
    path: str,
    obj: Any,
    cluster: Cluster | None = None,
    *,
    content_type: str = JSON,
    inject: bool = True,
    dry_run: bool = False,
    of_chart: bool = False,
) -> Sent:
    """Through the proxy's part that looks at bodies."""
    cluster = cluster or Cluster()
    ownership = Ownership(cast(Client, cluster), cast(Discovery, cluster))
    info = request_info(path)
    data = obj if isinstance(obj, bytes) else json.dumps(obj).encode()
    children: list[Child] = []
    if info is None or not ownership.may_create(method, info, content_type):
        return Sent(data, children)
    grant = Grant(OWNER, inject, children.append, of_chart=of_chart)
    return Sent(await ownership.prepare(grant, Write(method, info, content_type, dry_run, data)), children)


# --- POST ------------------------------------------------------------------------------------------------------------


async def test_a_created_object_refers_to_its_owner_though_its_body_names_no_namespace() -> None:
    sent = await send("POST", IN_A, body())
    assert sent.object["metadata"]["ownerReferences"] == [OWNER.reference()]
    assert sent.children == [Child(CONFIG_MAPS, "a", by_annotation=False)]


@pytest.mark.parametrize(("path", "resource", "namespace"), [(IN_B, CONFIG_MAPS, "b"), (ROLES, CLUSTER_ROLES, "")])
async def test_across_namespaces_annotations_take_the_references_place(
    path: str, resource: Resource, namespace: str
) -> None:
    sent = await send("POST", path, body())
    assert "ownerReferences" not in sent.object["metadata"]
    assert sent.object["metadata"]["annotations"] == OWNER.annotations()
    assert sent.children == [Child(resource, namespace, by_annotation=True)]


async def test_the_rest_of_the_body_stays() -> None:
    sent = await send("POST", IN_A, {**body(labels={"x": "y"}), "extra": [1, None]})
    assert sent.object["data"] == {"k": "v"}
    assert sent.object["metadata"]["labels"] == {"x": "y"}
    assert sent.object["extra"] == [1, None]


async def test_a_body_that_is_owned_already_is_sent_as_it_is_and_reported() -> None:
    data = json.dumps(body(ownerReferences=[OWNER.reference()]), indent=3).encode()
    sent = await send("POST", IN_A, data)
    assert sent.body == data
    assert len(sent.children) == 1


@pytest.mark.parametrize("inject", [True, False], ids=["with owners", "without"])
async def test_what_asks_to_stay_unowned_stays_and_is_no_child(inject: bool) -> None:
    data = json.dumps(body(annotations={"ansible.sdk.operatorframework.io/inject-owner": "false"})).encode()
    sent = await send("POST", IN_A, data, inject=inject)
    assert (sent.body, sent.children) == (data, [])


@pytest.mark.parametrize("of_chart", [True, False], ids=["chart", "role"])
async def test_what_helm_keeps_has_no_owner_where_a_chart_is_released(of_chart: bool) -> None:
    sent = await send("POST", IN_A, body(annotations={"helm.sh/resource-policy": "keep"}), of_chart=of_chart)
    assert (sent.owned, len(sent.children)) == (not of_chart, int(not of_chart))


async def test_without_owner_references_nothing_is_touched_or_asked() -> None:
    cluster = Cluster()
    data = json.dumps(body()).encode()
    sent = await send("PUT", f"{IN_A}/c", data, cluster, inject=False)
    assert (sent.body, sent.children, cluster.asked) == (data, [], [])


async def test_a_dry_run_gets_an_owner_but_makes_no_child() -> None:
    sent = await send("POST", IN_A, body(), dry_run=True)
    assert sent.owned
    assert sent.children == []


# --- apply -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("existing", "owned"),
    [
        (None, True),
        (body(ownerReferences=[OWNER.reference()]), True),
        (body(), False),
        (body(ownerReferences=[{**OWNER.reference(), "uid": "another"}]), False),
    ],
    ids=["not there", "ours", "a stranger's", "another's"],
)
@pytest.mark.parametrize(("method", "content_type"), [("PATCH", APPLY), ("PUT", JSON)], ids=["apply", "PUT"])
async def test_what_exists_is_owned_only_if_it_was_ours(
    existing: dict[str, Any] | None, owned: bool, method: str, content_type: str
) -> None:
    cluster = Cluster({} if existing is None else {f"{IN_A}/c": existing})
    sent = await send(method, f"{IN_A}/c", body(), cluster, content_type=content_type)
    assert sent.owned is owned
    assert bool(sent.children) is owned
    assert cluster.asked == [f"{IN_A}/c"]


async def test_a_stranger_is_sent_byte_for_byte() -> None:
    data = b'{"metadata":  {"name": "c"}}'
    sent = await send("PUT", f"{IN_A}/c", data, Cluster({f"{IN_A}/c": body()}))
    assert sent.body == data


async def test_an_apply_may_be_yaml_and_so_may_a_whole_object_that_says_so() -> None:
    data = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n"
    assert (await send("PATCH", f"{IN_A}/c", data, content_type=APPLY)).owned
    assert (await send("POST", IN_A, data, content_type="application/yaml")).owned
    assert (await send("POST", IN_A, data)).body == data


async def test_across_namespaces_ours_is_known_by_its_annotations() -> None:
    cluster = Cluster({f"{IN_B}/c": body(annotations=OWNER.annotations())})
    assert (await send("PUT", f"{IN_B}/c", body(), cluster)).owned


# --- what passes as it is --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "content_type"),
    [
        ("PATCH", f"{IN_A}/c", MERGE),
        ("PATCH", f"{IN_A}/c", "application/strategic-merge-patch+json"),
        ("PATCH", f"{IN_A}/c", "application/json-patch+json"),
        ("DELETE", f"{IN_A}/c", JSON),
        ("GET", f"{IN_A}/c", JSON),
        ("POST", IN_A, "application/cbor"),
        ("POST", "/api/v1/namespaces/a/pods/p/binding", JSON),
        ("PUT", f"{IN_A}/c/status", JSON),
        ("PATCH", f"{IN_A}/c/status", APPLY),
        ("POST", "/version", JSON),
    ],
)
async def test_a_request_that_creates_nothing_of_ours(method: str, path: str, content_type: str) -> None:
    cluster = Cluster()
    data = json.dumps(body()).encode()
    sent = await send(method, path, data, cluster, content_type=content_type)
    assert (sent.body, sent.children, cluster.asked) == (data, [], [])


@pytest.mark.parametrize(
    "path",
    ["/apis/authorization.k8s.io/v1/subjectaccessreviews", "/apis/unknown.com/v1/things"],
    ids=["virtual", "unknown"],
)
async def test_a_kind_that_cannot_be_owned(path: str) -> None:
    data = json.dumps(body()).encode()
    assert (await send("POST", path, data)).body == data


async def test_where_discovery_does_not_answer_nothing_is_created_without_an_owner() -> None:
    for method, path in (("POST", IN_A), ("PUT", f"{IN_A}/c")):
        with pytest.raises(Unavailable):
            await send(method, path, body(), Cluster(broken=True))
    unowned = await send("POST", IN_A, body(), Cluster(broken=True), inject=False)
    assert unowned.object == body(), "whoever injects no owner need not know the kind"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no json",
        b"[1, 2]",
        b'"text"',
        b"null",
        b"\xff\xfe",
        b"{",
        b'{"metadata": "text"}',
        b'{"metadata": ["a"]}',
    ],
    ids=repr,
)
@pytest.mark.parametrize(("method", "path"), [("POST", IN_A), ("PUT", f"{IN_A}/c")])
async def test_a_body_that_is_no_object_is_the_api_servers_to_refuse(data: bytes, method: str, path: str) -> None:
    sent = await send(method, path, data)
    assert (sent.body, sent.children) == (data, [])


@pytest.mark.parametrize("data", [b": :", b"- a\n", b"!unknown x", b"{[}"], ids=repr)
async def test_and_so_is_yaml_that_is_none(data: bytes) -> None:
    sent = await send("PATCH", f"{IN_A}/c", data, content_type=APPLY)
    assert (sent.body, sent.children) == (data, [])


def test_a_path_that_is_no_resource_creates_nothing() -> None:
    assert not Ownership.may_create("POST", None, JSON)
    assert Ownership.may_create("POST", RequestInfo("", "v1", "pods", "a"), JSON)


async def test_a_date_in_yaml_is_a_text() -> None:
    data = b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  annotations: {since: 2026-01-31}\n"
    sent = await send("PATCH", f"{IN_A}/c", data, content_type=APPLY)
    assert sent.object["metadata"]["annotations"] == {"since": "2026-01-31"}


@pytest.mark.parametrize(("path", "by_annotation"), [(IN_A, False), (IN_B, True), (ROLES, True)])
async def test_a_body_in_protobuf_gets_an_owner_unless_it_has_one_or_wants_none(path: str, by_annotation: bool) -> None:
    sent = await send("POST", path, BARE, content_type=PROTOBUF)
    obj = read(sent.body)
    assert obj is not None and is_owned(obj, OWNER)
    assert [child.by_annotation for child in sent.children] == [by_annotation]
    again = await send("POST", path, sent.body, content_type=PROTOBUF)
    assert (again.body, again.children) == (sent.body, sent.children)
    unwanted = add(BARE, {"annotations": {INJECT_OWNER: "false"}})
    assert await send("POST", path, unwanted, content_type=PROTOBUF) == Sent(unwanted, [])


async def test_a_replacement_in_protobuf_keeps_the_owner() -> None:
    stranger = Cluster({f"{IN_A}/c": body()})
    assert (await send("PUT", f"{IN_A}/c", BARE, stranger, content_type=PROTOBUF)).body == BARE
    ours = Cluster({f"{IN_A}/c": body(ownerReferences=[OWNER.reference()])})
    sent = await send("PUT", f"{IN_A}/c", BARE, ours, content_type=PROTOBUF)
    assert is_owned(read(sent.body) or {}, OWNER)


async def test_what_says_protobuf_and_is_none_passes() -> None:
    assert await send("POST", IN_A, b"k8s\0...", content_type=PROTOBUF) == Sent(b"k8s\0...", [])
