"""Free TCP ports on loopback.

A port is only free until somebody takes it: there is no way to hand a reserved one to a Go program. So the choice is
random in a range where the kernel places no outgoing connections, and whoever uses it starts again with another port
when the program reports that it could not bind.
"""

from __future__ import annotations

import random
import socket
from collections.abc import Collection

# Below the range of outgoing connections (32768 and up on Linux) and of NodePorts (30000 and up).
RANGE = range(20000, 30000)

BIND_FAILURE = "address already in use"


def free_port(taken: Collection[int] = ()) -> int:
    """A port of the range that nobody listens on now and that is not in `taken`."""
    for port in random.sample(RANGE, len(RANGE)):
        if port not in taken and is_free(port):
            return port
    raise OSError(f"no free TCP port on 127.0.0.1 between {RANGE.start} and {RANGE.stop - 1}")


def is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
