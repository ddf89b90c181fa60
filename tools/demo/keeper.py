"""Keeps the demo's operator running: refreshes its token, and ends it when its time has come.

A process of its own, so that `make demo KEEP=1` can leave the operator behind. It ends, and the operator with it, on
SIGTERM, when the process that owns it is gone (its standard input closes), when the operator ends, or when the cluster
it belongs to is no longer there.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from localcluster import Cluster, ClusterError
from localcluster.processes import die_with_parent

_LOOK_SECONDS = 1.0
_GRACE_SECONDS = 15.0


def main(plan_file: Path) -> int:
    """Run the plan's command until it is time to end. The exit status is the operator's."""
    plan = json.loads(plan_file.read_text())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with Path(plan["log"]).open("ab") as log:
        operator = subprocess.Popen(
            plan["command"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=plan["environment"],
            preexec_fn=die_with_parent(),  # noqa: PLW1509 - this process has one thread
        )
    Path(plan["pids"]).write_text(json.dumps({"keeper": os.getpid(), "operator": operator.pid}) + "\n")
    try:
        _watch(plan, operator)
    finally:
        _end(operator)
    return operator.returncode


def _watch(plan: dict[str, Any], operator: subprocess.Popen[bytes]) -> None:
    owner = selectors.DefaultSelector()
    if os.environ.get("DEMO_KEEPER_OWNED"):
        owner.register(sys.stdin, selectors.EVENT_READ)  # nothing is ever written to it: readable means closed
    refresh_at = time.monotonic() + plan["refresh_seconds"]
    while operator.poll() is None and not _closed(owner) and _cluster_lives(plan["cluster"]):
        if time.monotonic() >= refresh_at:
            refresh_at = time.monotonic() + (plan["refresh_seconds"] if _refresh(plan) else _LOOK_SECONDS * 10)


def _closed(owner: selectors.BaseSelector) -> bool:
    """Wait a moment; whether the owner is gone."""
    if not owner.get_map():
        time.sleep(_LOOK_SECONDS)  # how often to look, not how long something takes
        return False
    return bool(owner.select(_LOOK_SECONDS))


def _cluster_lives(directory: str | None) -> bool:
    if directory is None:
        return True
    try:
        Cluster.attach(Path(directory))
    except ClusterError:
        return False
    return True


def _refresh(plan: dict[str, Any]) -> bool:
    """Replace the token, whole or not at all. Whether that worked."""
    environment = {**os.environ, **plan["token_environment"]}
    command = plan["token_command"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if result.returncode != 0:
        print(f"token not refreshed: {result.stderr.strip()}", file=sys.stderr)
        return False
    file = Path(plan["token_file"])
    fresh = file.with_name(".token.new")
    fresh.touch(mode=0o600)
    fresh.write_text(result.stdout.strip())
    fresh.replace(file)
    return True


def _end(operator: subprocess.Popen[bytes]) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    operator.terminate()
    try:
        operator.wait(_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        operator.kill()
        operator.wait()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
