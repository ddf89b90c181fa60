"""The node's network: a namespace of its own, tied to this machine by a pair of interfaces.

All that kube-proxy, the network plugins and the kubelet write (rules, bridges, routes) lies in it and goes with it;
this machine's own rules are never touched. Pods reach the API server and each other, and nothing else: there is no
other route.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

from localnode.errors import NodeError

NAME = "localnode"
"""Of the namespace, and of this machine's end of the pair."""
HOST_ADDRESS = "198.51.100.1"  # documentation addresses (RFC 5737), which nobody routes
NODE_ADDRESS = "198.51.100.2"
POD_RANGE = "10.244.0.0/24"
_PREFIX = 30
_FILE = Path("/run/netns") / NAME


def enter() -> list[str]:
    """What goes before a command, to run it in the network. `ip netns exec` would hide the cgroups."""
    return ["nsenter", f"--net={_FILE}"]


def create() -> None:
    """Raises NodeError where it is there already, or cannot be made."""
    _call("ip", "netns", "add", NAME)
    _call("ip", "link", "add", NAME, "type", "veth", "peer", "name", "eth0", "netns", NAME)
    _call("ip", "addr", "add", f"{HOST_ADDRESS}/{_PREFIX}", "dev", NAME)
    _call("ip", "link", "set", NAME, "up")
    _call("ip", "-n", NAME, "addr", "add", f"{NODE_ADDRESS}/{_PREFIX}", "dev", "eth0")
    for link in ("lo", "eth0"):
        _call("ip", "-n", NAME, "link", "set", link, "up")
    # Pods are routed from their bridge; of this namespace alone.
    _call(*enter(), "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")


def remove() -> None:
    """Also what is half made."""
    for command in (["ip", "link", "del", NAME], ["ip", "netns", "del", NAME]):
        subprocess.run(command, capture_output=True, check=False)


def exists() -> bool:
    return _FILE.exists() or Path("/sys/class/net", NAME).exists()


def _call(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise NodeError(f"the network of the node cannot be made: {' '.join(command)}: {done.stderr.strip()}")
