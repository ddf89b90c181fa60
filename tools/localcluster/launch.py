"""Prepare a cluster directory and start the supervisor in it; follow its reports until it is ready.

The part of starting that happens in the caller's process: choosing and building programs (with visible progress),
keys, tokens, policy. From then on the supervisor is on its own.
"""

from __future__ import annotations

import dataclasses
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from localcluster import binaries, build, components, pki, spec
from localcluster.access import create_tokens
from localcluster.audit import audit_policy
from localcluster.errors import StartError
from localcluster.layout import Layout, write_private
from localcluster.locks import try_lock
from localcluster.pins import TOOLS_DIR
from localcluster.processes import MARK
from localcluster.teardown import end_processes

Progress = Callable[[str], None]
Supervisor = subprocess.Popen[bytes]

START_SECONDS_VARIABLE = "LOCALCLUSTER_START_SECONDS"
_DEFAULT_START_SECONDS = 120.0
# The supervisor keeps the time limit itself; this much more is for its own start and end.
_REPORT_GRACE_SECONDS = 20.0
_EXIT_SECONDS = 10.0


@dataclass(frozen=True)
class Options:
    """See `Cluster.start`."""

    kwok: bool
    audit: bool
    keep: bool
    address: str


def launch(layout: Layout, options: Options, *, detached: bool, progress: Progress) -> Supervisor:
    """Returns when the cluster is ready. StartError otherwise; the logs are then still in the directory."""
    real_node = options.address != spec.LOOPBACK
    programs = binaries.resolve(spec.programs_needed(kwok=options.kwok, real_node=real_node), progress)
    layout.directory.mkdir(parents=True, exist_ok=True)
    lock = try_lock(layout.lock)
    if lock is None:
        raise StartError(f"a cluster is already running (or starting) in {layout.directory}")
    try:
        if ended := end_processes(layout):
            progress(f"ended {ended} processes that a dead cluster had left in {layout.directory}")
        _prepare(layout, _spec(programs, options))
        process = _spawn(layout, lock, detached=detached)
    finally:
        os.close(lock)  # the supervisor has inherited it and holds it from here on
    try:
        _follow(process, layout, progress)
    except BaseException:  # also Ctrl-C: nothing may stay behind
        end_supervisor(process)
        end_processes(layout)
        raise
    return process


def end_supervisor(process: Supervisor) -> None:
    """Ask it to end, end it where it hangs, and collect it: Popen warns of a child that nobody has waited for.

    What it leaves (it may be in the background) is for `teardown`.
    """
    process.terminate()
    try:
        process.wait(timeout=_EXIT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdin is not None:
        process.stdin.close()


def _spec(programs: dict[str, Path], options: Options) -> spec.Spec:
    text = os.environ.get(START_SECONDS_VARIABLE, "")
    try:
        seconds = float(text) if text else _DEFAULT_START_SECONDS
    except ValueError:
        raise StartError(f"{START_SECONDS_VARIABLE} must be a number of seconds, not {text!r}") from None
    stages = str(build.stages_path(programs["kwok"])) if options.kwok else ""
    names = {name: str(path) for name, path in programs.items()}
    return spec.Spec(programs=names, stages=stages, start_seconds=seconds, **dataclasses.asdict(options))


def _prepare(layout: Layout, options: spec.Spec) -> None:
    layout.remove_all()
    layout.create()
    pki.create_pki(layout.pki, components.SERVICE_IP, options.address)
    create_tokens(layout)
    write_private(components.audit_policy_file(layout), yaml.safe_dump(audit_policy(), sort_keys=False))
    if options.audit:
        layout.audit_log.touch(0o600)
    spec.write_spec(layout.spec, options)


def _spawn(layout: Layout, lock: int, *, detached: bool) -> Supervisor:
    command = [sys.executable, "-m", "localcluster.supervisor", str(layout.directory)]
    command += [] if detached else ["--owner", str(os.getpid())]
    path = os.pathsep.join([str(TOOLS_DIR), *filter(None, [os.environ.get("PYTHONPATH")])])
    with layout.log("supervisor").open("wb") as log:
        return subprocess.Popen(
            command,
            cwd=layout.directory,
            env={**os.environ, "PYTHONPATH": path, MARK: str(layout.directory)},
            stdin=subprocess.DEVNULL if detached else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            pass_fds=[lock],
            start_new_session=True,  # Ctrl-C is for the owner, who still needs the cluster while it tidies up
        )


def _follow(process: Supervisor, layout: Layout, progress: Progress) -> None:
    assert process.stdout is not None
    deadline = time.monotonic() + spec.read_spec(layout.spec).start_seconds + _REPORT_GRACE_SECONDS
    buffered = b""
    with process.stdout as reports:
        while True:
            ready, _, _ = select.select([reports], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise StartError(f"the supervisor says nothing more; its log is {layout.log('supervisor')}")
            chunk = os.read(reports.fileno(), 65536)
            if not chunk:
                raise StartError(f"the supervisor ended while starting; its log is {layout.log('supervisor')}")
            *lines, buffered = (buffered + chunk).split(b"\n")
            if any(_handle(json.loads(line), progress) for line in lines):
                return


def _handle(report: dict[str, Any], progress: Progress) -> bool:
    """True when the cluster is ready, False when there is more to come."""
    if report["kind"] == "error":
        raise StartError(report["text"])
    if report["kind"] == "progress":
        progress(report["text"])
    return bool(report["kind"] == "ready")
