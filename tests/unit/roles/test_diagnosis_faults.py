"""Everything that can be wrong with a server of models, over real sockets: what it is called, and what is done then."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import aitask_http
import pytest
from aitask_rules.config import Provider
from aitask_rules.diagnosis import Verdict, ask, judge, parse_diagnose, render_diagnosis, with_choice

from tests.support.models import FAULTS, ModelServer, decision, serving_models
from tests.unit.roles.breach_cases import NAMES, NOW, load

TOKEN = "canary-credential-5d1f"
GOOD = dict.fromkeys(
    ("good", "fenced", "no-response-format", "no-usage", "absurd-usage", "negative-usage", "echo"), "Diagnosed"
)
SLOW = ("hang", "drip")
REASONS = GOOD | {
    **dict.fromkeys(
        (
            "prose", "prose-around", "two-objects", "list", "thoughts", "tools", "no-choices", "two-choices",
            "duplicate-key", "nan", "infinity", "huge-number", "fraction", "over-hundred", "text-number", "true-number",
            "nested", "nested-object", "extra-field", "extra-parameter", "other-target", "replicas", "missing-field",
            "unknown-action", "lookalike-action", "full-width-action", "lookalike-key", "invisible-cause", "long-cause",
            "huge-answer", "no-evidence", "full-width-evidence",
        ),
        "SchemaViolation",
    ),
    **dict.fromkeys(("truncated", "truncated-whole"), "Truncated"),
    **dict.fromkeys(("filtered", "refusal", "empty"), "Refused"),
    **dict.fromkeys(("not-allowed", "wrong-direction"), "ActionNotAllowed"),
    "unknown-evidence": "UnknownEvidence",
    "unknown-container": "UnknownContainer",
    "unsure": "LowConfidence",
    **dict.fromkeys(("unauthorized", "forbidden"), "Unauthorized"),
    "not-found": "ProviderNotFound",
    **dict.fromkeys(("busy", "busy-unsaid"), "RateLimited"),
    **dict.fromkeys(SLOW, "Timeout"),
    **dict.fromkeys(
        (
            "not-openai", "not-json", "duplicate-key-outside", "bad-request", "server-error", "unavailable", "teapot",
            "redirect", "wrong-type", "stream", "endless", "reset",
        ),
        "ProviderUnreachable",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with serving_models() as made:
        yield made


def diagnose(server: ModelServer, model: str, case: str, turns: Path, seconds: float = 60) -> Verdict:
    """As the role does it: question, module, judgement. What a letter's process does is done in this one, for speed."""
    facts = load(case).facts
    settings = parse_diagnose({"allowedActions": ["notify", "scale", "restart"], "includeLogs": True})
    provider = Provider(server.url, model=model, namespaces=frozenset({"*"}))
    asked = ask(settings, facts, provider)
    request = {
        **asked.as_plan(), "url": f"{server.url}/chat/completions", "method": "POST", "token": TOKEN, "ca": "",
        "limit": 65536, "turns": str(turns), "revision": "1", "seconds": seconds,
    }  # fmt: skip
    answer = aitask_http._guarded_alone(request)
    return judge(settings, facts, asked, json.loads(json.dumps(answer).replace(TOKEN, "*****")))


def test_every_fault_has_its_row() -> None:
    assert REASONS.keys() == FAULTS.keys() - {"hold"}  # which is as good as its release
    assert len(FAULTS) >= 60


@pytest.mark.parametrize("model", REASONS)
def test_a_fault_has_its_reason_and_ends_in_the_fallback(model: str, server: ModelServer, tmp_path: Path) -> None:
    before = len(server.bodies)
    found = diagnose(server, model, "injected", tmp_path, seconds=1 if model in SLOW else 60)
    good = model in GOOD
    assert (found.reason, found.source) == (REASONS[model], "model" if good else "fallback")
    assert found.action == ("restart" if good else "notify")
    sent = server.bodies[before:]
    twice = model in ("no-response-format", "bad-request")
    assert ["response_format" in body for body in sent] == ([True, False] if twice else [True]), "asked too often"
    assert found.calls == len(sent)
    assert all(body["max_tokens"] == 800 for body in sent)
    spec = load("injected").facts.spec
    assert with_choice(spec, found) == replace(spec, action=found.action), "it reached more than the action"
    told = json.dumps(render_diagnosis(found, NOW)) + found.message
    assert not any(word in told for word in ("kubectl", "rm -rf", "evil", "<html>", "{{", "canary-"))
    assert len(told) < 5000


def test_nothing_that_is_secret_or_names_anything_ever_left(server: ModelServer, tmp_path: Path) -> None:
    """Every case is sent; then also what the faults above were sent counts."""
    for name in NAMES:
        (tmp_path / name).mkdir()
        begin = len(server.seen)
        diagnose(server, "good", name, tmp_path / name)
        canaries = [canary for canary in load(name).canaries if canary.isascii() and canary not in "shop/"]
        sent = bytes(server.seen[begin:])
        assert [c for c in (*canaries, "checkout", "-canary-rosebud", "arg-canary") if c.encode() in sent] == []
    assert server.strayed == 0, "a redirect was followed"
    assert server.seen.count(TOKEN.encode()) == len(server.bodies), "the credential goes into one header only"


def test_an_answer_that_repeats_everything_tells_nothing_new(server: ModelServer, tmp_path: Path) -> None:
    server.answer = decision(rootCause="pod-000000 and secret-000000 and e1")
    found = diagnose(server, "good", "crash-on-configuration", tmp_path)
    server.answer = decision()
    assert found.root_cause == "pod-000000 and secret-000000 and e1", "what is no pseudonym stays as it is"
