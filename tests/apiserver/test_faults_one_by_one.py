"""Each fault by itself: what the operator does about it, and what it does not do (hammer, flood the log, give up)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from localcluster import Cluster
from tests.support.api import Api, conditions, failed, succeeded, succeeded_at_generation
from tests.support.faulty_front import FaultyFront, Scripted
from tests.support.kinds import CRD, GROUP, LEASE, SERVICE_ACCOUNT, THING, Kind, definition
from tests.support.operator import REPOSITORY, Start
from tests.support.project import Project
from tests.support.waiting import until

pytestmark = pytest.mark.apiserver

INFORMER = "import ansible_operator.kube.informer as informer"
SHORT_WATCHES = f"{INFORMER}; informer.WATCH_SECONDS = 3; informer.SILENCE_SECONDS = 5"
LONG_LEASE = ("--leader-elect-lease-duration=60s", "--leader-elect-renew-deadline=40s")
"""It is renewed as often as any, and does not get lost on a busy machine."""

NOTHING = "- ansible.builtin.meta: noop"
BINDING = Kind("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False)


@pytest.fixture
def front(cluster: Cluster, tmp_path: Path) -> Iterator[FaultyFront]:
    with FaultyFront(cluster.server, cluster.ca_file, tmp_path) as front:
        yield front


@pytest.fixture
def kubeconfig(front: FaultyFront, cluster: Cluster, tmp_path: Path) -> Path:
    return front.kubeconfig(cluster.kubeconfig, tmp_path / "kubeconfig")


@pytest.fixture
def things(project: Project) -> None:
    """A role that does nothing for each Thing."""
    project.watches({**THING.watch, "role": "nothing"})
    project.role("nothing", NOTHING)


RESUMED = ("dropped", "half a line", "half-open", "ERROR 500", "500", "429", "refused")
LISTED = ("410", "ERROR 410")


@pytest.mark.usefixtures("things")
def test_a_watch_goes_on_where_it_broke_and_lists_anew_only_where_history_is_gone(
    api: Api, namespace: str, start: Start, front: FaultyFront, kubeconfig: Path
) -> None:
    operator = start(kubeconfig=kubeconfig, preface=SHORT_WATCHES)
    for number, fault in enumerate((*RESUMED, *LISTED)):
        name = f"thing-{number}"
        since = len(front.calls)
        front.plan = Scripted(watch=[fault])
        until(lambda fault=fault: front.count("watch", fault), f"a watch met {fault}", checks=[operator.check_alive])
        api.create(THING, THING.object(name, namespace))
        api.wait(THING, name, namespace, succeeded)
        asked = [call for call in front.calls[since:] if call.where in ("list", "watch")]
        lists = [call for call in asked if call.where == "list"]
        assert len(lists) == (1 if fault in LISTED else 0), fault
        assert all(call.query.get("resourceVersion") for call in asked if call.where == "watch"), fault
    assert {run.name: len(operator.runs(run.name)) for run in operator.runs()} == {
        f"thing-{number}": 1 for number in range(len((*RESUMED, *LISTED)))
    }


@pytest.mark.usefixtures("things")
def test_an_api_server_that_asks_for_time_is_given_it_by_all_who_ask(
    api: Api, namespace: str, start: Start, front: FaultyFront, kubeconfig: Path
) -> None:
    front.retry_after = 3
    front.plan = Scripted(list=["429", "429"])
    start(kubeconfig=kubeconfig, preface=SHORT_WATCHES)
    assert gaps(front, "list")[0] >= 3

    front.plan = Scripted(object_read=["429", "429"], status_write=["429"])
    api.create(THING, THING.object("one", namespace))
    api.wait(THING, "one", namespace, succeeded)
    assert [gap >= 3 for gap in gaps(front, "object read")[:2]] == [True, True]
    assert gaps(front, "status write")[0] >= 3


def gaps(front: FaultyFront, where: str) -> list[float]:
    """Seconds between requests of one kind."""
    moments = [call.moment for call in front.asked(where)]
    return [later - earlier for earlier, later in pairwise(moments)]


@pytest.mark.usefixtures("things")
def test_a_conflict_or_a_lost_answer_never_repeats_a_run(
    api: Api, namespace: str, start: Start, front: FaultyFront, kubeconfig: Path
) -> None:
    operator = start(kubeconfig=kubeconfig)
    front.plan = Scripted(status_write=["409", "500", "refused", "answer lost", "409", "half an answer"])
    api.create(THING, THING.object("one", namespace))
    api.wait(THING, "one", namespace, succeeded)
    until(lambda: front.count("status write") == 6, "every fault was met")
    assert len(operator.runs("one")) == 1


def test_a_run_whose_request_is_never_answered_fails_and_does_not_hang(
    api: Api, namespace: str, project: Project, start: Start, front: FaultyFront, kubeconfig: Path
) -> None:
    project.watches({**THING.watch, "role": "asks"})
    project.role("asks", "- kubernetes.core.k8s_info: {api_version: v1, kind: Secret, field_selectors: [type=x]}")
    operator = start(kubeconfig=kubeconfig, preface="import ansible_operator.proxy.forward as f; f.SILENCE_SECONDS = 2")
    front.plan = Scripted(play_GET=["silent"])
    created = api.create(THING, THING.object("one", namespace))
    api.wait(THING, "one", namespace, succeeded)
    first = next(obj for obj in api.history(THING, "one", namespace, created) if failed(obj))
    assert "the API server did not answer" in conditions(first)["Failure"]["message"]
    ends = [run.succeeded for run in operator.runs()]
    assert (ends[0], ends[-1]) == (False, True), "on a busy machine another answer may be late as well"


def test_a_stop_takes_its_time_and_no_more_though_nobody_answers(
    api: Api, namespace: str, project: Project, start: Start, front: FaultyFront, kubeconfig: Path
) -> None:
    project.watches({**THING.watch, "role": "hang"})
    project.role("hang", "- ansible.builtin.command: sleep 3600.04")
    election = ("--leader-elect", "--leader-election-id=the-lease", f"--leader-election-namespace={namespace}")
    operator = start(*election, "--graceful-shutdown-timeout=2s", kubeconfig=kubeconfig)
    api.create(THING, THING.object("one", namespace))
    operator.wait_log("task started", name="one")
    front.plan = lambda call: "silent"
    assert operator.stop() == 0


@pytest.fixture
def tokens(api: Api, namespace: str) -> Iterator[list[str]]:
    """Two tokens of a ServiceAccount that may do everything."""
    api.create(SERVICE_ACCOUNT, SERVICE_ACCOUNT.object("operator", namespace))
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    subject = {"kind": "ServiceAccount", "name": "operator", "namespace": namespace}
    api.create(BINDING, BINDING.object(namespace, roleRef=role, subjects=[subject]))
    request = {"spec": {"expirationSeconds": 600}}
    path = SERVICE_ACCOUNT.path(namespace, "operator", "token")
    yield [api.request("POST", path, request)["status"]["token"] for _ in range(2)]
    api.delete(BINDING, namespace)


@pytest.mark.usefixtures("things", "kubeconfig")
def test_a_token_that_expires_is_replaced_by_the_one_that_the_kubelet_has_written(
    api: Api, namespace: str, start: Start, front: FaultyFront, tokens: list[str], tmp_path: Path
) -> None:
    mounted = tmp_path / "serviceaccount"
    mounted.mkdir()
    (mounted / "ca.crt").write_bytes((tmp_path / "front-ca.crt").read_bytes())
    (mounted / "token").write_text(tokens[0] + "\n")
    operator = start(
        *("--leader-elect", "--leader-election-id=the-lease", f"--leader-election-namespace={namespace}"),
        *LONG_LEASE,
        preface=f"from pathlib import Path; import ansible_operator.kube.connection as c; "
        f"c._SERVICE_ACCOUNT = Path({str(mounted)!r})",
        KUBECONFIG="",
        KUBERNETES_SERVICE_HOST="127.0.0.1",
        KUBERNETES_SERVICE_PORT=str(front.port),
    )
    api.create(THING, THING.object("before", namespace))
    api.wait(THING, "before", namespace, succeeded)

    expired = set[str]()
    front.plan = lambda call: "401" if call.token in expired else None
    (mounted / "token").write_text("")  # as a reader may find a file that is being written
    expired.add(tokens[0])
    refused = front.count("lease")
    until(lambda: front.count("lease") > refused, "the old token is refused")
    (mounted / "token").write_text(tokens[1])
    api.create(THING, THING.object("after", namespace))
    api.wait(THING, "after", namespace, succeeded)
    assert operator.records("lost leadership") == []


@pytest.mark.usefixtures("things")
def test_a_clock_that_is_set_changes_neither_the_lease_nor_what_is_due(
    api: Api, namespace: str, start: Start, tmp_path: Path
) -> None:
    step = tmp_path / "step"
    operator = start(
        *("--leader-elect", "--leader-election-id=the-lease", f"--leader-election-namespace={namespace}"),
        *LONG_LEASE,
        preface=f"import sys; sys.path.insert(0, {str(REPOSITORY)!r}); import tests.support.stepped_clock",
        STEPPED_CLOCK=str(step),
    )
    for number, seconds in enumerate((0, 86400, -86400)):
        step.write_text(str(seconds))
        renewed = until(lambda seconds=seconds: _renewed_near(api, namespace, seconds), f"a renewal {seconds} s off")
        api.create(THING, THING.object(f"thing-{number}", namespace))
        api.wait(THING, f"thing-{number}", namespace, succeeded)
        until(lambda renewed=renewed: _renewal(api, namespace) != renewed, "it is renewed on and on")
    assert operator.records("lost leadership") == []
    assert operator.probe("/healthz")[0] == operator.probe("/readyz")[0] == 200
    assert len(operator.runs()) == 3


def _renewal(api: Api, namespace: str) -> str:
    lease = api.get(LEASE, "the-lease", namespace)
    return str(lease["spec"]["renewTime"]) if lease else ""


def _renewed_near(api: Api, namespace: str, seconds: float) -> str:
    """The time of renewal in the lease, if it is about that far from the true time."""
    day = time.strftime("%Y-%m-%d", time.gmtime(time.time() + seconds))
    renewal = _renewal(api, namespace)
    return renewal if renewal.startswith(day) else ""


FLEETING = Kind(f"{GROUP}/v1", "Fleeting", "fleetings")


@pytest.fixture
def fleeting(api: Api) -> Iterator[str]:
    """The name of the CRD of a kind of this test alone."""
    made = definition(FLEETING)
    api.create(CRD, made)
    yield made["metadata"]["name"]
    api.delete(CRD, made["metadata"]["name"])


def test_a_kind_that_is_deleted_and_made_again_is_watched_again(
    api: Api,
    namespace: str,
    project: Project,
    start: Start,
    front: FaultyFront,
    kubeconfig: Path,
    fleeting: str,
) -> None:
    project.watches({**FLEETING.watch, "role": "nothing"})
    project.role("nothing", NOTHING)
    operator = start(kubeconfig=kubeconfig)
    api.create(FLEETING, FLEETING.object("first", namespace))
    api.wait(FLEETING, "first", namespace, succeeded)

    api.delete(CRD, fleeting)
    api.wait_gone(CRD, fleeting)
    operator.wait_log("cannot watch")
    lists = len(front.asked("list"))
    assert lists <= 8, "a kind that is not there is not asked for without a pause"
    api.create(CRD, definition(FLEETING))
    until(lambda: _create(api, namespace), "the kind is served again")
    api.wait(FLEETING, "second", namespace, succeeded_at_generation)
    assert operator.probe("/readyz")[0] == operator.probe("/healthz")[0] == 200
    assert len(operator.records("cannot watch")) <= 12
    assert [run.name for run in operator.runs()] == ["first", "second"]


def _create(api: Api, namespace: str) -> bool:
    try:
        api.create(FLEETING, FLEETING.object("second", namespace))
    except AssertionError:
        return False
    return True
