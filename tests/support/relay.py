"""A TCP relay in front of the API server, so that one operator can lose it while everybody else keeps it."""

from __future__ import annotations

import selectors
import socket
import threading
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import yaml


class Relay:
    """Relays a port of its own to the API server's. ``cut`` breaks it as a dying server does, ``mend`` restarts it."""

    def __init__(self, server: str) -> None:
        self._target = ("127.0.0.1", urlsplit(server).port or 443)
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._lock = threading.Lock()
        self._is_cut = False
        self._listener = self._listen(0)
        self.port: int = self._listener.getsockname()[1]

    def kubeconfig(self, original: Path, path: Path) -> Path:
        """A copy of a kubeconfig that names the relay as the server."""
        config = yaml.safe_load(original.read_text())
        config["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{self.port}"
        path.write_text(yaml.safe_dump(config))
        return path

    def cut(self) -> None:
        """Refuse new connections and reset those that are there."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            self._is_cut = True
            for pair in self._pairs:
                for end in pair:
                    with suppress(OSError):
                        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                        end.shutdown(socket.SHUT_RDWR)

    close = cut

    def mend(self) -> None:
        """Take connections again."""
        self._is_cut = False
        self._listener = self._listen(self.port)

    def _listen(self, port: int) -> socket.socket:
        listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
        return listener

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with suppress(OSError), client, socket.create_connection(self._target) as server:
            pair = (client, server)
            with self._lock:
                if self._is_cut:  # it was taken just before that
                    return
                self._pairs.add(pair)
            try:
                _pump(client, server)
            finally:
                with self._lock:
                    self._pairs.discard(pair)


def _pump(client: socket.socket, server: socket.socket) -> None:
    """Copy both ways until one side closes."""
    with selectors.DefaultSelector() as selector:
        selector.register(client, selectors.EVENT_READ, server)
        selector.register(server, selectors.EVENT_READ, client)
        while True:
            for key, _ in selector.select():
                source = key.fileobj
                assert isinstance(source, socket.socket)
                data = source.recv(65536)
                if not data:
                    return
                key.data.sendall(data)
