"""The configuration of the operator: what it may say, and what is said of a file that cannot be used."""

from typing import Any

import pytest
import yaml
from aitask_rules.config import CREDENTIALS, Config, ConfigError, Provider, parse_config, read_config
from aitask_rules.providers import NOTHING, bearer_token, find_provider, query_url
from hypothesis import given
from hypothesis import strategies as st

from tests.support.properties import json_values

CA = "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n"


def providers(kind: str = "prometheus", **fields: Any) -> str:
    entry = {"url": "https://prom:9090", "allowedNamespaces": ["shop"], **fields}
    text: str = yaml.safe_dump({"providers": {kind: {"main": entry}}})
    return text


def fault(text: str) -> str:
    with pytest.raises(ConfigError) as found:
        parse_config(text)
    return str(found.value)


@pytest.mark.parametrize("text", [None, "", "# nothing\n", "{}", "providers:\n", "providers: {prometheus: }"])
def test_nothing_said_means_the_defaults(text: str | None) -> None:
    assert parse_config(text) == Config(require_guard=True, prometheus={}, webhook={})


def test_everything_said_is_read() -> None:
    text = providers(url="https://prom:9090/prefix/", secretRef={"key": "token"}, caBundle=CA) + "requireGuard: false\n"
    expected = Provider("https://prom:9090/prefix", CREDENTIALS, "token", CA, frozenset({"shop"}))
    assert parse_config(text) == Config(require_guard=False, prometheus={"main": expected}, webhook={})
    assert parse_config(providers("webhook", secretRef={"name": "own", "key": "a"})).webhook["main"].secret == "own"


@pytest.mark.parametrize(
    ("allowed", "opened"),
    [(None, []), ([], []), (["shop"], ["shop"]), (["*"], ["shop", "bank"]), (["bank", "*"], ["shop", "bank"])],
)
def test_a_provider_is_open_to_whom_it_names_and_to_nobody_else(allowed: Any, opened: list[str]) -> None:
    config = parse_config(providers(allowedNamespaces=allowed))
    assert [name for name in ("shop", "bank") if config.provider("prometheus", "main", name)] == opened
    assert config.provider("webhook", "main", "shop") is None
    assert config.provider("prometheus", "other", "shop") is None


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"url": None}, "providers.prometheus.main.url must be an address"),
        ({"url": 9090}, "url must be an address"),
        ({"url": "prom:9090"}, "url must begin with http:// or https://"),
        ({"url": "file:///etc/passwd"}, "url must begin with http:// or https://"),
        ({"url": "gopher://prom"}, "url must begin with http:// or https://"),
        ({"url": "https://"}, "and a host"),
        ({"url": "https://prom:0"}, "and a host"),
        ({"url": "https://prom:port"}, "url must be an address"),
        ({"url": "https://prom:99999"}, "url must be an address"),
        ({"url": "https://[::1"}, "url must be an address"),
        ({"url": "https://user:hidden@prom"}, "must not hold a user or password; put a bearer token into a Secret"),
        ({"url": "https://@prom"}, "must not hold a user or password"),
        ({"url": "https://prom /x"}, "without spaces"),
        ({"url": "ht\ntps://prom"}, "without spaces"),
        ({"url": "https://prom#x"}, "must not hold #"),
        ({"url": "https://prom\\@evil"}, "must not hold"),
        ({"url": "https://prom?x=1"}, "must end before /api/v1"),
        ({"adress": "x"}, "providers.prometheus.main.adress is not known; known are url, secretRef"),
        ({"secretRef": "token"}, "main.secretRef must be a mapping"),
        ({"secretRef": {}}, "main.secretRef.key must be"),
        ({"secretRef": {"key": "a/b"}}, "main.secretRef.key must be"),
        ({"secretRef": {"key": "a", "name": "../x"}}, "main.secretRef.name must be"),
        ({"secretRef": {"key": "a", "namespace": "x"}}, "secretRef.namespace is not known"),
        ({"caBundle": "MII"}, "caBundle must hold certificates"),
        ({"caBundle": CA, "url": "http://prom"}, "caBundle needs an https url"),
        ({"allowedNamespaces": "shop"}, "allowedNamespaces must be a list"),
        ({"allowedNamespaces": ["shop-*"]}, "allowedNamespaces must be a list"),
        ({"allowedNamespaces": [1]}, "allowedNamespaces must be a list"),
    ],
)
def test_a_fault_names_the_field_and_the_cure_and_never_a_value(fields: dict[str, Any], words: str) -> None:
    message = fault(providers(**fields))
    assert words in message
    assert "hidden" not in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[]", "must be a mapping"),
        ("text", "must be a mapping"),
        ("a: [", "is no YAML"),
        ("requireGuard: true\nrequireGuard: false\n", "has a key twice (line 1)"),
        ("{[a]: 1}", "is no YAML"),
        ("!!python/object/apply:os.system [true]", "is no YAML"),
        ("requireGuard: maybe", "requireGuard must be true or false"),
        ("requireGaurd: true", "requireGaurd is not known; known are requireGuard, providers"),
        ("providers: []", "providers must be a mapping"),
        ("providers: {promtheus: {}}", "providers.promtheus is not known; known are prometheus, webhook, llm"),
        ("providers: {prometheus: [a]}", "providers.prometheus must be a mapping"),
        ("providers: {prometheus: {a: x}}", "providers.prometheus.a must be a mapping with at least url"),
        ("providers: {prometheus: {A_B: {url: 'http://a'}}}", "providers.prometheus.A_B: a name has"),
        ("providers: {prometheus: {1: {url: 'http://a'}}}", "providers.prometheus.1: a name has"),
    ],
)
def test_a_file_that_is_wrong_elsewhere_says_where(text: str, words: str) -> None:
    assert words in fault(text)


