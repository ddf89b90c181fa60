"""A run's place at the proxy, in front of a real API server, without operator and play: kubectl and bare requests."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from ansible_operator.kube.client import Client
from ansible_operator.kube.connection import connect
from ansible_operator.kube.definitions import DefinitionWatch
from ansible_operator.kube.discovery import Discovery
from ansible_operator.kube.informers import Informers
from ansible_operator.model.gvk import GVK, ObjectKey
from ansible_operator.model.owner import Owner
from ansible_operator.proxy.grants import Child, Grant
from ansible_operator.proxy.reads import Reads
from ansible_operator.proxy.server import Proxy
from ansible_operator.runner.interface import Access
from ansible_operator.runner.kubeconfig import kubeconfig
from localcluster import Cluster
from tests.support.api import Api

SECONDS = 90.0


@dataclass
class Ended:
    """A program that has ended."""

    status: int
    stdout: bytes
    stderr: str


@dataclass
class ProxiedRun:
    """The proxy, its informers and one run's token."""

    proxy: Proxy
    informers: Informers
    discovery: Discovery
    owner: Owner
    kubectl_path: Path
    home: Path
    children: list[Child] = field(default_factory=list)
    token: str = ""

    _processes: list[asyncio.subprocess.Process] = field(default_factory=list)

    def another(self) -> ProxiedRun:
        """Another run at the same proxy; this one goes on."""
        token = self.proxy.grants.issue(Grant(self.owner, True, self.children.append))
        other = replace(self, token=token)
        access = Access(self.proxy.url, self.proxy.authority_file, token, self.owner.key.namespace)
        other.kubeconfig.write_text(json.dumps(kubeconfig(access)))
        return other

    @property
    def kubeconfig(self) -> Path:
        return self.home / f"kubeconfig-{self.token[:8]}"

    @property
    def api(self) -> Api:
        """A blocking client; call it by ``asyncio.to_thread``."""
        return Api(self.proxy.url, self.proxy.authority_file, self.token)

    async def start(self, *arguments: str, **environment: str) -> asyncio.subprocess.Process:
        """Start kubectl with all its pipes open; ``stop`` ends it."""
        process = await asyncio.create_subprocess_exec(
            self.kubectl_path,
            *arguments,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=2**24,
            env={**_clean(os.environ), "KUBECONFIG": str(self.kubeconfig), "HOME": str(self.home), **environment},
        )
        self._processes.append(process)
        return process

    async def stop(self) -> None:
        """End every kubectl that is still there, of all runs."""
        for process in self._processes:
            if process.returncode is None:
                process.kill()
            await process.communicate()
        self._processes.clear()

    async def kubectl(self, *arguments: str, stdin: bytes = b"", **environment: str) -> Ended:
        """Run kubectl to its end."""
        process = await self.start(*arguments, **environment)
        try:
            stdout, stderr = await asyncio.wait_for(process.communicate(stdin), SECONDS)
        except TimeoutError:
            raise AssertionError(f"kubectl {' '.join(arguments)[:500]} did not end within {SECONDS:g} s") from None
        self._processes.remove(process)
        return Ended(process.returncode or 0, stdout, stderr.decode())


def _clean(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if not name.startswith("KUBE")}


@asynccontextmanager
async def proxied_run(
    cluster: Cluster, directory: Path, namespace: str, *watched: GVK, credentials: Path | None = None
) -> AsyncIterator[ProxiedRun]:
    """A proxy with informers of these kinds in the namespace, and the first run."""
    connection = await connect({"KUBECONFIG": str(credentials or cluster.kubeconfig)})
    client = Client(connection)
    discovery = Discovery(client)
    informers = Informers(client, [namespace])
    changes = asyncio.create_task(DefinitionWatch(client, discovery.served, informers.permissions).run())
    proxy = Proxy(client, discovery, 0, directory, reads=Reads(informers))
    await proxy.start()
    owner = Owner(GVK("test.example.com", "v1", "Thing"), ObjectKey(namespace, "one"), "no-such-uid")
    run = ProxiedRun(proxy, informers, discovery, owner, cluster.kubectl, directory).another()
    try:
        for gvk in watched:
            informers.ensure(await discovery.by_kind(gvk), lambda change: None)
        await informers.wait_for_sync(SECONDS)
        yield run
    finally:
        await run.stop()
        changes.cancel()
        await proxy.stop()
        await informers.stop()
        await connection.close()
        await asyncio.sleep(0.25)  # TLS connections end a little later than aiohttp says; its documentation has this
