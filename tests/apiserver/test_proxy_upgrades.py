"""exec, attach, logs and port-forward through the proxy, by the protocols of today and of yesterday (row 58)."""

import asyncio
import os
import re
import socketserver
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from kubernetes import client as kubernetes_client
from kubernetes import config as kubernetes_config
from kubernetes.stream import stream

from localcluster import Cluster
from tests.support.api import Api
from tests.support.kubelet import Kubelet, kubelet
from tests.support.proxied_run import SECONDS, ProxiedRun, proxied_run

pytestmark = pytest.mark.apiserver

WEBSOCKETS = {"KUBECTL_REMOTE_COMMAND_WEBSOCKETS": "true", "KUBECTL_PORT_FORWARD_WEBSOCKETS": "true"}
SPDY = dict.fromkeys(WEBSOCKETS, "false")
both_protocols = pytest.mark.parametrize("protocol", [WEBSOCKETS, SPDY], ids=["websocket", "spdy"])
MUCH = os.urandom(2**20)


@pytest.fixture
def echo_port() -> Iterator[int]:
    """Where a server says whatever it is told; port-forward leads there."""

    class Echo(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            while data := self.request.recv(65536):
                self.request.sendall(data)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo) as server:
        server.daemon_threads = True
        server.block_on_close = False
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.fixture
def pods(cluster: Cluster, api: Api, namespace: str, tmp_path: Path, echo_port: int) -> Iterator[Kubelet]:
    """A pod ``p`` that answers."""
    with kubelet(cluster, api, tmp_path / "kubelet", echo_port) as answering:
        answering.pod(api, "p", namespace)
        yield answering


@pytest.fixture
async def run(cluster: Cluster, namespace: str, tmp_path: Path, pods: Kubelet) -> AsyncIterator[ProxiedRun]:
    async with proxied_run(cluster, tmp_path, namespace) as place:
        yield place


@both_protocols
async def test_everything_that_kubectl_does_with_a_pod(
    run: ProxiedRun, pods: Kubelet, protocol: dict[str, str]
) -> None:
    async with asyncio.TaskGroup() as together:
        together.create_task(commands_run(run, protocol))
        together.create_task(attached(run, pods, protocol))
        together.create_task(logs_are_followed(run, pods))
        together.create_task(ports_are_forwarded(run, protocol))
        together.create_task(tunnels_end_with_the_token(run, protocol))


async def commands_run(run: ProxiedRun, protocol: dict[str, str]) -> None:
    said = await run.kubectl("exec", "p", "--", "sh", "-c", "echo out; echo err >&2; exit 3", **protocol)
    assert said.status != 0
    assert (said.stdout, "err\n" in said.stderr, "exit status 3" in said.stderr) == (b"out\n", True, True)
    copied = await run.kubectl("exec", "-i", "p", "--", "head", "-c", str(len(MUCH)), stdin=MUCH, **protocol)
    assert (copied.status, copied.stdout == MUCH) == (0, True), copied.stderr
    long = "x" * 30_000  # the command stands in the URL
    assert (await run.kubectl("exec", "p", "--", "echo", long, **protocol)).stdout == f"{long}\n".encode()
    refused = await run.kubectl("exec", "nobody", "--", "true", **protocol)
    assert "NotFound" in refused.stderr


async def attached(run: ProxiedRun, pods: Kubelet, protocol: dict[str, str]) -> None:
    process = await run.start("attach", "p", **protocol)
    assert process.stdout is not None
    writing = asyncio.create_task(keep_logging(pods, "attached"))  # what is said before it is attached is not shown
    try:
        await asyncio.wait_for(process.stdout.readuntil(b"attached\n"), SECONDS)
    finally:
        writing.cancel()


async def keep_logging(pods: Kubelet, line: str) -> None:
    while True:
        pods.log(line)
        await asyncio.sleep(0.2)


async def logs_are_followed(run: ProxiedRun, pods: Kubelet) -> None:
    process = await run.start("logs", "-f", "p")
    assert process.stdout is not None
    assert await asyncio.wait_for(process.stdout.readline(), SECONDS) == b"the first line\n"
    pods.log("another line")
    await asyncio.wait_for(process.stdout.readuntil(b"another line\n"), SECONDS)


async def ports_are_forwarded(run: ProxiedRun, protocol: dict[str, str]) -> None:
    process = await run.start("port-forward", "p", ":80", **protocol)
    assert process.stdout is not None
    line = (await asyncio.wait_for(process.stdout.readline(), SECONDS)).decode()
    found = re.match(r"Forwarding from 127\.0\.0\.1:(\d+)", line)
    assert found, line
    for data in (b"short", MUCH):
        reader, writer = await asyncio.open_connection("127.0.0.1", int(found[1]))
        writer.write(data)
        assert await asyncio.wait_for(reader.readexactly(len(data)), SECONDS) == data
        writer.close()
        await writer.wait_closed()


async def tunnels_end_with_the_token(run: ProxiedRun, protocol: dict[str, str]) -> None:
    other, gate = run.another(), run.home / "gate"
    waits = f"echo begun; for _ in $(seq 1000); do [ -e {gate} ] || sleep 0.1; done; echo not heard"
    process = await other.start("exec", "p", "--", "sh", "-c", waits, **protocol)
    assert process.stdout is not None
    try:
        await asyncio.wait_for(process.stdout.readuntil(b"begun\n"), SECONDS)
        run.proxy.grants.revoke(other.token)
        stdout, _ = await asyncio.wait_for(process.communicate(), SECONDS)
    finally:
        gate.touch()
    assert b"not heard" not in stdout
    assert protocol is SPDY or process.returncode != 0, "by SPDY kubectl takes any end for a good one"


async def test_exec_by_the_python_client_that_kubernetes_core_uses(run: ProxiedRun, namespace: str) -> None:
    def execute() -> str:
        api = kubernetes_client.CoreV1Api(kubernetes_config.new_client_from_config(str(run.kubeconfig)))
        command = ["echo", "by Python"]
        flags = {"stdout": True, "stderr": True, "stdin": False, "tty": False, "_preload_content": False}
        websocket = stream(api.connect_get_namespaced_pod_exec, "p", namespace, command=command, **flags)
        websocket.run_forever(timeout=SECONDS)
        said: str = websocket.read_all()
        websocket.sock.shutdown()
        api.api_client.close()
        return said

    assert await asyncio.to_thread(execute) == "by Python\n"
