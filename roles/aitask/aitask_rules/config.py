"""The configuration of the operator: the key `config.yaml` of one ConfigMap in the operator's own namespace.

    mode: Active
    requireGuard: true
    providers:
      prometheus:
        default:
          url: https://prometheus.monitoring.svc:9090
          secretRef: {name: aitask-operator-providers, key: prometheus}
          caBundle: |
            -----BEGIN CERTIFICATE-----
          allowedNamespaces: [shop]
      webhook: {}
      llm:
        default: {url: http://ollama.models.svc:11434/v1, model: qwen3, allowedNamespaces: [shop]}

A task names a provider and never an address: where requests go, and with which credential, one file says that only the
operator's administrators write. A file with any fault gives no configuration at all.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import yaml

from .fields import part, unknown
from .rails import FIELDS, Rails, parse_rails
from .values import mapping

KEY = "config.yaml"
CREDENTIALS = "aitask-operator-providers"
KINDS = ("prometheus", "webhook", "llm")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_SECRET_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_SECRET_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_MODEL = re.compile(r"[!-~]{1,256}")
_CERTIFICATE = "-----BEGIN CERTIFICATE-----"


@dataclass(frozen=True)
class Provider:
    """Where requests of one name go."""

    url: str
    secret: str = ""
    """Name of the Secret with the bearer token; empty: no credential is sent."""
    key: str = ""
    ca: str = ""
    """PEM, instead of the authorities of the system."""
    namespaces: frozenset[str] = frozenset()
    """Whose tasks may use it; `*` is everybody."""
    model: str = ""
    """Name of the language model, for kind llm."""

    def is_open_to(self, namespace: str) -> bool:
        return "*" in self.namespaces or namespace in self.namespaces


@dataclass(frozen=True)
class Config:
    """What the file says, or the defaults where there is none."""

    require_guard: bool = True
    """Whether nothing but observation is done on a cluster without the admission guard."""
    prometheus: Mapping[str, Provider] = field(default_factory=dict)
    webhook: Mapping[str, Provider] = field(default_factory=dict)
    llm: Mapping[str, Provider] = field(default_factory=dict)
    rails: Rails = field(default_factory=Rails)

    def provider(self, kind: str, name: str, namespace: str) -> Provider | None:
        """None for one that is not there and for one that is closed to this namespace: nobody can probe for names."""
        known = {"prometheus": self.prometheus, "webhook": self.webhook, "llm": self.llm}
        found = known[kind].get(name)
        return found if found is not None and found.is_open_to(namespace) else None


class ConfigError(ValueError):
    """The file cannot be used; the message names every field and the cure, and no value but names."""


def read_config(result: Mapping[str, Any]) -> Config:
    """From the result of the task that reads the ConfigMap. One that is not there is no fault: the defaults hold."""
    if "resources" not in result:
        text = str(result.get("msg", ""))
        why = "it may not be read" if "orbidden" in text else "it cannot be read"
        raise ConfigError(f"{why}; see the log of the operator")
    found = [mapping(entry) for entry in result["resources"]]
    data = mapping(found[0].get("data")) if found else {}
    if data and KEY not in data:
        raise ConfigError(f"it has no key {KEY}")
    return parse_config(data.get(KEY))


@lru_cache(maxsize=4)
def parse_config(text: str | None) -> Config:
    """Raises ConfigError with all faults at once. Kept, since each field that a task uses asks again."""
    raw = _load(text or "")
    faults: list[str] = []
    if not isinstance(raw, Mapping):
        raise ConfigError(f"{KEY} must be a mapping of fields to values")
    unknown(raw, ("requireGuard", "providers", *FIELDS), "", faults)
    guard = raw.get("requireGuard", True)
    if not isinstance(guard, bool):
        faults.append("requireGuard must be true or false")
    providers = part(raw, "providers", "", faults)
    unknown(providers, KINDS, "providers.", faults)
    known = {kind: _providers(providers, kind, faults) for kind in KINDS}
    rails = parse_rails(raw, faults)
    if faults:
        raise ConfigError("; ".join(faults))
    return Config(guard is True, known["prometheus"], known["webhook"], known["llm"], rails)


class _Loader(yaml.SafeLoader):
    """YAML without its silent trap: of a key that is there twice the last would win."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.MarkedYAMLError(problem="twice", problem_mark=node.start_mark)
        return super().construct_mapping(node, deep)


