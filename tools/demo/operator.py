"""The operator, as it is started for the demo: a local process, with a ServiceAccount's token and the RBAC it ships."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

from demo.errors import DemoError
from demo.target import Target
from localcluster.ports import free_port
from localcluster.processes import MARK

ROOT = Path(__file__).parent.parent.parent
NAMESPACE = "aitask-operator-system"
SERVICE_ACCOUNT = "aitask-operator-controller-manager"
TOKEN_SECONDS = 3600


class Operator:
    """Started through the keeper, which refreshes its token and ends it: with us, or with the cluster."""

    def __init__(self, target: Target, *, keep: bool) -> None:
        self.directory = target.directory / "demo"
        self.log = self.directory / "operator.log"
        self._target = target
        self._keep = keep
        self._port = free_port()
        self._keeper: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Write the ServiceAccount's kubeconfig and start the operator with it."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        kubeconfig = write_kubeconfig(self._target, self.directory)
        plan = {
            "command": self._command(),
            "environment": self._environment(kubeconfig),
            "log": str(self.log),
            "pids": str(self.directory / "pids.json"),
            "token_command": _token_command(self._target),
            "token_environment": _kubeconfig_environment(self._target),
            "token_file": str(self.directory / "token"),
            "refresh_seconds": TOKEN_SECONDS / 2,
            "cluster": str(self._target.directory) if self._target.own else None,
        }
        file = self.directory / "plan.json"
        file.touch(mode=0o600)
        file.write_text(json.dumps(plan))
        with self.log.open("ab") as log:
            self._keeper = subprocess.Popen(
                [sys.executable, "-m", "demo.keeper", str(file)],
                stdin=subprocess.DEVNULL if self._keep else subprocess.PIPE,  # the pipe closes when this process ends
                stdout=subprocess.DEVNULL,
                stderr=log,
                env=self._keeper_environment(),
                start_new_session=True,
            )

    def _keeper_environment(self) -> dict[str, str]:
        owned = "" if self._keep else "1"
        return {**os.environ, **self._mark(), "DEMO_KEEPER_OWNED": owned, "PYTHONPATH": str(ROOT / "tools")}

    def _mark(self) -> dict[str, str]:
        """What makes `cluster-down` end the processes as well."""
        return {MARK: str(self._target.directory.resolve())} if self._target.own else {}

    def _command(self) -> list[str]:
        return [
            str(Path(sys.executable).parent / "ansible-operator"),
            "run",
            f"--watches-file={ROOT / 'watches.yaml'}",
            f"--work-dir={self.directory / 'work'}",
            "--metrics-bind-address=0",
            "--user-metrics-bind-address=0",
            f"--health-probe-bind-address=127.0.0.1:{self._port}",
            "--proxy-port=0",
            "--zap-encoder=console",
        ]

    def _environment(self, kubeconfig: Path) -> dict[str, str]:
        ours = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "K8S_AUTH_"))}
        return {
            **ours,
            **self._mark(),
            "KUBECONFIG": str(kubeconfig),
            "ANSIBLE_ROLES_PATH": str(ROOT / "roles"),
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".collections"),
            "ANSIBLE_GATHERING": "explicit",
        }

    def is_ready(self) -> bool:
        """Whether its caches are synced. DemoError when it has ended."""
        self.check()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/readyz", timeout=2) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def check(self) -> None:
        """DemoError, with the end of its log, when the operator is no longer there."""
        if self._keeper is None or self._keeper.poll() is not None:
            raise DemoError(f"the operator has ended; the end of {self.log}:\n{self.log_tail()}")

    def log_tail(self, lines: int = 25) -> str:
        """What it printed last."""
        try:
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])
        except OSError:
            return "(no log)"

    def leave(self) -> None:
        """Let it go on without us."""
        assert self._keeper is not None
        self._keeper.returncode = 0  # Popen warns of a child that still runs when it is forgotten; this one is meant to

    def stop(self) -> None:
        """End it."""
        if self._keeper is not None:
            self._keeper.terminate()
            self._keeper.communicate()


def write_kubeconfig(target: Target, directory: Path) -> Path:
    """The kubeconfig of the ServiceAccount; its token lies in a file of its own, so that it can be refreshed."""
    view = json.loads(target.kubectl("config", "view", "--raw", "--minify", "--flatten", "-o", "json"))
    token = directory / "token"
    token.touch(mode=0o600)
    command = _token_command(target)
    token.write_text(target.kubectl(*command[1:]).strip())
    cluster = view["clusters"][0]
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [cluster],
        "users": [{"name": SERVICE_ACCOUNT, "user": {"tokenFile": str(token)}}],
        "contexts": [{"name": "operator", "context": {"cluster": cluster["name"], "user": SERVICE_ACCOUNT}}],
        "current-context": "operator",
    }
    file = directory / "kubeconfig"
    file.touch(mode=0o600)
    file.write_text(json.dumps(config))
    return file


def _token_command(target: Target) -> list[str]:
    return [target.kubectl.program, "create", "token", SERVICE_ACCOUNT, "-n", NAMESPACE, f"--duration={TOKEN_SECONDS}s"]


def _kubeconfig_environment(target: Target) -> dict[str, str]:
    return {"KUBECONFIG": str(target.kubectl.kubeconfig)} if target.kubectl.kubeconfig else {}
