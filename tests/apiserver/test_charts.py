"""Charts as the content of a watch (docs/helm.md), by real Helm on a real API server."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from localcluster import Cluster
from tests.support.api import Api, Object, conditions, failed, succeeded_at_generation
from tests.support.charts import leave_half_done, records, write_chart
from tests.support.kinds import CLUSTER_ROLE, CONFIG_MAP, DEPLOYMENT, NAMESPACE, SECRET, THING
from tests.support.operator import OperatorProcess, Start
from tests.support.project import Project
from tests.support.waiting import until

pytestmark = [pytest.mark.apiserver, pytest.mark.helm]

LONG = 600.0
"""Seconds: an upgrade starts Helm seven times, three seconds on an idle machine, a minute on a busy one."""

TWICE = (
    "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: twice}\nspec:\n  selector: {matchLabels: {app: twice}}\n"
    "  template:\n    metadata: {labels: {app: twice}}\n    spec:\n      containers:\n"
    "        - {name: a, image: example.com/a:1, env: [{name: A, value: a}, {name: A, value: b}]}\n"
)

StartCharts = Callable[..., OperatorProcess]


@pytest.fixture
def chart(project: Project) -> Path:
    """The chart ``charts/shop``, released for each Thing."""
    values = {"password": "${PASSWORD}"}
    project.watches({**THING.watch, "chart": "charts/shop", "watchAnnotationsChanges": True, "overrideValues": values})
    return write_chart(project.directory / "charts/shop")


@pytest.fixture
def start_charts(start: Start, helm: Path, cluster: Cluster, tmp_path: Path) -> StartCharts:
    path = os.pathsep.join([str(helm.parent), str(cluster.kubectl.parent), os.environ["PATH"]])
    leading_astray = {"HELM_KUBEAPISERVER": "https://127.0.0.1:1", "HELM_DRIVER": "memory", "HELM_NAMESPACE": "default"}
    values = {"PASSWORD": "swordfish", "ANSIBLE_DEBUG_LOGS": "true"}

    def start_charts(*flags: str, **options: Any) -> OperatorProcess:
        return start(*flags, PATH=path, **leading_astray, **values, **options)

    return start_charts


def released(api: Api, name: str, namespace: str, revision: int) -> Object:
    """The object once that revision stands in its status, and its last run was good."""

    def there(obj: Object) -> bool:
        release = (obj.get("status") or {}).get("deployedRelease") or {}
        return release.get("revision") == revision and succeeded_at_generation(obj)

    return api.wait(THING, name, namespace, there, seconds=LONG)


def _everything_in(directory: Path) -> str:
    """The text of all files; runs may be removing some."""
    texts = []
    for file in directory.rglob("*"):
        with suppress(OSError):
            texts.append(file.read_text(errors="replace"))
    return "\n".join(texts)


def poke(api: Api, name: str, namespace: str, word: str) -> None:
    api.patch(THING, name, namespace, {"metadata": {"annotations": {"poke": word}}})


def test_a_release_follows_its_object_its_chart_and_is_mended(
    api: Api, namespace: str, chart: Path, start_charts: StartCharts
) -> None:
    operator = start_charts()
    text = "{{ lookup('pipe', 'id') }} {{ .Values.no }}"
    created = api.create(THING, THING.object("one", namespace, spec={"text": text, "replicas": 2}))

    thing = released(api, "one", namespace, 1)
    release = thing["status"]["deployedRelease"]
    assert (release["name"], release["chart"], release["status"]) == ("one", "shop", "deployed")
    assert release["notes"] == f"one says {text}"
    config = api.get(CONFIG_MAP, "one-config", namespace)
    assert config and config["data"]["text"] == text
    assert [owner["uid"] for owner in config["metadata"]["ownerReferences"]] == [created["metadata"]["uid"]]
    cluster_role = api.get(CLUSTER_ROLE, f"{namespace}-one")
    assert cluster_role and "operator-sdk/primary-resource" in cluster_role["metadata"]["annotations"]

    # The object changes. Helm rewrites its record of the first revision, which wakes nobody.
    api.patch(THING, "one", namespace, {"spec": {"text": "1e3"}})
    released(api, "one", namespace, 2)
    assert (api.get(CONFIG_MAP, "one-config", namespace) or {})["data"] == {"text": "1e3"}

    # Others change what was released: one object is edited, the other deleted. No revision is needed for that.
    api.patch(CONFIG_MAP, "one-config", namespace, {"data": {"text": "edited", "more": "kept"}})
    mended = {"text": "1e3", "more": "kept"}
    until(lambda: (api.get(CONFIG_MAP, "one-config", namespace) or {})["data"] == mended, "the text is mended", LONG)
    api.delete(DEPLOYMENT, "one-web", namespace)
    anew = until(lambda: api.get(DEPLOYMENT, "one-web", namespace), "the Deployment is there again", LONG)
    assert anew["metadata"]["ownerReferences"][0]["uid"] == created["metadata"]["uid"]
    assert anew["spec"]["replicas"] == 2
    assert [record["metadata"]["labels"]["version"] for record in records(api, namespace, "one")] == ["1", "2"]

    # The chart is edited in place, with the same version.
    write_chart(chart, config=(chart / "templates/config.yaml").read_text() + "\nimmutable: false\n")
    poke(api, "one", namespace, "edited")
    released(api, "one", namespace, 3)
    assert (api.get(CONFIG_MAP, "one-config", namespace) or {})["immutable"] is False

    # Four revisions later only the last three are kept.
    api.patch(THING, "one", namespace, {"spec": {"text": "end"}})
    released(api, "one", namespace, 4)
    assert [record["metadata"]["labels"]["version"] for record in records(api, namespace, "one")] == ["2", "3", "4"]
    assert operator.records("watching dependents", kind="/v1, Kind=ConfigMap")
    assert not operator.records("watching dependents", kind="/v1, Kind=Secret")
    assert "hunter2" not in _everything_in(operator.work_dir)
    assert "hunter2" not in operator.stderr
    told = [_everything_in(directory) for directory in operator.work_dir.rglob("job_events")]
    assert any("Install or upgrade" in text for text in told)
    assert not any("swordfish" in text for text in [operator.stderr, *told])

    api.delete(THING, "one", namespace)
    until(lambda: api.get(THING, "one", namespace) is None, "the object is gone", LONG)
    assert api.get(CLUSTER_ROLE, f"{namespace}-one") is None
    assert api.get(CONFIG_MAP, "one-config", namespace) is None
    assert records(api, namespace, "one") == []


def test_what_fails_says_why_and_what_is_left_half_done_is_taken_up(
    api: Api, namespace: str, chart: Path, start_charts: StartCharts
) -> None:
    start_charts()
    api.create(THING, THING.object("two", namespace, spec={"replicas": "many"}))
    thing = api.wait(THING, "two", namespace, failed, seconds=LONG)
    message = conditions(thing)["Failure"]["message"]
    assert message.startswith("release two: upgrade failed: ")
    assert "replicas" in message
    assert "WARNING" not in message

    api.patch(THING, "two", namespace, {"spec": {"replicas": 1}})
    thing = api.wait(THING, "two", namespace, succeeded_at_generation, seconds=LONG)
    first = thing["status"]["deployedRelease"]["revision"]

    # The last revision failed, for a reason that is gone by now: to kubernetes.core.helm nothing has changed.
    leave_half_done(api, namespace, "two", "failed", anew=True)
    poke(api, "two", namespace, "failed")
    released(api, "two", namespace, first + 2)

    # An operator was killed while Helm worked: Helm refuses to work on such a release.
    leave_half_done(api, namespace, "two", "pending-upgrade", anew=True)
    poke(api, "two", namespace, "pending")
    released(api, "two", namespace, first + 3)

    # Somebody works on the release by hand: it is waited for.
    pending = leave_half_done(api, namespace, "two", "pending-upgrade", anew=True, by_hand=True)
    poke(api, "two", namespace, "by hand")
    thing = api.wait(THING, "two", namespace, failed, seconds=LONG)
    assert "release two: somebody else works on it (pending-upgrade" in conditions(thing)["Failure"]["message"]
    api.delete(SECRET, pending, namespace)
    poke(api, "two", namespace, "done by hand")
    released(api, "two", namespace, first + 3)

    # And one while it uninstalled: kubernetes.core.helm leaves such a release alone.
    leave_half_done(api, namespace, "two", "uninstalling", anew=False)
    api.delete(THING, "two", namespace)
    until(lambda: api.get(THING, "two", namespace) is None, "the object is gone", LONG)
    assert api.get(CLUSTER_ROLE, f"{namespace}-two") is None
    assert records(api, namespace, "two") == []


def test_what_a_server_side_apply_refuses_is_told_and_all_else_is_mended(
    api: Api, namespace: str, chart: Path, start_charts: StartCharts
) -> None:
    """Helm gets a variable through that stands there twice; DaemonSets come before Deployments."""
    write_chart(chart, twice=TWICE)
    start_charts()
    api.create(THING, THING.object("seven", namespace))
    released(api, "seven", namespace, 1)
    api.delete(DEPLOYMENT, "seven-web", namespace)
    until(lambda: api.get(DEPLOYMENT, "seven-web", namespace), "the Deployment is there again", LONG)

    def told(obj: Object) -> bool:
        release = obj["status"]["deployedRelease"]
        return release.get("notMended", "").startswith("DaemonSet twice (") and succeeded_at_generation(obj)

    api.wait(THING, "seven", namespace, told, seconds=LONG)
    assert [record["metadata"]["labels"]["version"] for record in records(api, namespace, "seven")] == ["1"]


def test_what_is_foreign_or_gone_holds_no_object_back(
    api: Api, namespace: str, namespace2: str, chart: Path, helm: Path, cluster: Cluster, start_charts: StartCharts
) -> None:
    write_chart(chart, broken='{{ if .Values.broken }}{{ fail "it is broken" }}{{ end }}')
    other = write_chart(chart.with_name("other"))
    (other / "Chart.yaml").write_text("apiVersion: v2\nname: other\nversion: 0.1.0\n")
    for name, of in (("three", other), ("six", chart)):
        command = [helm, "install", name, of, "--namespace", namespace, "--kubeconfig", cluster.kubeconfig]
        subprocess.run(command, check=True, capture_output=True)
    start_charts(watch=f"{namespace},{namespace2}")
    api.create(THING, THING.object("three", namespace))
    api.create(THING, THING.object("four", namespace))
    api.create(THING, THING.object("five", namespace2, spec={"hook": True}))
    api.create(THING, THING.object("six", namespace, spec={"broken": True}))

    thing = api.wait(THING, "three", namespace, failed, seconds=LONG)
    assert conditions(thing)["Failure"]["message"] == (
        "release three is there already and is of another chart, other: give the object another name, or uninstall that"
        " release"
    )
    released(api, "four", namespace, 1)
    released(api, "five", namespace2, 1)
    for record in records(api, namespace, "four"):
        api.delete(SECRET, record["metadata"]["name"], namespace)
    api.wait(THING, "six", namespace, failed, seconds=LONG)
    api.delete(THING, "three", namespace)
    api.delete(THING, "four", namespace)
    api.delete(THING, "six", namespace)
    api.delete(NAMESPACE, namespace2)  # where the hook of the chart can no longer be made
    until(lambda: api.get(THING, "six", namespace) is None, "the object that has released nothing is gone", LONG)
    assert api.get(CONFIG_MAP, "six-config", namespace) is not None
    assert len(records(api, namespace, "six")) == 1
    until(lambda: api.get(THING, "three", namespace) is None, "the object without a release is gone", LONG)
    until(lambda: api.get(THING, "four", namespace) is None, "the object whose release is gone is gone", LONG)
    until(lambda: api.get(NAMESPACE, namespace2) is None, "the namespace is gone", LONG)
    assert api.get(CONFIG_MAP, "three-config", namespace) is not None
    assert len(records(api, namespace, "three")) == 1
