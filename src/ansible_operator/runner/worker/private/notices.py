"""Python modules that warn as they are imported: in a cold run each process that imports one warns anew.

ansible-core 2.20 has such warnings for what it is to lose, as names from ``ansible.module_utils._text``. So none of
these modules stays in memory where a process of a cold run would begin without it: not from before the fork, and not
from one task, or module of Ansible, to the next.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.machinery import SourceFileLoader
from types import FunctionType, ModuleType
from typing import Any

import ansible.plugins.loader as loaders
from ansible.utils.collection_loader._collection_finder import _AnsibleCollectionPkgLoaderBase as CollectionLoader
from ansible.utils.display import Display

from ansible_operator.runner.freshness import fingerprint
from ansible_operator.runner.worker import bytecode
from ansible_operator.runner.worker.imports import IMPORTS

_METHODS = ("deprecated", "error_as_warning", "warning")
_COLLECTIONS = "ansible_collections."
_SHARED = ".module_utils."
"""In the name of a Python module that both a plugin and a module of Ansible may import."""

_warning: set[str] = set()
"""Names of Python modules that have warned as they were imported, with those that had them imported."""


class Notices(dict[Any, Any]):
    """Ansible's table of what a module has warned of, which sees who warns as he is imported."""

    def __setitem__(self, notice: Any, value: Any) -> None:
        _note()
        super().__setitem__(notice, value)


def watch() -> None:
    """See from now on who warns through Ansible's display as he is imported."""
    for name in _METHODS:
        setattr(Display, name, _watched(getattr(Display, name)))
    ordinary = CollectionLoader.get_code

    def get_code(self: Any, name: str) -> Any:
        return bytecode.kept(self.get_filename(name)) or ordinary(self, name)

    CollectionLoader.get_code = get_code  # it compiles at each import


def _watched(ordinary: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(ordinary)
    def method(*values: Any, **arguments: Any) -> None:
        _skip_stackwalk = True  # Ansible blames the first frame without
        _note()
        ordinary(*values, **arguments)

    return method


def _note() -> None:
    """The Python modules whose import is under way."""
    frame = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "<module>":
            name = frame.f_globals.get("__name__")
            if name in sys.modules and name != "__main__":
                _warning.add(name)
        frame = frame.f_back  # type: ignore[assignment]


def warned(names: Iterable[str]) -> set[str]:
    """Those of some Python modules that warn as they are imported."""
    return _warning.intersection(names)


def forget_those_that_warn() -> None:
    """Before the fork. They are imported anew where they are used, and so are those of collections that use them."""
    found = set(_warning)
    while found:
        found = {
            name
            for name, module in list(sys.modules.items())
            if name.startswith(_COLLECTIONS) and name not in _warning and not _warning.isdisjoint(_used(module))
        }
        _warning.update(found)
    for name in warned(sys.modules):
        _keep_code(sys.modules[name])
    remove(_warning)


def _keep_code(module: ModuleType) -> None:
    path, loader = module.__file__, module.__spec__ and module.__spec__.loader
    if path and isinstance(loader, CollectionLoader | SourceFileLoader):
        bytecode.keep(path, fingerprint(path), loader.get_code(module.__name__))


def _used(module: ModuleType) -> Iterator[str]:
    """The Python modules that a module has imported, or classes and functions from. A package only holds its own."""
    for value in vars(module).values():
        if isinstance(value, ModuleType) and not value.__name__.startswith(f"{module.__name__}."):
            yield value.__name__
        elif isinstance(value, FunctionType | type):
            yield str(value.__module__)


def remove(names: Iterable[str]) -> None:
    """Take Python modules out, also where a plugin loader or their package holds them."""
    names = set(names)
    if not names:
        return
    for _, loader in loaders.get_all_plugin_loaders():
        for path, module in list(loader._module_cache.items()):
            if module.__name__ in names:
                del loader._module_cache[path]
    _detach(names)
    IMPORTS.remove(names)


def _detach(names: Iterable[str]) -> None:
    """From their packages: to import a name from a package takes what is there."""
    for name in names:
        package, _, leaf = name.rpartition(".")
        if package in sys.modules:
            vars(sys.modules[package]).pop(leaf, None)


@contextmanager
def as_new() -> Iterator[None]:
    """For a module of Ansible, which in a cold run has a process of its own and finds nothing imported."""
    before = IMPORTS.moment()
    held = {name: sys.modules.pop(name) for name in _warning if _SHARED in name and name in sys.modules}
    _detach(held)
    try:
        yield
    finally:
        remove(warned(IMPORTS.since(before)))
        sys.modules.update(held)
