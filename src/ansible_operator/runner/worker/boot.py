"""What the warm parent does once: take the environment of a run, import everything, play something."""

from __future__ import annotations

import gc
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ansible_operator.runner.private_dir import RUN_MARKER
from ansible_operator.runner.worker.terminal import on_terminal

ENVIRONMENT: dict[str, str] = {}
"""The environment that every run's ansible-runner starts with, the run's own variables aside."""

PLAY_ENVIRONMENT: dict[str, str] = {}
"""The environment that Ansible's configuration was read from."""

_scratch: list[str] = []


def boot() -> tuple[dict[str, Any], Callable[..., int]]:
    """Make this process ready to be forked. The result: which files that depends on, and what a child does."""
    ENVIRONMENT.update({name: value for name, value in os.environ.items() if name != RUN_MARKER})
    scratch = Path(tempfile.mkdtemp(prefix="ansible-operator-warm-"))
    _scratch.append(str(scratch))
    for name in ("project", "env", "inventory", "tmp"):
        (scratch / name).mkdir()
    _take_environment(scratch)
    os.chdir(scratch / "project")
    PLAY_ENVIRONMENT.update(os.environ)
    with on_terminal():
        _load(scratch)
    os.chdir("/")
    from ansible_operator.runner.worker import child

    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)  # a run is short, and its garbage ends with it
    return sources(), child.run


def _load(scratch: Path) -> None:
    from ansible_operator.runner.worker import clients, modules, private, tasks

    private.check()
    private.import_all()
    private.install(tasks.queue_task, modules.execute)
    private.build_parsers()
    clients.prepare()
    modules.preload(private.import_modules(modules.is_known))
    private.warm_up(scratch)


def _take_environment(scratch: Path) -> None:
    """As ansible-runner makes it for a playbook."""
    from ansible_runner.config.runner import RunnerConfig

    (scratch / "env/envvars").write_text(json.dumps({}))
    os.environ.pop(RUN_MARKER, None)
    os.environ["ANSIBLE_LOCAL_TEMP"] = str(scratch / "tmp")
    os.environ["ANSIBLE_REMOTE_TEMP"] = str(scratch / "tmp")
    config = RunnerConfig(str(scratch), playbook="none.yml", ident="warm")
    config.prepare_env()
    os.environ.update(config.env)


def sources() -> dict[str, Any]:
    """The files and directories that what is in memory was made of."""
    from ansible_operator.runner.worker import private

    return {"paths": private.source_paths()}


def clean_up() -> None:
    """Remove what the parent has written."""
    for path in _scratch:
        shutil.rmtree(path, ignore_errors=True)
    sys.stdout.flush()
