"""What a request is about, by its path alone, as the API server itself reads it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_operator.proxy.requestinfo import RequestInfo, is_watch, request_info, target_of
from tests.support import properties

TABLE = {
    "/api/v1/pods": RequestInfo("", "v1", "pods"),
    "/api/v1/pods/": RequestInfo("", "v1", "pods"),
    "/api/v1/namespaces/a/pods": RequestInfo("", "v1", "pods", "a"),
    "/api/v1/namespaces/a/pods/b": RequestInfo("", "v1", "pods", "a", "b"),
    "/api/v1/namespaces/a/pods/b/log": RequestInfo("", "v1", "pods", "a", "b", "log"),
    "/api/v1/namespaces/a/pods/b/exec": RequestInfo("", "v1", "pods", "a", "b", "exec"),
    "/api/v1/namespaces/a/pods/b/proxy/some/path": RequestInfo("", "v1", "pods", "a", "b", "proxy"),
    "/api/v1/namespaces/a/services/b:80/proxy": RequestInfo("", "v1", "services", "a", "b:80", "proxy"),
    "/api/v1/nodes/n": RequestInfo("", "v1", "nodes", "", "n"),
    "/api/v1/nodes/n/status": RequestInfo("", "v1", "nodes", "", "n", "status"),
    "/apis/apps/v1/deployments": RequestInfo("apps", "v1", "deployments"),
    "/apis/apps/v1/namespaces/a/deployments/b/scale": RequestInfo("apps", "v1", "deployments", "a", "b", "scale"),
    "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node": RequestInfo(
        "rbac.authorization.k8s.io", "v1", "clusterroles", "", "system:node"
    ),
    # Namespaces are objects as well.
    "/api/v1/namespaces": RequestInfo("", "v1", "namespaces"),
    "/api/v1/namespaces/a": RequestInfo("", "v1", "namespaces", "", "a"),
    "/api/v1/namespaces/a/status": RequestInfo("", "v1", "namespaces", "", "a", "status"),
    "/api/v1/namespaces/a/finalize": RequestInfo("", "v1", "namespaces", "", "a", "finalize"),
    # The deprecated form of a watch.
    "/api/v1/watch/pods": RequestInfo("", "v1", "pods", watch=True),
    "/api/v1/watch/namespaces/a/pods/b": RequestInfo("", "v1", "pods", "a", "b", watch=True),
}
NO_RESOURCE = [
    "",
    "/",
    "/version",
    "/healthz",
    "/livez/ping",
    "/metrics",
    "/openapi/v3/apis/apps/v1",
    "/api",
    "/api/",
    "/api/v1",
    "/api/v1/",
    "/apis",
    "/apis/apps",
    "/apis/apps/v1",
    "/api/v1/watch",
    "/apis/apps/v1/watch/",
    "/other/v1/pods",
    # What may be read in more than one way.
    "/api/v1//pods",
    "/api/v1/namespaces//pods",
    "/api/v1/namespaces/../pods",
    "/api/v1/namespaces/a/pods/..",
    "/api/v1/namespaces/a/pods/../secrets",
    "/api/v1/namespaces/a/pods/.",
    "/api/v1/namespaces/a/pods//log",
    "/apis//v1/pods",
    "/apis/../v1/pods",
    "/api/v1/namespaces/a/pods/b%2Fc",
    "/api/v1/namespaces/a/pods/b\r\nX: y",
]


@pytest.mark.parametrize(("path", "info"), TABLE.items(), ids=TABLE)
def test_a_resource(path: str, info: RequestInfo) -> None:
    assert request_info(path) == info


@pytest.mark.parametrize("path", NO_RESOURCE, ids=repr)
def test_no_resource(path: str) -> None:
    assert request_info(path) is None


SEGMENTS = st.sampled_from(["api", "apis", "v1", "apps", "namespaces", "watch", "pods", "a", "status", "", ".", ".."])


@properties.settings(max_examples=300)
@given(st.lists(SEGMENTS | st.text()).map("/".join))
def test_no_path_is_too_strange(path: str) -> None:
    info = request_info(path)
    assert info is None or info.plural is not None


@pytest.mark.parametrize(
    ("raw", "sent", "path"),
    [
        ("/api/v1/pods?watch=1", "/api/v1/pods?watch=1", "/api/v1/pods"),
        ("/a//b/../c/%2e%2E/d", "/a//b/../c/%2e%2E/d", "/a//b/../c/../d"),
        ("/api/v1/namespaces/a%2Fpods", "/api/v1/namespaces/a%2Fpods", "/api/v1/namespaces/a/pods"),
        ("/a%252Fb", "/a%252Fb", "/a%2Fb"),
        ("//evil.com/api", "//evil.com/api", "//evil.com/api"),
        ("/a+b;c=d?e=f+g", "/a+b;c=d?e=f+g", "/a+b;c=d"),
        ("/a#b?c", "/a%23b?c", "/a#b"),
        ("http://evil.com/api/v1/pods?x=y", "/api/v1/pods?x=y", "/api/v1/pods"),
        ("https://evil.com", "/", "/"),
        ("https://evil.com@h//x", "//x", "//x"),
    ],
)
def test_a_target_goes_upstream_as_it_came_and_never_chooses_the_host(raw: str, sent: str, path: str) -> None:
    target = target_of(raw)
    assert target is not None
    assert (target.raw, target.path) == (sent, path)


@pytest.mark.parametrize("raw", ["", "*", "api/v1", "@evil.com/", ".evil.com/x", "evil:443"])
def test_what_is_no_path_is_no_target(raw: str) -> None:
    assert target_of(raw) is None


@properties.settings(max_examples=300)
@given(st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=126)))
def test_whatever_a_target_is_it_begins_with_a_slash(raw: str) -> None:
    target = target_of(raw)
    assert target is None or target.raw.startswith("/")


@pytest.mark.parametrize(
    ("query", "yes"),
    [
        *(("watch=1", True), ("watch=true", True), ("watch", True), ("watch=x", True)),
        *(("", False), ("watch=0", False), ("watch=false", False), ("watch=False", False), ("unwatch=1", False)),
    ],
)
def test_whether_it_is_a_watch_is_read_as_the_api_server_reads_it(query: str, yes: bool) -> None:
    target = target_of(f"/api/v1/pods?{query}")
    assert target is not None
    assert is_watch(RequestInfo("", "v1", "pods"), target.query) is yes
    assert is_watch(RequestInfo("", "v1", "pods", watch=True), target.query)
