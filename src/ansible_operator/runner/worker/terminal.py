"""The terminal that ansible-playbook has under ansible-runner, for a playbook in ansible-runner's own process.

``Spawn`` takes the place of ``pexpect.spawn``. Files 0 to 2 are a terminal, as they are there, so that whatever a
plugin writes without Python's knowing arrives in the output as well.
"""

from __future__ import annotations

import codecs
import fcntl
import io
import os
import select
import struct
import sys
import termios
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from ansible_operator.runner.worker.events import Filter

_ROWS, _COLUMNS = 24, 80  # pexpect's
Play = Callable[[Sequence[str], Mapping[str, str], str, "Terminal"], int]


def _open() -> tuple[int, int]:
    """A terminal as pexpect makes it: its two ends."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
    mode = termios.tcgetattr(slave)
    mode[3] &= ~termios.ECHO
    termios.tcsetattr(slave, termios.TCSANOW, mode)
    return master, slave


@contextmanager
def on_terminal() -> Iterator[None]:
    """Ansible looks at its files when it is imported (colours, width); let it see what it will run on."""
    saved = [os.dup(descriptor) for descriptor in (0, 1, 2)]
    master, slave = _open()
    for descriptor in (0, 1, 2):
        os.dup2(slave, descriptor)
    try:
        yield
    finally:
        for descriptor, original in enumerate(saved):
            os.dup2(original, descriptor)
        for descriptor in (master, slave, *saved):
            os.close(descriptor)


class Terminal:
    """Everything printed, in order, into a Filter."""

    def __init__(self, output: Filter) -> None:
        self._output = output
        self._lock = threading.RLock()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._master, slave = _open()
        for descriptor in (0, 1, 2):
            os.dup2(slave, descriptor)
        os.close(slave)
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # Ansible asks whose it is before it pauses
        self._streams = sys.stdin, sys.stdout, sys.stderr
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stdout = sys.stderr = _Stream(self, 1)
        threading.Thread(target=self._pump, daemon=True).start()

    def write(self, text: str) -> None:
        """Text as Python prints it."""
        with self._lock:
            self._drain()
            self._output.write(text.replace("\n", "\r\n"))

    def mark(self, data: dict[str, Any]) -> None:
        """An event begins or ends here."""
        with self._lock:
            self._drain()
            self._output.mark(data)

    def close(self) -> None:
        """Give files 0 to 2 something else to point to."""
        with self._lock:
            self._drain()
        sys.stdin, sys.stdout, sys.stderr = self._streams
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        os.close(null)

    def _drain(self) -> None:
        while select.select([self._master], [], [], 0)[0] and self._read():
            pass

    def _read(self) -> bool:
        try:
            data = os.read(self._master, 65536)
        except OSError:
            return False
        self._output.write(self._decoder.decode(data))
        return bool(data)

    def _pump(self) -> None:
        """Only so that a writer never waits for room."""
        while True:
            with suppress(OSError):
                select.select([self._master], [], [])
            with self._lock:
                if select.select([self._master], [], [], 0)[0] and not self._read():
                    return


class _Stream(io.TextIOBase):
    """``sys.stdout`` and ``sys.stderr`` of the playbook."""

    encoding = "utf-8"

    def __init__(self, terminal: Terminal, descriptor: int) -> None:
        self._terminal = terminal
        self._descriptor = descriptor
        self.buffer = _Buffer(descriptor)

    def write(self, text: str) -> int:
        try:
            text.encode()
        except UnicodeEncodeError:
            text = text.encode("utf-8", "_replacing_warning_handler").decode()  # Ansible's, which warns
        self._terminal.write(text)
        return len(text)

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return True

    def writable(self) -> bool:
        return True


class _Buffer(io.RawIOBase):
    """What is written to ``sys.stdout.buffer`` goes through the terminal."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, data: Any) -> int:
        return os.write(self._descriptor, data)

    def fileno(self) -> int:
        return self._descriptor

    def writable(self) -> bool:
        return True


class Spawn:
    """``pexpect.spawn`` as ansible-runner uses it; the command is over when it is first asked whether it lives."""

    play: Play
    output: Callable[[Any], Filter]

    def __init__(self, command: str, args: Sequence[str], *, cwd: str, env: Mapping[str, str], **_: Any) -> None:
        self._command = [command, *args]
        self._cwd = cwd
        self._env = env
        self.logfile_read: Any = None
        self.exitstatus: int | None = None
        self.pid = os.getpid()

    def isalive(self) -> bool:
        """False, after the playbook has been run."""
        if self.exitstatus is None:
            self.logfile_read.suppress_ansible_output = True
            terminal = Terminal(type(self).output(self.logfile_read))
            try:
                self.exitstatus = type(self).play(self._command, self._env, self._cwd, terminal)
            finally:
                terminal.close()
        return False

    def expect(self, *_: Any, **__: Any) -> int:
        """There is nobody to wait for."""
        return 0

    def close(self) -> None:
        """There is nothing to close."""
