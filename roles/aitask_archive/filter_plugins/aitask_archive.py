"""The door between the roles aitask_backup and aitask_restore, the playbooks of these names, and their rules.

The rules lie beside those of the role `aitask` and are loaded from there by their path, as that role's own door does
it; whoever comes second finds them loaded. So the roles must lie side by side, as they do here and in the image.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from ansible.utils.unsafe_proxy import wrap_var

_HOME = Path(__file__).resolve().parents[2] / "aitask" / "aitask_rules"
_NAME = "_aitask_rules"


def _rules() -> ModuleType:
    loaded = sys.modules.get(_NAME)
    if loaded is None or loaded.__file__ != str(_HOME / "__init__.py"):
        spec = spec_from_file_location(_NAME, _HOME / "__init__.py", submodule_search_locations=[str(_HOME)])
        if spec is None or spec.loader is None:
            raise ImportError(f"no rules in {_HOME}")
        for stale in [name for name in sys.modules if name.startswith(f"{_NAME}.")]:
            del sys.modules[stale]
        package = module_from_spec(spec)
        sys.modules[_NAME] = package
        spec.loader.exec_module(package)
    return import_module(f"{_NAME}.archive")


def _world(world: Mapping[str, Any], now: str, reads: Mapping[str, Any] | None) -> dict[str, Any]:
    """`reads` holds results of tasks by name; what is not there yet is empty, what was not wanted is skipped."""
    results = {name: result for name, result in (reads or {}).items() if result not in ("", None) and result != {}}
    known = {n: r for n, r in results.items() if not (isinstance(r, Mapping) and r.get("skipped"))}
    return {**world, "now": str(now), "reads": known}


def _backup(world: Mapping[str, Any], now: str, reads: Mapping[str, Any] | None = None) -> Any:
    # What comes out of an archive or off the cluster is data, whatever braces are in it.
    return wrap_var(_rules().plan_backup(_world(world, now, reads)))


def _restore(world: Mapping[str, Any], now: str, reads: Mapping[str, Any] | None = None) -> Any:
    return wrap_var(_rules().plan_restore(_world(world, now, reads)))


def _trouble(found: Mapping[str, Any], now: str, where: Any, message: Any, seen: Any = None) -> Any:
    """The plan of a pass in which a task of the role failed. It takes the object alone: the rest may be what is broken.

    `seen` is the result of reading the object once more."""
    world = _world({"object": found, "spec": found.get("spec")}, now, {"seen": seen})
    return wrap_var(_rules().plan_trouble(world, str(where), str(message)))


def _packed(tasks: Mapping[str, Any], names: Any = ()) -> Any:
    """`data` (base64), `sha256`, `count`, `size` of an archive of these tasks; `problem` is empty, or says why not."""
    rules = _rules()
    try:
        archive = rules.pack_tasks(tasks, list(names or ()))
    except rules.Unreadable as error:
        return wrap_var({"problem": str(error), "data": "", "sha256": "", "count": 0, "size": 0})
    return {"problem": "", "data": archive.text, "sha256": archive.sha256, "count": archive.count, "size": archive.size}


class FilterModule:
    """What Ansible asks for."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        return {
            "aitask_backup_plan": _backup,
            "aitask_restore_plan": _restore,
            "aitask_archive_trouble": _trouble,
            "aitask_archive_packed": _packed,
        }
