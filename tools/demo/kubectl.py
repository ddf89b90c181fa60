"""kubectl as a function: JSON out, errors with kubectl's own words."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from demo.errors import DemoError

_TIMEOUT_SECONDS = 60


class Kubectl:
    """kubectl with one kubeconfig (None: whatever kubectl itself would use)."""

    def __init__(self, program: str, kubeconfig: Path | None) -> None:
        self.program = program
        self.kubeconfig = kubeconfig

    def __call__(self, *arguments: str, stdin: str | None = None) -> str:
        """Run and return what it prints. DemoError when it fails."""
        environment = dict(os.environ)
        if self.kubeconfig is not None:
            environment["KUBECONFIG"] = str(self.kubeconfig)
        command = [self.program, f"--request-timeout={_TIMEOUT_SECONDS}s", *arguments]
        result = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, env=environment)
        if result.returncode != 0:
            raise DemoError(f"kubectl {' '.join(arguments[:3])}: {result.stderr.strip() or result.stdout.strip()}")
        return result.stdout

    def get(self, *arguments: str) -> dict[str, Any]:
        """One object, or a list."""
        answer: dict[str, Any] = json.loads(self("get", *arguments, "-o", "json"))
        return answer

    def find(self, *arguments: str) -> dict[str, Any] | None:
        """One object, or None where it is not there."""
        text = self("get", *arguments, "-o", "json", "--ignore-not-found")
        return json.loads(text) if text.strip() else None

    def apply(self, *objects: dict[str, Any]) -> None:
        """Apply objects on the server's side."""
        document = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
        self("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=json.dumps(document))
