"""What the warm parent does once: take the environment of a run, import everything, play something."""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ansible_operator.runner.private_dir import RUN_MARKER
from ansible_operator.runner.worker.imports import IMPORTS
from ansible_operator.runner.worker.terminal import on_terminal

ENVIRONMENT: dict[str, str] = {}
"""The environment that every run's ansible-runner starts with, the run's own variables aside."""

PLAY_ENVIRONMENT: dict[str, str] = {}
"""The environment that Ansible's configuration was read from."""


class Places(NamedTuple):
    """See ``server.main``."""

    scratch: Path
    directory: str = ""
    playbook: str = ""
    content: tuple[str, ...] = ()


PLACES = [Places(Path())]
"""Those of this process."""


def serves(directory: str) -> bool:
    """Whether what was read here is right for plays in a directory: one with an ansible.cfg has its own parent."""
    own = PLACES[0].directory
    return directory == own if own else not (Path(directory) / "ansible.cfg").exists()


def boot(places: Places) -> tuple[bool, Callable[..., int]]:
    """Make this process ready to be forked: whether it serves one directory only, and what a child does.

    Which files that depends on is written into the scratch directory.
    """
    scratch = places.scratch
    PLACES[:] = [places]
    ENVIRONMENT.update({name: value for name, value in os.environ.items() if name != RUN_MARKER})
    for name in ("project", "env", "inventory", "tmp"):
        (scratch / name).mkdir()
    _take_environment(scratch)
    os.chdir(places.directory or scratch / "project")
    PLAY_ENVIRONMENT.update(os.environ)
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode  # a new __pycache__ is a change of its directory
    with on_terminal():
        bound = _load(places)
    sys.dont_write_bytecode = before
    os.chdir("/")
    from ansible_operator.runner.worker import child, private

    _write_sources(places)  # of everything, also of what is forgotten now
    private.forget_users_plugins()
    private.forget_those_that_warn()
    IMPORTS.moment()
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)  # a run is short, and its garbage ends with it
    return bound, child.run


def _load(places: Places) -> bool:
    from ansible_operator.runner.worker import bytecode, clients, modules, private, tasks
    from ansible_operator.runner.worker.private import settings, templates

    private.check()
    private.import_all()
    if places.playbook:
        settings.add_collections_of(places.playbook)
    private.install(tasks.queue_task, modules.execute)
    private.build_parsers()
    clients.prepare()
    modules.preload(private.import_modules(modules.is_known))
    private.warm_up(places.scratch)
    templates.install()
    content = [Path(path) for path in places.content]
    templates.prepare(content)
    bytecode.install()
    bytecode.prepare(content)
    private.note_settings()
    return bool(places.directory) or settings.depend_on_directory()


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


def _write_sources(places: Places) -> None:
    """The files and directories that what is in memory was made of."""
    from ansible_operator.runner.worker import private
    from ansible_operator.runner.worker.private import settings

    paths = set(private.source_paths())
    if places.playbook:
        paths |= settings.collection_paths(places.playbook)
    libraries = sorted(settings.loaded_files() - paths)
    (places.scratch / "sources.json").write_text(json.dumps({"paths": sorted(paths), "libraries": libraries}))
