"""``ansible-operator replay``: run once more what an object's directory remembers, for a person who looks for a fault.

With the caller's own credentials, through a proxy of its own with the same owner: the run's token died with the run.
In a directory of its own, since the operator may be using the original.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path

from ansible_operator.kube.client import Client
from ansible_operator.kube.connection import connect
from ansible_operator.kube.discovery import Discovery
from ansible_operator.model.events import Event
from ansible_operator.proxy.grants import Grant
from ansible_operator.proxy.server import Proxy
from ansible_operator.runner.cold import ColdRunner
from ansible_operator.runner.interface import Access, RunRequest
from ansible_operator.runner.record import read_record


async def replay(directory: Path, environment: Mapping[str, str], verbosity: int | None) -> int:
    """Run, print what Ansible prints, and return its exit status. Raises RunError, StartError."""
    record = read_record(directory)
    async with AsyncExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="ansible-operator-replay-")))
        connection = await connect(environment)
        stack.push_async_callback(connection.close)
        client = Client(connection)
        proxy = Proxy(client, Discovery(client), 0, work)
        await proxy.start()
        stack.push_async_callback(proxy.stop)
        token = proxy.grants.issue(Grant(record.owner, inject=True, on_child=lambda child: None))
        request = RunRequest(
            directory=work / "run",
            ident=f"replay-{secrets.token_hex(8)}",
            owner=record.owner,
            content=record.content,
            variables=record.variables,
            access=Access(proxy.url, proxy.authority_file, token, record.owner.key.namespace),
            verbosity=record.verbosity if verbosity is None else verbosity,
        )
        runner = ColdRunner({**environment, "ANSIBLE_INVENTORY": str(directory / "inventory")}, capacity=1)
        stack.push_async_callback(runner.stop)
        return (await runner.run(request, _print)).exit_code


def _print(event: Event) -> None:
    if event.get("stdout"):
        print(event["stdout"], flush=True)
