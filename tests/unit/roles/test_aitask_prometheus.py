"""What the answers of a Prometheus mean for a task: one number, or a reason to hold."""

import json
from typing import Any

import pytest
from aitask_rules.prometheus import query_sample
from aitask_rules.spec import parse_spec
from hypothesis import given
from hypothesis import strategies as st

from tests.support.properties import json_values
from tests.unit.roles.aitask_simulation import World

SPEC = {"metric": {"type": "Prometheus", "prometheus": {"query": "up", "providerRef": "main"}}}
FILE = "providers: {prometheus: {main: {url: 'http://prom', secretRef: {key: k}, allowedNamespaces: [ns]}}}"
SERIES = {"metric": {"job": "a"}, "value": [1.5, "3"]}


def ok(kind: str, result: Any) -> dict[str, Any]:
    return {"status": 200, "body": json.dumps({"status": "success", "data": {"resultType": kind, "result": result}})}


def refused(status: int, text: str) -> dict[str, Any]:
    return {"status": status, "body": json.dumps({"status": "error", "errorType": "bad_data", "error": text})}


def world(answer: dict[str, Any] | None = None, **spec: Any) -> World:
    made = World(**{**SPEC, **spec})
    made.configuration = FILE
    made.answer = answer or ok("vector", [SERIES])
    return made


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("0", "0"), ("93.25", "93.25"), ("-1", "-1"), ("1e+03", "1000"), ("1.5e-07", "0"), (".5", "0.5"), ("5.", "5"),
        ("80.0000001", "80"), ("1e+20", "1e+20"), ("1.7976931348623157e+308", "1.79769e+308"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["scalar", "vector"])
def test_one_number_is_a_sample(kind: str, text: str, shown: str) -> None:
    result = [1.5, text] if kind == "scalar" else [{"metric": {}, "value": [1.5, text]}]
    found = world(ok(kind, result)).run()
    assert found.condition("MetricsAvailable") == ("True", "Sampled")
    assert found.status["observedValue"] == shown
    assert len(shown) <= 64
    assert "provider main" in found.message("MetricsAvailable")


NO_SAMPLE = {
    "no series": (ok("vector", []), "NoData", "the query gives no series"),
    "two series": (ok("vector", [SERIES, SERIES]), "AmbiguousResult", "more than one series"),
    "NaN": (ok("vector", [{"value": [1, "NaN"]}]), "NotANumber", "the query gives NaN"),
    "+Inf": (ok("scalar", [1, "+Inf"]), "NotANumber", "the query gives +Inf"),
    "-Inf": (ok("scalar", [1, "-Inf"]), "NotANumber", "the query gives -Inf"),
    "a quantity": (ok("scalar", [1, "1k"]), "NotANumber", "gives 1k"),
    "other digits": (ok("scalar", [1, "٣"]), "NotANumber", "gives ٣"),
    "too large": (ok("scalar", [1, "1e999"]), "NotANumber", "gives 1e999"),
    "too long": (ok("scalar", [1, "9" * 65]), "NotANumber", "no number"),
    "a bare number": (ok("scalar", [1, 5]), "NotANumber", "no number"),
    "a histogram": (ok("vector", [{"metric": {}, "histogram": [1, {"count": "1"}]}]), "NotANumber", "no number"),
    "a string": (ok("string", [1, "5"]), "NotANumber", "no number"),
    "a range": (ok("matrix", [{"metric": {}, "values": [[1, "5"]]}]), "AmbiguousResult", "values over time"),
    "no data": ({"status": 200, "body": '{"status":"success"}'}, "NotANumber", "no number"),
    "a null": (ok("vector", None), "NoData", "no series"),
    "a page": ({"status": 200, "body": "<html>"}, "ProviderUnreachable", "status 200)"),
    "a nest": ({"status": 200, "body": "[" * 60000}, "ProviderUnreachable", "status 200"),
    "not found": ({"status": 404, "body": "404 page not found"}, "ProviderUnreachable", "status 404"),
    "busy": (
        {"status": 503, "body": '{"status":"error","errorType":"timeout","error":"hidden"}'},
        "ProviderUnreachable",
        "status 503, timeout",
    ),
    "an odd type": ({"status": 503, "body": '{"errorType":"A B"}'}, "ProviderUnreachable", "status 503)"),
    "redirect": ({"status": 302, "body": ""}, "ProviderUnreachable", "redirect (302); it is not followed"),
    "401": ({"status": 401, "body": "hidden"}, "Forbidden", "refuses the operator's credential (401)"),
    "403": ({"status": 403, "body": "hidden"}, "Forbidden", "403"),
    "bad query": (refused(400, "parse error: x"), "NoData", "main refuses the query: parse error: x"),
    "no evaluation": (refused(422, "duplicate series"), "NoData", "main refuses the query: duplicate series"),
    "400 of others": ({"status": 400, "body": "hidden"}, "ProviderUnreachable", "status 400"),
    "late": ({"status": 0, "error": "no answer within 8 s"}, "ProviderUnreachable", "no answer within 8 s"),
    "broken": ({"msg": "MODULE\nFAILURE"}, "ProviderUnreachable", "MODULE FAILURE"),
    "many series": (
        {"status": 200, "body": '{"status":"success","data":{"', "cut": True},
        "AmbiguousResult",
        "too many series",
    ),
    "a huge page": ({"status": 200, "body": "<html>", "cut": True}, "ProviderUnreachable", "too long"),
    "no credential": ({"skipped": True}, "ProviderUnreachable", "Secret aitask-operator-providers, key k"),
}


