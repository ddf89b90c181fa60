"""What a private data directory remembers of its last run, so that the run can be repeated by hand."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_operator.model.errors import RunError
from ansible_operator.model.gvk import GVK, ObjectKey
from ansible_operator.model.owner import Owner
from ansible_operator.model.watch import Content
from ansible_operator.runner.files import write_private_json
from ansible_operator.runner.interface import RunRequest

_FILE = "run.json"


@dataclass(frozen=True)
class Record:
    """The last run of an object: for whom, which content, with which variables."""

    owner: Owner
    content: Content
    variables: dict[str, Any]
    verbosity: int


def write_record(request: RunRequest, command: Sequence[str]) -> None:
    """Remember a run and its command line. Its variables stand in ``env/extravars``, its token is not kept."""
    owner, content = request.owner, request.content
    record = {
        "ident": request.ident,
        "command": shlex.join(command),
        "owner": {
            "apiVersion": owner.gvk.api_version,
            "kind": owner.gvk.kind,
            "namespace": owner.key.namespace,
            "name": owner.key.name,
            "uid": owner.uid,
        },
        "playbook": str(content.playbook) if content.playbook else None,
        "role": str(content.role) if content.role else None,
        "verbosity": request.verbosity,
    }
    write_private_json(request.directory / _FILE, record)


def read_record(directory: Path) -> Record:
    """The run that a directory remembers. Raises RunError where it is not the directory of a run."""
    try:
        record = json.loads((directory / _FILE).read_text())
        variables = json.loads((directory / "env/extravars").read_text())
    except (OSError, ValueError) as error:
        cure = "name the directory of an object, <work-dir>/runner/<group>/<version>/<Kind>/<namespace>/<name>"
        raise RunError(f"{directory} holds no run: {error}; {cure}") from error
    owner = record["owner"]
    return Record(
        owner=Owner(GVK.of(owner), ObjectKey(owner["namespace"], owner["name"]), owner["uid"]),
        content=Content(
            playbook=Path(record["playbook"]) if record["playbook"] else None,
            role=Path(record["role"]) if record["role"] else None,
        ),
        variables=variables,
        verbosity=record["verbosity"],
    )
