"""What is believed of an answer: the form, held against the published schema, and what the form cannot say."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from aitask_rules.config import Provider
from aitask_rules.diagnosis import (
    Diagnose,
    Question,
    Verdict,
    ask,
    cached,
    judge,
    parse_diagnose,
    read_usage,
    refuse,
    render_diagnosis,
    standing,
    with_choice,
)
from aitask_rules.diagnosis.answer import TRANSIENT
from aitask_rules.diagnosis.decision import ACTIONS, Unusable, parse_decision
from aitask_rules.diagnosis.prompt import VERSION, bodies
from aitask_rules.diagnosis.usage import Usage
from aitask_rules.values import one_line
from hypothesis import given
from hypothesis import strategies as st

from tests.support.models import completion, decision
from tests.support.properties import json_values
from tests.unit.roles.breach_cases import NAMES, NOW, load

SCHEMA = json.loads((Path(__file__).parent / "decision.schema.json").read_text())
PROVIDER = Provider("http://ollama:11434/v1", model="m", namespaces=frozenset({"*"}))
ALLOWED = ("notify", "scale", "restart", "rollback", "patchResources")


def settings(**fields: Any) -> Diagnose:
    return parse_diagnose({"allowedActions": list(ALLOWED), **fields})


def answered(content: Any = None, **fields: Any) -> dict[str, Any]:
    """The result of the task that asks."""
    body = json.dumps(completion(json.dumps(decision()) if content is None else content))
    return {"status": 200, "media": "application/json", "body": body, "tries": 1, "elapsed": 1.5} | fields


def judged(answer: dict[str, Any], case: str = "memory-killed", **fields: Any) -> Verdict:
    facts = load(case).facts
    asked = settings(**fields)
    return judge(asked, facts, ask(asked, facts, PROVIDER), answer)


def question(case: str = "memory-killed", **fields: Any) -> Question:
    return ask(settings(**fields), load(case).facts, PROVIDER)


# --- the question ---


@pytest.mark.parametrize("name", NAMES)
def test_the_request_is_what_such_servers_take_and_no_template(name: str) -> None:
    asked = question(name)
    for text in (asked.body, asked.otherwise):
        assert not any(sign in text for sign in ("{{", "{%", "{#")), "Ansible would fill it in"
        body = json.loads(text)
        assert (body["model"], body["max_tokens"], body["stream"]) == ("m", 800, False)
        told = json.loads(body["messages"][1]["content"])
        assert [f"{item['id']} {item['text']}" for item in told["evidence"]] == list(asked.evidence)
        assert told["allowedActions"] == ["none", *ALLOWED]
    assert "response_format" not in json.loads(asked.otherwise)
    assert len(asked.body) < 20_000


@pytest.mark.parametrize("sign", ["{{{ x }}}", "{{{% x %}", "{{{{# x", "{ {% x %}", "{{x}}"])
def test_braces_in_a_row_are_no_template_either(sign: str) -> None:
    for text in (*bodies("m", 800, ["notify"], [f"e1 {sign}"]), one_line(sign, 100)):
        assert not any(begin in text for begin in ("{{", "{%", "{#"))
    assert (
        sign
        in json.loads(json.loads(bodies("m", 800, ["notify"], [f"e1 {sign}"])[0])["messages"][1]["content"])[
            "evidence"
        ][0]["text"]
    )


def test_the_format_that_is_asked_for_is_a_part_of_the_published_schema() -> None:
    """Strict servers want every property required; what may be left out may be null instead, and null is left out."""
    sent = json.loads(question().body)["response_format"]["json_schema"]
    assert sent["strict"] is True
    jsonschema.Draft202012Validator.check_schema(sent["schema"])
    good = decision(action="scale", parameters={"direction": "Up", "toRevision": None, "container": None})
    jsonschema.validate(good, sent["schema"])
    kept = parse_decision(json.dumps(good))
    assert kept.parameters == {"direction": "Up"}
    jsonschema.validate({**good, "parameters": dict(kept.parameters)}, SCHEMA)
    for wrong in (decision(action="delete"), decision(evidence=["e900"]), decision(command="x")):
        assert not jsonschema.Draft202012Validator(sent["schema"]).is_valid(wrong)


def test_the_key_is_of_all_that_could_change_the_answer() -> None:
    facts, asked = load("memory-killed").facts, settings()
    keys = {
        ask(asked, facts, PROVIDER).key,
        ask(asked, load("cpu-busy").facts, PROVIDER).key,
        ask(asked, facts, replace(PROVIDER, model="other")).key,
        ask(settings(allowedActions=["restart"]), facts, PROVIDER).key,
        ask(settings(maxOutputTokens=2000), facts, PROVIDER).key,
    }
    assert len(keys) == 5
    assert ask(settings(minConfidencePercent=5, timeoutSeconds=9), facts, PROVIDER).key in keys


def test_a_prompt_of_another_version_is_another_question() -> None:
    """Whoever changes what a model reads must raise prompt.VERSION, and this."""
    digest = sha256("".join(bodies("m", 1, ("notify",), ("e1 x",))).encode()).hexdigest()[:16]
    assert (VERSION, digest) == ("1", "1dc390245f29d2ea")


# --- the form ---

parts = {
    "rootCause": st.text(max_size=20) | json_values | st.just("x" * 1001),
    "action": st.sampled_from([*ACTIONS, "delete", "Restart", ""]) | json_values,
    "confidencePercent": st.integers(-5, 105) | st.booleans() | st.text(max_size=3),
    "evidence": st.lists(st.sampled_from(["e1", "e22", "e1234", "x1", "e\uff11", "e1\n", ""]), max_size=12),
    "parameters": st.dictionaries(
        st.sampled_from(["direction", "toRevision", "container", "image"]),
        st.sampled_from(["Up", "Down", "app", "x" * 64]) | st.integers(-1, 3) | st.booleans(), max_size=3,
    ) | json_values,
    "replicas": st.integers(),
}  # fmt: skip


@given(st.fixed_dictionaries({}, optional=parts))
def test_the_check_accepts_what_the_published_schema_accepts_and_nothing_else(answer: dict[str, Any]) -> None:
    """But for nulls, which count as left out, a pattern that means the whole text, and a cause that nobody can read."""
    parameters = answer.get("parameters")
    if isinstance(parameters, dict):
        known = {
            k: v for k, v in parameters.items() if v is not None or k not in ("direction", "toRevision", "container")
        }
        answer = {**answer, "parameters": known}
    valid = jsonschema.Draft202012Validator(SCHEMA).is_valid(answer)
    strange = any("\n" in name for name in answer.get("evidence", []))
    try:
        parse_decision(json.dumps(answer))
        accepted = True
    except Unusable as fault:
        accepted = False
        if valid and not strange:
            assert "nothing that can be read" in str(fault) or "whole number from 1" in str(fault), (fault, answer)
    assert valid or not accepted


@given(st.fixed_dictionaries({}, optional=parts))
def test_a_good_answer_with_any_one_part_changed_is_judged_as_the_schema_says(part: dict[str, Any]) -> None:
    for name, value in part.items():
        answer = decision(**{name: value})
        valid = jsonschema.Draft202012Validator(SCHEMA).is_valid(answer)
        try:
            parse_decision(json.dumps(answer))
        except Unusable:
            continue
        nulls = isinstance(value, dict) and None in value.values()
        assert valid or nulls, answer


@given(st.text() | st.binary().map(lambda b: b.decode(errors="replace")))
def test_any_other_text_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(Unusable) as found:
        parse_decision(text)
    assert found.value.reason == "SchemaViolation"


CASE = load("memory-killed").facts, question()


@given(json_values)
def test_any_envelope_ends_in_a_verdict(value: Any) -> None:
    facts, asked = CASE
    for body in (value, {"choices": value}, {"choices": [value]}, {"choices": [{"message": value}]}):
        for answer in (
            answered(body=json.dumps(body)),
            {"status": value},
            {"body": value, "status": 200},
            {"held": value},
        ):
            found = judge(settings(), facts, asked, answer)
            assert (found.source, found.action, found.reason != "Diagnosed") == ("fallback", "notify", True)
            json.dumps(render_diagnosis(found, NOW))


# --- the verdict ---


def test_a_good_answer_is_done_and_told_with_names() -> None:
    facts = load("memory-killed").facts
    asked = question()
    pod = next(word for word in " ".join(asked.evidence).split() if word.startswith("pod-"))
    said = decision(rootCause=f"Pod {pod} runs out of memory.\n\u202eIgnored {{{{ x }}}}", evidence=["e1", "e6"])
    found = judge(settings(), facts, asked, answered(json.dumps(said)))
    assert (found.reason, found.source, found.action, found.confidence) == ("Diagnosed", "model", "restart", 90)
    assert found.root_cause == "Pod checkout-7d9f8c6b5d-x00z9 runs out of memory. Ignored { { x }}"
    assert (found.tokens, found.calls, found.elapsed, found.failed) == (1000, 1, 1.5, False)
    assert "checkout-7d9f8c6b5d-x00z9" in found.message
    assert with_choice(facts.spec, found) == replace(facts.spec, action="restart")


@pytest.mark.parametrize(
    ("said", "reason", "words"),
    [
        (decision(evidence=["e1", "e99"]), "UnknownEvidence", "e99"),
        (decision(confidencePercent=69), "LowConfidence", "69% is below minConfidencePercent 70"),
        (decision(parameters={"container": "proxy"}), "UnknownContainer", "does not have"),
        (decision(action="scale", parameters={"direction": "Down"}), "ActionNotAllowed", "Down is not the one"),
        (decision(action="rollback", parameters={"toRevision": 3}), "ActionNotAllowed", "revision 3 is not the one"),
        (decision(action="patchResources", parameters={"container": "app"}), "ActionNotAllowed", "patchResources.cont"),
    ],
)
def test_what_the_spec_and_the_target_do_not_allow(said: dict[str, Any], reason: str, words: str) -> None:
    facts = load("memory-killed").facts
    facts = replace(facts, spec=replace(facts.spec, to_revision=2, container_to_raise="other"))
    found = judge(settings(fallbackAction="scale"), facts, question(), answered(json.dumps(said)))
    assert (found.reason, found.source, found.action, found.suggested) == (reason, "fallback", "scale", said["action"])
    assert words in found.message
    assert found.message.endswith("fallbackAction is scale")
    assert found.reason not in TRANSIENT
    assert with_choice(facts.spec, found).action == "scale"


def test_an_action_that_is_not_allowed_is_not_done() -> None:
    found = judged(answered(json.dumps(decision(action="rollback"))), allowedActions=["restart"])
    assert (found.reason, found.action) == ("ActionNotAllowed", "notify")
    assert judged(answered(json.dumps(decision(action="none"))), allowedActions=[]).action == "none"


def test_a_container_comes_back_by_its_pseudonym() -> None:
    hidden = next(word for word in " ".join(question().evidence).split() if word.startswith("container-"))
    facts = load("memory-killed").facts
    facts = replace(facts, spec=replace(facts.spec, container_to_raise="app"))
    said = decision(action="patchResources", parameters={"container": hidden})
    assert judge(settings(), facts, question(), answered(json.dumps(said))).parameters == {"container": "app"}


@pytest.mark.parametrize(
    ("said", "wanted", "left", "goes_to"),
    [
        (None, None, (), None),
        (11, None, (), None),
        (9, None, (), 11),
        (12, None, (), 11),
        (9, 9, (), None),
        (11, 9, (), 9),
        (11, None, ("7d9f8c6b5d",), 9),
        (9, None, ("7d9f8c6b5d", "6c5b4d8f77"), "there is none"),
    ],
)
def test_a_model_may_only_name_the_revision_that_the_spec_and_the_rule_lead_to(
    said: int | None, wanted: int | None, left: tuple[str, ...], goes_to: object
) -> None:
    """Revision 12 is the current one. Older ones were left for a reason, which may be a hole in them."""
    facts = load("rollout-stuck").facts
    state = replace(facts.state, rolled_back_from=left)
    facts = replace(facts, spec=replace(facts.spec, to_revision=wanted), state=state)
    answer = answered(json.dumps(decision(action="rollback", parameters={"toRevision": said})))
    found = judge(settings(), facts, ask(settings(), facts, PROVIDER), answer)
    assert (found.reason == "Diagnosed") is (goes_to is None)
    if goes_to is not None:
        assert (found.reason, found.action) == ("ActionNotAllowed", "notify")
        assert f"revision {said} is not the one that a rollback goes to ({goes_to})" in found.message
    assert with_choice(facts.spec, found).to_revision == wanted


# --- what is kept ---


def kept(found: Verdict) -> dict[str, Any]:
    """As the status gives it back."""
    told: dict[str, Any] = json.loads(json.dumps(render_diagnosis(found, NOW)))
    return {name: value for name, value in told.items() if value is not None}


def test_the_same_question_is_answered_from_the_status() -> None:
    facts, asked = load("memory-killed").facts, question()
    first = judge(settings(), facts, asked, answered())
    again = cached(settings(), facts, asked, kept(first))
    assert again is not None
    assert replace(again, source="", message="", tokens=0, calls=0, elapsed=0) == replace(
        first, source="", message="", tokens=0, calls=0, elapsed=0
    )
    assert (again.source, again.calls, again.tokens) == ("cache", 0, 0)
    assert cached(settings(), facts, question("cpu-busy"), kept(first)) is None
    assert standing(settings(), facts, kept(first)) == again


@pytest.mark.parametrize("reason", ["Timeout", "RateLimited", "CircuitOpen", "BudgetExhausted", "Busy"])
def test_what_was_not_answered_is_asked_again(reason: str) -> None:
    assert reason in TRANSIENT
    stored = kept(refuse(settings(), reason, "so it was", question().key))
    assert cached(settings(), load("memory-killed").facts, question(), stored) is None


@pytest.mark.parametrize("content", ["prose", json.dumps(decision(evidence=["e99"])), "{}"])
def test_a_bad_answer_is_not_asked_for_twice(content: str) -> None:
    facts, asked = load("memory-killed").facts, question()
    first = judge(settings(), facts, asked, answered(content))
    again = cached(settings(), facts, asked, kept(first))
    assert again is not None
    assert (again.reason, again.action, again.source, again.calls) == (first.reason, "notify", "fallback", 0)
    assert again.message == first.message


def test_what_the_spec_allows_is_looked_at_again() -> None:
    facts, asked = load("memory-killed").facts, question()
    unsure = judge(settings(), facts, asked, answered(json.dumps(decision(confidencePercent=50))))
    bolder = cached(settings(minConfidencePercent=40), facts, asked, kept(unsure))
    assert (unsure.reason, bolder and bolder.reason) == ("LowConfidence", "Diagnosed")
    good = judge(settings(), facts, asked, answered())
    tighter = standing(settings(allowedActions=["scale"]), facts, kept(good))
    assert (tighter and tighter.reason) == "ActionNotAllowed"


@given(
    st.dictionaries(st.sampled_from([*kept(refuse(settings(), "Refused", "x", "k")), "suggestedAction"]), json_values)
)
def test_whatever_stands_in_the_status_is_no_failure(stored: dict[str, Any]) -> None:
    found = standing(settings(), load("memory-killed").facts, stored)
    assert found is None or found.reason


def test_one_server_has_one_turn_and_a_breaker_for_each_model_and_credential() -> None:
    providers = [PROVIDER, replace(PROVIDER, model="b"), replace(PROVIDER, secret="c"), replace(PROVIDER, key="d")]
    asked = [ask(settings(), load("memory-killed").facts, provider).as_plan() for provider in providers]
    assert (len({plan["turn"] for plan in asked}), len({plan["breaker"] for plan in asked})) == (1, 4)


# --- the budget ---


def test_the_budget_is_of_one_day_in_utc() -> None:
    late = datetime(2026, 1, 31, 23, 59, tzinfo=UTC)
    usage = read_usage({}, late).after(judged(answered()))
    assert usage.render() == {"day": "2026-01-31", "tokens": 1000, "calls": 1, "consecutiveFailures": 0}
    assert usage.allows(3000, 2000)
    assert not usage.allows(3000, 2001)
    assert not read_usage({}, late).allows(0, 1)
    failed = usage.after(judged(answered("prose")))
    tomorrow = read_usage(failed.render(), late + timedelta(minutes=1))
    assert tomorrow.render() == {"day": "2026-02-01", "tokens": 0, "calls": 0, "consecutiveFailures": 1}
    set_back = read_usage(tomorrow.after(judged(answered())).render(), late)
    assert (set_back.day, set_back.tokens) == ("2026-01-31", 1000), "a clock set back gives no second budget"
    year_ahead = Usage("2027-01-31", tokens=1000, calls=1).render()
    assert read_usage(read_usage(year_ahead, late).render(), late + timedelta(minutes=1)).tokens == 0, (
        "used up for a year"
    )


@pytest.mark.parametrize("usage", [None, {}, {"total_tokens": -1}, {"total_tokens": 10**15}, {"total_tokens": "1"}, []])
def test_who_does_not_say_what_it_used_or_lies_costs_what_was_reserved(usage: Any) -> None:
    asked = question()
    assert asked.reserve == -(-len(asked.body) // 4) + 800
    body = json.dumps({**completion(json.dumps(decision())), "usage": usage})
    assert judged(answered(body=body)).tokens == asked.reserve


@pytest.mark.parametrize(
    ("answer", "tokens", "calls"),
    [
        ({"held": "CircuitOpen"}, 0, 0),
        ({"status": 400, "tries": 2}, 0, 2),
        ({"status": 0, "tries": 1, "late": True}, 1, 1),
        ({"status": 0, "tries": 1, "sent": True, "error": "connection reset"}, 1, 1),
        ({"status": 0, "tries": 1, "sent": False, "error": "connection refused"}, 0, 1),
        ({}, 0, 0),
    ],
)
def test_what_a_call_without_an_answer_costs(answer: dict[str, Any], tokens: int, calls: int) -> None:
    """A server that is late has worked all the same, and what was cut off may have; one that is down has not."""
    found = judged(answer)
    assert (found.tokens, found.calls) == (tokens * question().reserve, calls)


# --- the settings ---


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({"allowedActions": ["delete"]}, "allowedActions may hold notify, scale"),
        ({"fallbackAction": "patchResources"}, "fallbackAction must be one of none"),
        ({"timeoutSeconds": 0}, "timeoutSeconds must be a whole number from 1 to 300"),
        ({"maxOutputTokens": "800"}, "maxOutputTokens must be"),
        ({"dailyTokenBudget": -1}, "dailyTokenBudget must be"),
        ({"minConfidencePercent": True}, "minConfidencePercent must be"),
    ],
)
def test_a_wrong_setting_is_named_with_its_cure(raw: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_diagnose(raw)


def test_the_defaults_change_nothing_and_ask_for_no_logs() -> None:
    assert parse_diagnose({}) == Diagnose("default", ("notify",), 30, 800, 50000, 70, False, "notify")
