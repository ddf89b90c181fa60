"""Prometheus and webhooks: the role with its shipped rights, the operator's ConfigMap and Secret, and real requests."""

from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.roles.aitask_lab import ACCOUNT, Lab, later
from tests.support.providers import Provider, serving

pytestmark = [pytest.mark.apiserver, pytest.mark.slow]

CANARY = "canary-4f1c9a77-token"
OPERATOR = ("-n", ACCOUNT[0])
Configure = Callable[..., None]


@pytest.fixture
def provider() -> Iterator[Provider]:
    with serving() as made:
        made.token = CANARY
        yield made


@pytest.fixture
def configure(lab: Lab, provider: Provider, write_configuration: Callable[[Any], None]) -> Iterator[Configure]:
    """Name the provider in the operator's configuration, and put its token into the operator's Secret."""

    def write(text: str | None = None, path: str = "", **fields: Any) -> None:
        entry = {"url": provider.url + path, "secretRef": {"key": "t"}, "allowedNamespaces": [lab.namespace], **fields}
        hook = {**entry, "url": f"{provider.url}/hook"}
        write_configuration(text or {"providers": {"prometheus": {"default": entry}, "webhook": {"ops": hook}}})

    token = {"t": b64encode(f"{CANARY}\n".encode()).decode()}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "aitask-operator-providers"}, "data": token}
    lab.kubectl("apply", "--server-side", *OPERATOR, "-f", "-", manifest=secret)
    write()
    yield write
    lab.kubectl("delete", "secret", "aitask-operator-providers", *OPERATOR, "--ignore-not-found")


def asks(query: str, **spec: Any) -> dict[str, Any]:
    return {"metric": {"type": "Prometheus", "prometheus": {"query": query}}, **spec}


def why(lab: Lab, kind: str = "MetricsAvailable") -> str:
    return next(str(c["message"]) for c in lab.status()["conditions"] if c["type"] == kind)


def told(lab: Lab) -> str:
    """All that anybody in the namespace can read of a task."""
    return lab.kubectl("get", "aitasks,events,deployments", "-o", "json")


def test_a_healthy_query_is_as_cheap_as_other_metrics(lab: Lab, provider: Provider, configure: Configure) -> None:
    provider.vector("rate(errors[5m])", "20.5")
    lab.task(**asks("rate(errors[5m])"))
    done = lab.run()
    assert lab.condition("MetricsAvailable") == ("True", "Sampled")
    assert (lab.status()["observedValue"], provider.queries) == ("20.5", ["rate(errors[5m])"])
    assert done.executed <= 12
    read = sorted(request["resource"] for request in done.requests)
    assert read == ["aitasks", "aitasks/status", "configmaps", "deployments", "secrets"]
    print(f"healthy query: {done.executed} tasks, {len(done.requests)} requests and the query")


def test_another_metric_reads_no_configuration(lab: Lab, provider: Provider, configure: Configure) -> None:
    lab.task()
    lab.use("20m")
    done = lab.run()
    assert {"configmaps", "secrets"} & {request["resource"] for request in done.requests} == set()
    assert provider.queries == []


def test_a_breached_query_acts(lab: Lab, provider: Provider, configure: Configure) -> None:
    provider.scalar("queue", "93")
    lab.task(**asks("queue"))
    lab.run()
    assert lab.get("deployment", "web")["spec"]["replicas"] == 4
    assert "query 93 > 80 (1/1 samples, provider default), scaled 3 -> 4" in why(lab, "ActionPermitted")


def test_no_series_and_a_provider_that_is_gone_are_no_reason_to_scale_down(
    lab: Lab, provider: Provider, configure: Configure
) -> None:
    provider.vector("queue")
    lab.task(**asks("queue", comparison="LessThan", threshold=10, action="scale-down"))
    assert lab.run().requeue == "5s"
    assert lab.condition("MetricsAvailable") == ("False", "NoData")
    configure(url="http://127.0.0.1:9")
    later(lab, 61)
    lab.run()
    assert lab.condition("MetricsAvailable") == ("False", "ProviderUnreachable")
    assert "efused" in why(lab)
    assert lab.get("deployment", "web")["spec"]["replicas"] == 3
    assert "lastAction" not in lab.status()


@pytest.mark.parametrize(
    ("path", "query", "reason", "words"),
    [
        ("/drip", "queue", "ProviderUnreachable", "no answer within 2 s"),
        ("/redirect", "queue", "ProviderUnreachable", "redirect (307)"),
        ("/huge", "queue", "AmbiguousResult", "too many series"),
        ("/echo", "queue", "NoData", "refuses the query: Bearer ****"),
        ("", "sum(", "NoData", "refuses the query: invalid parameter"),
        ("", "twice", "NoData", "refuses the query: found duplicate series"),
    ],
)
def test_a_server_that_does_its_worst_holds_the_task_and_fails_nothing(
    lab: Lab, provider: Provider, configure: Configure, path: str, query: str, reason: str, words: str
) -> None:
    configure(path=path)
    lab.task(**asks(query))
    done = lab.run(aitask_query_seconds=2 if path == "/drip" else 60)
    assert lab.condition("MetricsAvailable") == ("False", reason)
    assert words in why(lab)
    assert (provider.strayed, "lastAction" in lab.status()) == (0, False)
    assert CANARY not in done.output + told(lab)


