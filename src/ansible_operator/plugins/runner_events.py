"""ansible-runner plugin (entry point ``ansible_runner.plugins``): hands each job event to the operator as it happens.

Does nothing in an ansible-runner that the operator did not start.
"""

from __future__ import annotations

import json
import os
from typing import Any

_PIPE = os.environ.get("ANSIBLE_OPERATOR_EVENT_PIPE", "")


def event_handler(runner_config: Any, data: dict[str, Any]) -> None:
    """Called by ansible-runner with every job event, in order."""
    del runner_config
    if not _PIPE:
        return
    line = json.dumps(data).encode() + b"\n"
    try:
        while line:
            line = line[os.write(int(_PIPE), line) :]
    except BrokenPipeError:
        pass  # the operator is gone; the run is about to be ended


def status_handler(runner_config: Any, data: dict[str, Any]) -> None:
    """Called by ansible-runner when the run starts and ends; the process's exit says the same."""