def test_all_faults_are_said_at_once() -> None:
    message = fault(providers(url="x", allowedNamespaces="y", z=1) + "guard: 1\n")
    assert [word in message for word in ("main.url", "main.allowedNamespaces", "main.z", "guard")] == [True] * 4


def test_a_webhook_may_have_a_question_mark_in_its_address() -> None:
    assert parse_config(providers("webhook", url="https://h/x?room=ops")).webhook["main"].url.endswith("?room=ops")


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ({"msg": 'configmaps "x" is forbidden: Forbidden', "failed": False}, "may not be read"),
        ({"msg": "timed out"}, "cannot be read"),
        ({"resources": [{"data": {"config.yml": ""}}]}, "it has no key config.yaml"),
        ({"resources": [{"data": {"config.yaml": "x"}}]}, "must be a mapping"),
    ],
)
def test_a_configmap_that_cannot_be_used(result: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        read_config(result)


@pytest.mark.parametrize("result", [{"resources": []}, {"resources": [{}]}, {"resources": [{"data": None}]}])
def test_a_configmap_that_is_not_there_or_empty_means_the_defaults(result: dict[str, Any]) -> None:
    assert read_config(result) == Config()


def test_whom_to_ask_is_known_only_from_a_good_file() -> None:
    good = {"resources": [{"data": {"config.yaml": providers(secretRef={"key": "k"})}}]}
    found = {"url": "https://prom:9090", "secret": CREDENTIALS, "key": "k", "ca": ""}
    assert find_provider(good, "prometheus", "main", "shop") == found
    assert find_provider(good, "prometheus", "main", "bank") == NOTHING
    assert find_provider({"resources": [{"data": {"config.yaml": "x"}}]}, "prometheus", "main", "shop") == NOTHING
    assert find_provider({}, "webhook", "main", "shop") == NOTHING


def test_the_query_is_one_parameter_whatever_it_holds() -> None:
    url = query_url("https://prom/x", 'sum(up{job="a b"}) & time=0 #ä')
    assert url == (
        "https://prom/x/api/v1/query?query=sum%28up%7Bjob%3D%22a+b%22%7D%29+%26+time%3D0+%23%C3%A4&timeout=5s&limit=2"
    )


@pytest.mark.parametrize(
    ("encoded", "token"),
    [
        ("YWJj", "abc"),
        ("YWJjCg==", "abc"),
        ("", ""),
        ("%%%", ""),
        ("YQpi", ""),
        ("YSBi", ""),
        ("w6Q=", ""),
        (None, ""),
        (5, ""),
    ],
)
def test_a_token_is_sent_only_if_it_can_be_a_header(encoded: Any, token: str) -> None:
    assert bearer_token({"resources": [{"data": {"k": encoded}}]}, "k") == token


def test_without_a_secret_there_is_no_token() -> None:
    for result in ({}, {"resources": []}, {"msg": "no"}, {"skipped": True}, {"resources": [{}]}):
        assert bearer_token(result, "k") == ""


@given(json_values | st.text())
def test_any_file_is_a_configuration_or_says_what_is_wrong(value: Any) -> None:
    for text in (str(value), yaml.safe_dump({"providers": {"prometheus": value, "webhook": {"a": value}}})):
        try:
            found = parse_config(text)
        except ConfigError as error:
            assert str(error)
        else:
            assert all(provider.url.startswith("http") for provider in found.prometheus.values())
