"""The operator's end of the socket to a warm parent: JSON objects, one a packet, with file descriptors where needed."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Mapping
from typing import Any

_PACKET = 1 << 20


class Channel:
    """``on_message`` gets what comes; ``on_end`` is called once, when the other end has closed or this one is."""

    def __init__(self, on_message: Callable[[Mapping[str, Any]], None], on_end: Callable[[], None]) -> None:
        self._on_message = on_message
        self._on_end = on_end
        self._socket, self.other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.setblocking(False)
        self.is_open = True

    def listen(self) -> None:
        """The other end has been handed on."""
        self.other.close()
        if self.is_open:
            asyncio.get_running_loop().add_reader(self._socket, self._receive)

    def send(self, message: Mapping[str, Any], *descriptors: int) -> None:
        """Raises OSError; ConnectionError where the other end is gone."""
        if not self.is_open:
            raise ConnectionError("the warm parent is gone")
        socket.send_fds(self._socket, [json.dumps(message).encode()], list(descriptors))

    def close(self) -> None:
        """For the other end, this is the end."""
        if not self.is_open:
            return
        self.is_open = False
        asyncio.get_running_loop().remove_reader(self._socket)
        self._socket.close()
        self.other.close()
        self._on_end()

    def _receive(self) -> None:
        try:
            data = self._socket.recv(_PACKET)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._on_message(json.loads(data))
        else:
            self.close()