def test_a_wrong_or_missing_token_is_said_and_none_is_sent_elsewhere(
    lab: Lab, provider: Provider, configure: Configure
) -> None:
    provider.token = "another"
    provider.scalar("queue", "93")
    lab.task(**asks("queue"))
    lab.run()
    assert lab.condition("MetricsAvailable") == ("False", "Forbidden")
    lab.kubectl("delete", "secret", "aitask-operator-providers", *OPERATOR)
    later(lab, 61)
    lab.run()
    assert lab.condition("MetricsAvailable") == ("False", "ProviderUnreachable")
    assert "Secret aitask-operator-providers, key t" in why(lab)
    configure(secretRef={"key": "t", "name": "another"})
    later(lab, 61)
    lab.run()
    assert "Secret another, key t" in why(lab)
    assert len(provider.headers) == 1


def test_closed_and_unknown_providers_look_the_same_and_a_bad_file_names_the_field(
    lab: Lab, provider: Provider, configure: Configure
) -> None:
    provider.scalar("queue", "93")
    configure(allowedNamespaces=["another"])
    lab.task(**asks("queue"))
    lab.run()
    closed = why(lab)
    assert lab.condition("MetricsAvailable") == ("False", "ProviderNotFound")
    configure("providers: {}")
    later(lab, 61)
    lab.run()
    assert why(lab) == closed
    configure("providers: {prometheus: {default: {url: 'ftp://x'}}}")
    later(lab, 61)
    lab.run()
    assert "providers.prometheus.default.url must begin with http://" in why(lab)
    assert (provider.headers, lab.get("deployment", "web")["spec"]["replicas"]) == ([], 3)


def test_paused_at_its_creation_a_task_asks_nobody_and_later_goes_on(
    lab: Lab, provider: Provider, configure: Configure
) -> None:
    configure(url="http://127.0.0.1:9")
    lab.task(**asks("queue", suspend=True))
    resting = lab.run()
    assert [r["resource"] for r in resting.requests] == ["aitasks", "aitasks/status"]
    provider.scalar("queue", "20")
    configure()
    lab.kubectl("patch", "at", "t", "--type=merge", "-p", '{"spec":{"suspend":false}}')
    lab.run()
    assert (provider.queries, lab.condition("Ready")) == (["queue"], ("True", "Evaluated"))


def test_the_token_is_nowhere_but_in_the_request(
    lab: Lab, provider: Provider, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in the output at the highest verbosity, not in a file while the request is under way, not in the cluster."""
    monkeypatch.setenv("ANSIBLE_VERBOSITY", "4")
    files: list[Path] = []
    found: list[Path] = []

    def look() -> None:
        for path in lab.directory.rglob("*"):
            with suppress(FileNotFoundError):  # one that is just going
                if path.is_file():
                    files.append(path)
                    found.extend([path] if CANARY.encode() in path.read_bytes() else [])

    provider.on_request = look
    provider.scalar("queue", "93")
    lab.task(**asks("queue", action="notify", notify={"webhookRef": "ops"}))
    done = lab.run()
    assert (len(provider.queries), len(provider.notices)) == (1, 1)
    assert files and found == []
    encoded = b64encode(f"{CANARY}\n".encode()).decode()
    for text in (done.output, told(lab)):
        assert CANARY not in text
        assert encoded not in text


def test_a_webhook_is_told_of_both_ends_of_a_breach(lab: Lab, provider: Provider, configure: Configure) -> None:
    lab.task(action="notify", notify={"webhookRef": "ops"})
    lab.use("93m")
    provider.statuses = [503]
    lab.run()
    later(lab, 61)
    lab.use("20m")
    lab.run()
    assert [notice["status"] for notice in provider.notices] == ["Breached", "Breached", "Cleared"]
    first, again, last = provider.notices
    assert first == again
    assert first["task"] == {"namespace": lab.namespace, "name": "t", "uid": lab.get("aitask", "t")["metadata"]["uid"]}
    assert first["metric"]["value"] == "93"
    assert first["id"] == last["id"] == lab.status()["lastAction"]["id"]
    assert "webhook ops told" in lab.status()["lastAction"]["message"]
    assert provider.headers[0]["Authorization"] == f"Bearer {CANARY}"


def test_a_webhook_that_cannot_be_told_fails_nothing(lab: Lab, provider: Provider, configure: Configure) -> None:
    provider.statuses = [500, 500, 500]
    lab.task(action="notify", notify={"webhookRef": "ops"})
    lab.use("93m")
    lab.run()
    assert len(provider.notices) == 3
    assert "webhook ops not told: it answers 500; Events only" in lab.status()["lastAction"]["message"]
    assert lab.condition("Ready") == ("True", "Evaluated")
    assert lab.events() == [("AITask", "ThresholdBreached"), ("Deployment", "ThresholdBreached")]


def test_an_unknown_webhook_leaves_the_events(lab: Lab, provider: Provider, configure: Configure) -> None:
    lab.task(action="notify", notify={"webhookRef": "nobody"})
    lab.use("93m")
    lab.run()
    assert "no webhook 'nobody'" in lab.status()["lastAction"]["message"]
    assert (provider.notices, len(lab.events())) == ([], 2)


def test_a_dry_run_tells_no_webhook(lab: Lab, provider: Provider, configure: Configure) -> None:
    lab.task(action="notify", notify={"webhookRef": "ops"}, dryRun=True)
    lab.use("93m")
    lab.run()
    assert (provider.notices, lab.status()["lastAction"]["result"]) == ([], "DryRun")