def _load(text: str) -> Any:
    try:
        loaded = _Loader(text).get_single_data()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark is not None else ""
        raise ConfigError(f"{KEY} is no YAML, or has a key twice{where}") from error
    return {} if loaded is None else loaded


def _providers(raw: Mapping[str, Any], kind: str, faults: list[str]) -> dict[str, Provider]:
    entries = part(raw, kind, "providers.", faults)
    found: dict[str, Provider] = {}
    for name, entry in entries.items():
        where = f"providers.{kind}.{str(name)[:63]}"
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            faults.append(f"{where}: a name has at most 63 of a-z, 0-9 and '-', and no '-' at its ends")
        elif not isinstance(entry, Mapping):
            faults.append(f"{where} must be a mapping with at least url")
        else:
            found[name] = _provider(entry, f"{where}.", kind, faults)
    return found


def _provider(raw: Mapping[str, Any], where: str, kind: str, faults: list[str]) -> Provider:
    own = ("model",) if kind == "llm" else ()
    unknown(raw, ("url", *own, "secretRef", "caBundle", "allowedNamespaces"), where, faults)
    url, ca = raw.get("url"), raw.get("caBundle")
    fault = _url_fault(url, kind)
    if fault:
        faults.append(f"{where}url {fault}")
    if ca is not None and (not isinstance(ca, str) or _CERTIFICATE not in ca):
        faults.append(f"{where}caBundle must hold certificates in PEM form; leave it out to trust those of the system")
    elif ca is not None and not str(url).lower().startswith("https:"):
        faults.append(f"{where}caBundle needs an https url")
    secret, key = _secret(raw, where, faults)
    model = _model(raw, where, faults) if kind == "llm" else ""
    return Provider(str(url).rstrip("/"), secret, key, str(ca or ""), _namespaces(raw, where, faults), model)


def _model(raw: Mapping[str, Any], where: str, faults: list[str]) -> str:
    model = raw.get("model")
    if not isinstance(model, str) or not _MODEL.fullmatch(model):
        faults.append(f"{where}model must be the name of a model as the server lists it, without spaces")
    return str(model)


def _url_fault(url: Any, kind: str) -> str:
    if not isinstance(url, str) or not re.fullmatch(r"[!-~]+", url):
        return "must be an address without spaces, as in https://host:port/path"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "must be an address, as in https://host:port/path"
    if parts.scheme.lower() not in ("http", "https") or not parts.hostname or port == 0:
        return "must begin with http:// or https:// and a host"
    if "@" in parts.netloc:
        return "must not hold a user or password; put a bearer token into a Secret and name it in secretRef"
    if parts.fragment or "\\" in url:
        return "must not hold # or \\"
    if kind == "prometheus" and "?" in url:
        return "must end before /api/v1 and hold no ?"
    if kind == "llm" and ("?" in url or url.rstrip("/").endswith("/chat/completions")):
        return "must end before /chat/completions and hold no ?"
    return ""


def _secret(raw: Mapping[str, Any], where: str, faults: list[str]) -> tuple[str, str]:
    if raw.get("secretRef") is None:
        return "", ""
    ref = part(raw, "secretRef", where, faults)
    unknown(ref, ("name", "key"), f"{where}secretRef.", faults)
    name, key = ref.get("name", CREDENTIALS), ref.get("key")
    if not isinstance(name, str) or not _SECRET_NAME.fullmatch(name):
        faults.append(f"{where}secretRef.name must be the name of a Secret; left out it is {CREDENTIALS}")
    if not isinstance(key, str) or not _SECRET_KEY.fullmatch(key):
        faults.append(f"{where}secretRef.key must be the key of the Secret that holds the bearer token")
    return str(name), str(key)


def _namespaces(raw: Mapping[str, Any], where: str, faults: list[str]) -> frozenset[str]:
    names = raw.get("allowedNamespaces")
    names = [] if names is None else names
    if not isinstance(names, list) or not all(
        isinstance(name, str) and (name == "*" or _NAME.fullmatch(name)) for name in names
    ):
        faults.append(f'{where}allowedNamespaces must be a list of names of namespaces, or ["*"] for all')
        return frozenset()
    return frozenset(names)