@pytest.mark.parametrize("case", NO_SAMPLE)
def test_all_else_holds_and_says_why(case: str) -> None:
    answer, reason, words = NO_SAMPLE[case]
    found = world(answer, comparison="LessThan", threshold=10, action="scale-down")
    found.run().run(60).run(60).run(60)
    assert found.condition("MetricsAvailable") == ("False", reason)
    assert words in found.message("MetricsAvailable")
    assert "hidden" not in json.dumps(found.status)
    assert (found.acts, found.replicas, "lastAction" in found.status) == ([], 3, False)
    assert found.status["breached"] is False


@pytest.mark.parametrize(
    ("configuration", "words"),
    [
        (None, "no Prometheus provider 'main' that namespace ns may use"),
        (FILE.replace("[ns]", "[other]"), "no Prometheus provider 'main' that namespace ns may use"),
        (FILE.replace("main", "other"), "no Prometheus provider 'main' that namespace ns may use"),
        (FILE.replace("http", "ftp"), "configuration of the operator cannot be used: providers.prometheus.main.url"),
    ],
)
def test_a_provider_that_is_not_there_and_one_that_is_closed_look_the_same(
    configuration: str | None, words: str
) -> None:
    found = world({"skipped": True})
    found.configuration = configuration
    found.run()
    assert found.condition("MetricsAvailable") == ("False", "ProviderNotFound")
    assert words in found.message("MetricsAvailable")
    assert found.acts == []


def test_a_sample_has_no_time_of_its_own_and_counts_once_an_interval() -> None:
    found = world(ok("scalar", [1, "93"]), evaluation={"consecutiveBreaches": 3})
    found.run().run(5).run(10)
    assert found.status["breaches"] == 1
    assert found.run(60).status["breaches"] == 2
    assert len(found.run(60).acts) == 1
    assert found.message("ActionPermitted").startswith("query 93 > 80 (3/3 samples, provider main), scaled 3 -> 4")


def test_one_who_is_suspended_or_measures_something_else_asks_nobody() -> None:
    resting = world(suspend=True)
    other = World().run()
    assert (resting.run().queries, other.queries) == (0, 0)
    resting.edit(suspend=False)
    assert resting.run(1).queries == 1
    assert resting.condition("MetricsAvailable") == ("True", "Sampled")


def test_words_of_others_are_cut_and_are_no_template() -> None:
    found = world(refused(400, "{{ lookup('x') }}{% x %}\n" + "y" * 5000)).run()
    text = found.message("MetricsAvailable")
    assert len(text) < 400
    assert "{{" not in text and "{%" not in text and "\n" not in text


def test_a_query_of_blanks_is_no_query() -> None:
    found = world(metric={"type": "Prometheus", "prometheus": {"query": " "}}).run()
    assert found.condition("Ready") == ("False", "InvalidSpec")


@given(
    st.sampled_from([0, 200, 302, 400, 401, 422, 500]),
    json_values | st.builds(lambda k, r: {"status": "success", "data": {"resultType": k, "result": r}},
                            st.sampled_from(["vector", "scalar"]), json_values),
)  # fmt: skip
def test_any_answer_is_a_finite_number_or_missing(status: int, body: Any) -> None:
    spec = parse_spec({"targetDeployment": "web", "threshold": 1, "action": "restart", **SPEC})
    reads = {
        "configuration": {"resources": [{"data": {"config.yaml": FILE}}]},
        "answer": {"status": status, "body": json.dumps(body)},
    }
    sample = query_sample(spec, "ns", reads)
    assert sample.value is None or (status == 200 and abs(sample.value) < 10**309)
    assert len(sample.message) < 1024
