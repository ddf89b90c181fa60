"""Requests to providers: what to send, and what the tasks that send it need to know."""

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from .config import ConfigError, Provider, read_config
from .rails import OFF
from .values import first, items, mapping, one_line

NOTHING = {"url": "", "secret": "", "key": "", "ca": ""}
_EVALUATION_SECONDS = 5


_CALLED = {"prometheus": "Prometheus provider", "webhook": "webhook", "llm": "model provider"}
_BELOW = {"llm": "/chat/completions"}
"""What follows the address of a provider, where it is always the same."""


def choose_provider(configuration: Mapping[str, Any], kind: str, name: str, namespace: str) -> Provider | str:
    """Whom to ask, by the result of the task that reads the ConfigMap, or why there is nobody."""
    try:
        config = read_config(configuration)
    except ConfigError as error:
        return f"the configuration of the operator cannot be used: {one_line(error, 700)}"
    if kind != "prometheus" and config.rails.mode == OFF:
        return "the operator is switched off (mode: Off)"
    found = config.provider(kind, name, namespace)
    if found is None:
        return f"the operator has no {_CALLED[kind]} {one_line(name, 63)!r} that namespace {namespace} may use"
    return found


def find_provider(configuration: Mapping[str, Any], kind: str, name: str, namespace: str) -> dict[str, str]:
    """`url`, `secret` (name of a Secret, may be empty), `key` in it and `ca` (PEM, may be empty); all empty where there
    is nobody to ask. Why there is nobody is for the judgement to say, which is given the same configuration."""
    found = choose_provider(configuration, kind, name, namespace)
    if isinstance(found, str):
        return dict(NOTHING)
    return {"url": found.url + _BELOW.get(kind, ""), "secret": found.secret, "key": found.key, "ca": found.ca}


def query_url(base: str, query: str) -> str:
    """An instant query by Prometheus' HTTP API. Two series are enough to know that there is more than one (servers that
    know no `limit` ignore it), and nobody waits for an evaluation that takes longer than the timeout."""
    asked = urlencode({"query": query, "timeout": f"{_EVALUATION_SECONDS}s", "limit": "2"})
    return f"{base}/api/v1/query?{asked}"


def bearer_token(result: Mapping[str, Any], key: str) -> str:
    """The token out of the result of the task that reads the Secret; empty if there is none that can be sent. A file's
    last newline is no part of it."""
    found = [mapping(entry) for entry in items(result.get("resources"))]
    encoded = mapping(found[0].get("data")).get(key) if found else None
    if not isinstance(encoded, str):
        return ""
    try:
        token = b64decode(encoded, validate=True).decode("ascii").strip()
    except (Base64Error, UnicodeDecodeError, ValueError):
        return ""
    return token if token.isprintable() and " " not in token else ""


def config_revision(configuration: Mapping[str, Any], credential: Mapping[str, Any]) -> str:
    """Another one as soon as the ConfigMap or the Secret was written: a provider that refused is then tried again."""
    read = (mapping(first(result).get("metadata")) for result in (configuration, credential))
    return "/".join(f"{meta.get('uid', '')}.{meta.get('resourceVersion', '')}" for meta in read)
