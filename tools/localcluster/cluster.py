"""The library's front: start a cluster, use it, stop it. The rest of the package serves this or the command line.

For example, in a test:

    with Cluster.start(tmp_path) as cluster:
        subprocess.run([cluster.kubectl, "--kubeconfig", cluster.kubeconfig, "get", "nodes"])
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from localcluster import access
from localcluster.api import Api
from localcluster.errors import NotRunningError
from localcluster.launch import Options, Supervisor, end_supervisor, launch
from localcluster.layout import Layout
from localcluster.spec import LOOPBACK
from localcluster.state import Phase, State, read_state
from localcluster.teardown import end_cluster, is_live


class Cluster:
    """A running cluster. Made by `start` (this process owns it) or `attach` (somebody else does)."""

    def __init__(self, layout: Layout, state: State, process: Supervisor | None) -> None:
        self._layout = layout
        self._state = state
        self._process = process
        self._stopped = False

    @classmethod
    def start(
        cls,
        directory: Path,
        *,
        kwok: bool = True,
        progress: Callable[[str], None] = print,
        audit: bool = True,
        keep: bool = False,
        address: str = LOOPBACK,
    ) -> Self:
        """Start a cluster in `directory` and return when it is ready. It ends with this process, however that ends.

        kwok      a scheduler, kwok and one node: pods get scheduled and become ready; without it they stay pending
        audit     write `audit_log`
        keep      leave the files (logs, audit log, data) where they are when it ends
        address   where the API server listens; another than loopback is for a real node (tools/localnode), without kwok
        """
        return cls._launch(directory, Options(kwok, audit, keep, address), detached=False, progress=progress)

    @classmethod
    def start_in_background(
        cls,
        directory: Path,
        *,
        kwok: bool = True,
        progress: Callable[[str], None] = print,
        audit: bool = True,
        keep: bool = False,
        address: str = LOOPBACK,
    ) -> Self:
        """Like `start`, but it outlives this process: `Cluster.attach(directory).stop()` ends it."""
        return cls._launch(directory, Options(kwok, audit, keep, address), detached=True, progress=progress)

    @classmethod
    def _launch(cls, directory: Path, options: Options, *, detached: bool, progress: Callable[[str], None]) -> Self:
        layout = Layout(directory.resolve())
        process = launch(layout, options, detached=detached, progress=progress)
        if detached:
            process.wait()  # what was started has forked off the supervisor and ended
        return cls(layout, _ready_state(layout), None if detached else process)

    @classmethod
    def attach(cls, directory: Path) -> Self:
        """The ready cluster that another process started there; NotRunningError if there is none."""
        layout = Layout(directory.resolve())
        return cls(layout, _ready_state(layout), None)

    @property
    def directory(self) -> Path:
        return self._layout.directory

    @property
    def server(self) -> str:
        return self._state.server

    @property
    def ca_file(self) -> Path:
        return self._layout.ca_file

    @property
    def kubeconfig(self) -> Path:
        """For a cluster administrator (group system:masters)."""
        return self._layout.kubeconfig

    @property
    def kubectl(self) -> Path:
        return Path(self._state.kubectl)

    @property
    def audit_log(self) -> Path:
        """One JSON document per line and answered request; see `audit` for what is in it."""
        return self._layout.audit_log

    def service_account_kubeconfig(
        self, namespace: str, name: str, path: Path, *, expiration_seconds: int = 3600
    ) -> Path:
        """Write a kubeconfig for an existing ServiceAccount to `path`; its token lies beside it, in `<path>.token`.

        The API server accepts no less than 600 seconds.
        """
        path = path.absolute()
        token = self.refresh_token(namespace, name, path, expiration_seconds=expiration_seconds)
        access.write_kubeconfig(path, self.server, self.ca_file, token, f"{namespace}-{name}", namespace)
        return path

    def refresh_token(self, namespace: str, name: str, path: Path, *, expiration_seconds: int = 3600) -> Path:
        """Put a new token into the token file of the kubeconfig `path`, and return that file."""
        return access.write_service_account_token(self._api(), namespace, name, path.absolute(), expiration_seconds)

    def _api(self) -> Api:
        return Api(self.server, self.ca_file, access.token_file(self._layout, "admin").read_text())

    def stop(self, *, keep: bool | None = None) -> None:
        """End all processes and remove the files, unless kept. Nothing happens the second time.

        Ends an attached cluster as well, which leaving its `with` block does not.
        """
        if self._stopped:
            return
        self._stopped = True
        if self._process is not None:
            end_supervisor(self._process)
        current = read_state(self._layout.state)
        if current is not None and current.supervisor != self._state.supervisor:
            return  # ours is gone, and somebody has started another one in its place
        end_cluster(self._layout, keep=self._state.keep if keep is None else keep)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._process is not None:  # an attached cluster belongs to somebody else
            self.stop()


def _ready_state(layout: Layout) -> State:
    state = read_state(layout.state)
    if state is None or not is_live(layout):
        raise NotRunningError(f"no cluster is running in {layout.directory}")
    if state.phase is not Phase.READY:
        raise NotRunningError(f"the cluster in {layout.directory} is {state.phase}: {state.message or 'try again'}")
    return state
