"""The operator as its users run it: ``ansible-operator run`` as a child process, seen from outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
import uuid
from dataclasses import dataclass, field
from datetime import datetime
from http.client import HTTPException
from pathlib import Path
from typing import Any, Protocol

from prometheus_client.parser import text_string_to_metric_families

from localcluster.ports import free_port
from tests.support.processes import Process, listening_ports, processes_with
from tests.support.project import Project
from tests.support.waiting import PATIENCE, until

REPOSITORY = Path(__file__).parents[2]
PROGRAM = Path(sys.executable).with_name("ansible-operator")
FLAGS_VARIABLE = "OPERATOR_FLAGS"
"""Environment variable with further flags for every operator: ``OPERATOR_FLAGS=--cold make test-apiserver``."""

RUN_MARKER = "ANSIBLE_OPERATOR_RUN="
_TEST_MARKER = "ANSIBLE_OPERATOR_TEST"
_FOREIGN = ("ANSIBLE_", "K8S_AUTH_", "KUBE", "WATCH_NAMESPACE", "OPERATOR_NAME")
_MAIN = "; import sys; from ansible_operator.cli import main; sys.exit(main(sys.argv[1:]))"
_IMPATIENT = "import ansible_operator.app as app; app.SYNC_TIMEOUT = {}"

Record = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """One run, as the log tells it; ``ended`` is None while it goes."""

    job: str
    namespace: str
    name: str
    finalizing: bool
    started: datetime
    ended: datetime | None = None
    succeeded: bool | None = None


@dataclass
class Options:
    """How an operator is started.

    ``patience`` shortens the two minutes that a missing kind or right is waited for; nothing else is changed by it.
    ``preface`` is a statement of Python to begin with, for times that no test can wait.
    """

    kubeconfig: Path
    work_dir: Path
    flags: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    path: tuple[Path, ...] = ()
    patience: float | None = None
    preface: str = ""


class OperatorProcess:
    """One operator with ports and a work directory of its own."""

    def __init__(self, project: Path, options: Options) -> None:
        self.work_dir = options.work_dir
        self.proxy_port, self.metrics_port, self.probe_port = _free_ports(3)
        flags = (*os.environ.get(FLAGS_VARIABLE, "").split(), *options.flags)
        self._marker = uuid.uuid4().hex
        self._ended = False
        self.was_ready = False
        self._home = options.work_dir.with_name(f"home-{self._marker[:8]}")
        self._home.mkdir(parents=True)
        self._stderr = self._home / "stderr"
        self._stdout = self._home / "stdout"
        with self._stdout.open("wb") as stdout, self._stderr.open("wb") as stderr:
            self._process = subprocess.Popen(
                [*_program(options), "run", *self._own_flags(flags), *flags],
                cwd=project,
                env=self._environment(options),
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
            )

    def _own_flags(self, given: tuple[str, ...]) -> list[str]:
        own = {
            "--work-dir": str(self.work_dir),
            "--proxy-port": str(self.proxy_port),
            "--metrics-bind-address": f"127.0.0.1:{self.metrics_port}",
            "--health-probe-bind-address": f"127.0.0.1:{self.probe_port}",
            "--graceful-shutdown-timeout": "1s",  # a run that is still going at the end of a test is of no interest
            "--user-metrics-bind-address": "0",  # its fixed default would let only one operator run at a time
        }
        named = {flag.partition("=")[0] for flag in given}
        return [f"{name}={value}" for name, value in own.items() if name not in named]

    def _environment(self, options: Options) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
        return {
            **inherited,
            "PATH": os.pathsep.join([*map(str, options.path), inherited.get("PATH", os.defpath)]),
            "HOME": str(self._home),
            "KUBECONFIG": str(options.kubeconfig),
            "ANSIBLE_COLLECTIONS_PATH": str(REPOSITORY / ".collections"),
            "ANSIBLE_GATHERING": "explicit",  # as operator-sdk's scaffold sets it; facts cost a second a run
            _TEST_MARKER: self._marker,
            **options.environment,
        }

    # --- life ---

    @property
    def pid(self) -> int:
        """The main process."""
        return self._process.pid

    @property
    def exit_status(self) -> int | None:
        """None while it runs."""
        return self._process.poll()

    def check_alive(self) -> None:
        """Fail where the operator has ended without being asked to."""
        if self.exit_status is not None and not self._ended:
            raise AssertionError(f"the operator ended with status {self.exit_status}:\n{self.log_tail()}")

    def wait_ready(self, seconds: float = 120.0) -> None:
        """Wait for /readyz."""
        until(lambda: self.probe("/readyz")[0] == 200, "the operator is ready", seconds, [self.check_alive])
        self.was_ready = True

    def wait_exit(self, seconds: float = 120.0) -> int:
        """The exit status. No process may be left behind."""
        self._ended = True
        try:
            status = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the operator did not end within {seconds:g} s:\n{self.log_tail()}") from None
        self.assert_no_process_left()
        return status

    def ask_to_stop(self) -> None:
        """SIGTERM."""
        self._ended = True
        self._process.terminate()

    def stop(self, seconds: float = PATIENCE) -> int:
        """SIGTERM, and the exit status."""
        self.ask_to_stop()
        return self.wait_exit(seconds)

    def kill(self) -> None:
        """SIGKILL, and wait until nothing is left that it has started."""
        self._ended = True
        self._process.kill()
        self._process.wait()
        self.assert_no_process_left()

    def processes(self) -> list[Process]:
        """Every live process of this operator, itself included, wherever it has gone."""
        return processes_with(f"{_TEST_MARKER}={self._marker}")

    def run_processes(self) -> list[Process]:
        """Those that belong to a run."""
        return [p for p in self.processes() if any(_is_of_a_run(entry) for entry in p.environment)]

    def listening_ports(self) -> set[int]:
        """Where the main process listens."""
        return listening_ports(self.pid)

    def assert_no_process_left(self, seconds: float = PATIENCE) -> None:
        """Nothing that this operator has started is there any more."""
        try:
            until(lambda: not self.processes(), "no process is left", seconds)
        except AssertionError:
            left = "\n".join(map(str, self.processes()))
            raise AssertionError(f"processes are left behind:\n{left}") from None

    def clean_up(self) -> None:
        """End everything, whatever state it is in; for teardowns."""
        for process in self.processes():
            try:
                os.kill(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self._process.wait()

    # --- what it says ---

    @property
    def stderr(self) -> str:
        """Everything on standard error."""
        return self._stderr.read_text(errors="replace")

    @property
    def stdout(self) -> str:
        """Everything on standard output."""
        return self._stdout.read_text(errors="replace")

    def log_tail(self, lines: int = 60) -> str:
        """The end of the log, for messages."""
        return "\n".join(line[:2000] for line in self.stderr.splitlines()[-lines:])

    def records(self, msg: str | None = None, **fields: Any) -> list[Record]:
        """The log, as far as it is JSON; only records with that message and these fields, where given."""
        wanted = fields if msg is None else {"msg": msg, **fields}
        found = []
        for line in self.stderr.splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict) and all(record.get(key) == value for key, value in wanted.items()):
                found.append(record)
        return found

    def wait_log(self, msg: str, seconds: float = 120.0, count: int = 1, **fields: Any) -> list[Record]:
        """Records with that message and these fields, once there are that many."""

        def enough() -> list[Record]:
            found = self.records(msg, **fields)
            return found if len(found) >= count else []

        what = f"{count} log records {msg!r} with {fields}"
        try:
            return until(enough, what, seconds, [self.check_alive])
        except AssertionError as error:
            raise AssertionError(f"{error}\nthe log:\n{self.log_tail()}") from None

    def complaints(self) -> list[str]:
        """What must never stand in the log: tracebacks, faults of ours, lines that are neither JSON nor a last word."""
        bad = []
        for line in self.stderr.splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                if not line.startswith("ansible-operator: "):
                    bad.append(line)
                continue
            if "exception" in record or record.get("logger") in ("asyncio", "py.warnings"):
                bad.append(line)
        return bad

    def runs(self, name: str | None = None, gvk: str | None = None) -> list[Run]:
        """The runs that the log tells of, in the order they started."""
        runs: dict[str, Run] = {}
        for record in self.records():
            job = record.get("job")
            if not job or (name and record.get("name") != name) or (gvk and record.get("gvk") != gvk):
                continue
            moment = datetime.fromisoformat(record["ts"])
            if record["msg"] == "run started":
                runs[job] = Run(job, record.get("namespace", ""), record["name"], record["finalizing"], moment)
            elif record["msg"] in ("run succeeded", "run failed"):
                run, good = runs[job], record["msg"] == "run succeeded"
                runs[job] = Run(job, run.namespace, run.name, run.finalizing, run.started, moment, good)
        return list(runs.values())

    def ended_runs(self, name: str | None = None, gvk: str | None = None) -> list[Run]:
        """Runs that have ended."""
        return [run for run in self.runs(name, gvk) if run.ended]

    def wait_runs(self, count: int, name: str | None = None, gvk: str | None = None, seconds: float = 120.0) -> None:
        """Wait until that many runs have ended."""
        what = f"{count} runs of {name or gvk or 'anything'} have ended"
        try:
            until(lambda: len(self.ended_runs(name, gvk)) >= count, what, seconds, [self.check_alive])
        except AssertionError as error:
            raise AssertionError(f"{error}\nthe log:\n{self.log_tail()}") from None

    def probe(self, path: str, seconds: float = 30.0) -> tuple[int, str]:
        """Status and text of a probe; status 0 where nobody answers, in that time."""
        return _get(f"http://127.0.0.1:{self.probe_port}{path}", seconds)

    def metric(self, name: str, /, **labels: str) -> float:
        """The value of one series."""
        text = self.metrics_page()
        samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
        values = [sample.value for sample in samples if sample.name == name and sample.labels == labels]
        assert values, f"no series {name} {labels}; there are:\n" + "\n".join(
            f"{sample.name} {sample.labels}" for sample in samples if sample.name == name
        )
        return float(values[0])

    def metrics_page(self) -> str:
        """What a server that scrapes sees."""
        status, text = _get(f"http://127.0.0.1:{self.metrics_port}/metrics")
        assert status == 200, text
        return text

    def run_directory(self, api_version: str, kind: str, namespace: str, name: str) -> Path:
        """The private data directory of an object."""
        return self.work_dir.joinpath("runner", *api_version.split("/"), kind, namespace, name)


class Start(Protocol):
    """The fixture ``start``: starts an operator, by default with the project and the namespace of the test."""

    def __call__(
        self,
        *flags: str,
        watch: str | None = None,
        project: Project | None = None,
        kubeconfig: Path | None = None,
        work_dir: Path | None = None,
        patience: float | None = None,
        preface: str = "",
        ready: bool = True,
        **environment: str,
    ) -> OperatorProcess: ...


def _is_of_a_run(variable: str) -> bool:
    """The parent of warm runs carries a placeholder, in whose room a child writes the name of its run."""
    name, _, ident = variable.partition("=")
    return f"{name}=" == RUN_MARKER and ident.strip("-") != ""


def _program(options: Options) -> list[str]:
    prefaces = [options.preface] if options.preface else []
    if options.patience is not None:
        prefaces.append(_IMPATIENT.format(options.patience))
    return [sys.executable, "-c", "; ".join(prefaces) + _MAIN] if prefaces else [str(PROGRAM)]


def _free_ports(count: int) -> list[int]:
    ports: list[int] = []
    for _ in range(count):
        ports.append(free_port(ports))
    return ports


def _get(url: str, seconds: float = 30.0) -> tuple[int, str]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=seconds) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
    except (OSError, HTTPException):  # it may end in the middle of an answer
        return 0, ""
