"""What is forgotten before the fork, and what a warning is blamed on."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible.module_utils._internal import _stack
from ansible.module_utils.common import warnings

from ansible_operator.runner.worker.imports import IMPORTS
from ansible_operator.runner.worker.private import notices, shortcuts

_PACKAGE = "ansible_collections.noticed"
_FILES = {
    "__init__.py": "",
    "warns.py": "from ansible.module_utils.common.warnings import warn\nwarn('imported')\ndef function(): ...\n",
    "imports.py": f"from {_PACKAGE} import warns\n",
    "uses.py": f"from {_PACKAGE}.warns import function\n",
    "silent.py": "VALUE = 1\n",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(notices, "_warning", set())
    monkeypatch.setattr(warnings._internal, "is_controller", False)
    monkeypatch.setattr(warnings, "_global_warnings", notices.Notices())
    for name, text in _FILES.items():
        place = tmp_path / "noticed" / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(text)
    above = type(sys)("ansible_collections")
    above.__path__ = [str(tmp_path)]
    monkeypatch.setitem(sys.modules, "ansible_collections", above)
    yield importlib.import_module(_PACKAGE)
    IMPORTS.remove([name for name in sys.modules if name.startswith(_PACKAGE)])


def _present() -> set[str]:
    return {name.rpartition(".")[2] for name in sys.modules if name.startswith(f"{_PACKAGE}.")}


def test_what_warns_is_forgotten_with_all_that_use_it(package: Any) -> None:
    for name in ("imports", "uses", "silent"):
        importlib.import_module(f"{_PACKAGE}.{name}")
    notices.forget_those_that_warn()
    assert _present() == {"silent"}
    assert not hasattr(package, "warns")


def test_what_warns_does_not_stay_for_the_next_module(package: Any) -> None:
    del package
    for _ in range(2):
        warnings._global_warnings.clear()
        with notices.as_new():
            importlib.import_module(f"{_PACKAGE}.uses")
            importlib.import_module(f"{_PACKAGE}.silent")
        assert len(warnings._global_warnings) == 1
        assert _present() == {"silent"}


def test_the_frame_to_blame_is_the_one_that_ansible_finds() -> None:
    def skipped(find: Any) -> Any:
        _skip_stackwalk = True
        return find()

    def theirs() -> Any:
        _skip_stackwalk = True
        return next(_stack.iter_stack())

    ours, known = skipped(shortcuts._caller_frame), skipped(theirs)
    assert (ours.frame, ours.filename, ours.function) == (known.frame, known.filename, known.function)
    assert ours.frame is sys._getframe()
