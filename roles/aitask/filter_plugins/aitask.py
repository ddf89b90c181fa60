"""The door between the tasks of the role and its rules (`aitask_rules`, beside this directory).

Ansible loads a filter plugin from its file, under a name of its own, and offers a role no way to import from there:
what lies in `module_utils` is for modules only, and a collection would need a path that whoever runs the role must set.
So the package is loaded by its path as well, once, under a name that nothing else has. It works wherever the role is.
"""

import sys
from collections.abc import Callable, Mapping
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from ansible.utils.unsafe_proxy import wrap_var

_HOME = Path(__file__).resolve().parent.parent / "aitask_rules"
_NAME = "_aitask_rules"


def _rules() -> ModuleType:
    loaded = sys.modules.get(_NAME)
    if loaded is not None and loaded.__file__ == str(_HOME / "__init__.py"):
        return loaded
    spec = spec_from_file_location(_NAME, _HOME / "__init__.py", submodule_search_locations=[str(_HOME)])
    if spec is None or spec.loader is None:
        raise ImportError(f"no rules in {_HOME}")
    for stale in [name for name in sys.modules if name.startswith(f"{_NAME}.")]:
        del sys.modules[stale]
    package = module_from_spec(spec)
    sys.modules[_NAME] = package
    spec.loader.exec_module(package)
    return package


def _as_data(told: Any) -> Any:
    """What the rules tell, with no template in it: words of others are, and ansible-core 2.18 takes what a filter
    returns for one. Lists and mappings are made plain, since from 2.19 on those of Ansible cannot be made anew."""
    if isinstance(told, Mapping):
        return {name: _as_data(value) for name, value in told.items()}
    if isinstance(told, list | tuple):
        return [_as_data(value) for value in told]
    return wrap_var(told)


def _plan(world: Mapping[str, Any], now: str, reads: Mapping[str, Any] | None = None) -> Any:
    """`__aitask_world | aitask_plan(now, reads)`: what to do next, given what was read so far.

    `reads` holds results of tasks by name; one that is not there yet is empty, one that was not wanted is skipped."""
    results = {name: result for name, result in (reads or {}).items() if isinstance(result, Mapping) and result}
    known = {name: result for name, result in results.items() if not result.get("skipped")}
    return _as_data(_rules().plan_pass({**world, "now": now, "reads": known}))


def _failure(task: Mapping[str, Any], now: str, where: Any, message: Any) -> Any:
    """The status that says which task of the role failed. It takes the CR alone: the rest may be what is broken."""
    return _as_data(_rules().report_failure({"task": task, "now": now}, str(where), str(message)))


def _selectors(deployment: Mapping[str, Any]) -> Any:
    return _rules().pod_selectors(deployment)


def _provider(configuration: Mapping[str, Any], kind: str, name: str, namespace: str) -> Any:
    """Whom to ask: `url`, `secret`, `key`, `ca`; all empty if nobody."""
    return _rules().find_provider(configuration, kind, str(name), str(namespace))


def _asks_for_labels(configuration: Mapping[str, Any]) -> Any:
    """Whether the operator's configuration admits namespaces by their labels."""
    return _rules().asks_for_labels(configuration)


def _query_url(base: str, query: str) -> Any:
    return _rules().query_url(str(base), str(query))


def _token(secret: Mapping[str, Any], key: str) -> Any:
    return _rules().bearer_token(secret, str(key))


def _revision(configuration: Mapping[str, Any], credential: Mapping[str, Any]) -> Any:
    """Another text as soon as the operator's configuration, or the Secret with the credential, was written."""
    return _rules().config_revision(configuration, credential)


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {
            "aitask_plan": _plan,
            "aitask_failure": _failure,
            "aitask_pod_selectors": _selectors,
            "aitask_asks_for_labels": _asks_for_labels,
            "aitask_provider": _provider,
            "aitask_query_url": _query_url,
            "aitask_token": _token,
            "aitask_revision": _revision,
        }
