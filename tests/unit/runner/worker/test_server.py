"""What the warm parent's server does when its pool is gone."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Iterator
from unittest.mock import create_autospec

import pytest

from ansible_operator.runner.worker.marker import Marker
from ansible_operator.runner.worker.server import Server


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """The pool's end and the server's, of the kind that the pool makes; signal handlers are put back."""
    handler = signal.getsignal(signal.SIGCHLD)
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    yield ends
    for end in ends:
        end.close()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, handler)


def test_serves_until_the_pool_closes_its_end(pair: tuple[socket.socket, socket.socket]) -> None:
    pool, channel = pair
    pool.send(json.dumps({"op": "ping"}).encode())
    server = Server(channel, create_autospec(Marker, instance=True))
    pool.shutdown(socket.SHUT_WR)
    server.serve()
    assert json.loads(pool.recv(4096))["op"] == "pong"


def test_a_pool_that_was_killed_with_messages_unread_is_gone_and_no_fault(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    pool, channel = pair
    server = Server(channel, create_autospec(Marker, instance=True))
    server.send(op="ready")
    pool.close()  # as the kernel does it: the other end gets ECONNRESET
    server.serve()
